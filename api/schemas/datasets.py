"""Datasets."""

from pydantic import BaseModel, Field

__all__ = ["Dataset", "Datasets"]


class Dataset(BaseModel):
    name: str
    classes: list[str]
    images: int
    validation_images: int
    boxes: int | None = Field(description="boxes in the training images; null if not counted")
    boxes_per_class: dict[str, int]
    has_masks: bool
    bytes: int
    problem: str | None = Field(description="why it cannot be used")


class Datasets(BaseModel):
    items: list[Dataset]
