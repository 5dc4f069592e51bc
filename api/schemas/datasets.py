"""Datasets."""

from pydantic import BaseModel, Field

__all__ = ["Dataset", "Datasets"]


class Dataset(BaseModel):
    name: str
    classes: list[str]
    images: int = Field(description="Number of training images.")
    validation_images: int = Field(description="Number of validation images.")
    boxes: int | None = Field(description="Number of boxes in the training images; null if they were not counted.")
    boxes_per_class: dict[str, int]
    has_masks: bool
    bytes: int
    problem: str | None = Field(description="Why it cannot be used; null: it can.")


class Datasets(BaseModel):
    items: list[Dataset]
