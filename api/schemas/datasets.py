"""Datasets."""

from pydantic import BaseModel, Field

__all__ = ["AddedDataset", "Dataset", "Datasets"]


class Dataset(BaseModel):
    name: str
    classes: list[str]
    images: int = Field(description="Number of training images.")
    validation_images: int = Field(description="Number of validation images.")
    boxes: int | None = Field(description="Number of boxes in the training images; null if they were not counted.")
    boxes_per_class: dict[str, int]
    has_masks: bool
    bytes: int
    # Defaults: answers that an earlier version stored lack these two.
    format: str | None = Field(
        default=None,
        description="What it was imported from, such as COCO; null if that was not recorded.",
        examples=["COCO"],
    )
    version: str | None = Field(
        default=None,
        description="A hash of all that jobs read: datasets of the same version are equal; null for older ones.",
    )
    problem: str | None = Field(description="Why it cannot be used; null: it can.")


class AddedDataset(Dataset):
    warnings: list[str] = Field(default=[], description="What may be a mistake in the data; it can be trained on.")


class Datasets(BaseModel):
    items: list[Dataset]
