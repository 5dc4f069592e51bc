"""One dataset with the findings of its checks and its statistics."""

from typing import Literal

from pydantic import BaseModel, Field

from api.schemas.datasets import Dataset

__all__ = ["DatasetDetails"]


class Place(BaseModel):
    file: str
    record: str = Field(description="The record of the file, or the picture that the file describes.")
    item: str = Field(description="The object, as the file names it; empty: all of the picture.")
    field: str
    message: str


class Finding(BaseModel):
    code: str
    severity: Literal["error", "warning"]
    message: str
    count: int = Field(description="How often it was found.")
    places: list[Place] = Field(description="The first ones; empty for a finding about the dataset as a whole.")


class Bin(BaseModel):
    """Values of at least `from` and below `to`."""

    start: float = Field(alias="from")
    to: float | None = Field(description="null: there is no end.")
    count: int


class Histogram(BaseModel):
    bins: list[Bin] = Field(description="From the first that holds something to the last one.")
    min: float | None
    max: float | None
    mean: float | None


class ImageSize(BaseModel):
    width: int
    height: int
    count: int


class SplitStatistics(BaseModel):
    """The size of a box is the square root of its area."""

    image_sizes: list[ImageSize] = Field(description="The 20 most frequent ones.")
    other_image_sizes: int = Field(description="Number of images of other sizes.")
    image_width: Histogram
    image_height: Histogram
    boxes_per_image: Histogram
    box_pixels: Histogram = Field(description="Sizes of boxes in pixels.")
    box_share: Histogram = Field(description="Sizes of boxes as a share of the size of their image.")
    box_aspect: Histogram = Field(description="Width of boxes by height.")


class Statistics(BaseModel):
    train: SplitStatistics
    validation: SplitStatistics


class ClassCount(BaseModel):
    """Numbers of boxes."""

    name: str
    train: int
    validation: int


class DatasetDetails(Dataset):
    findings: list[Finding] | None = Field(
        description="Warnings of the checks when it was added; null for a dataset from before they were stored."
    )
    statistics: Statistics | None = Field(description="null for a dataset from before they were stored.")
    class_counts: list[ClassCount] = Field(description="At most 1000 classes, those with the most boxes first.")
    other_classes: int = Field(description="Number of classes that `class_counts` leaves out.")
