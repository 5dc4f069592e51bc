"""Samples of a dataset."""

from pydantic import BaseModel, Field

__all__ = ["Sample", "SampleBox", "Samples"]


class SampleBox(BaseModel):
    """In parts of the image's sides: 0 is the top or left edge, 1 the bottom or right one."""

    label: str
    ymin: float
    xmin: float
    ymax: float
    xmax: float


class Sample(BaseModel):
    id: str
    name: str = Field(description="The image's file name, or its id; empty if the record has neither.")
    width: int
    height: int
    objects: int = Field(description="Number of boxes, also of those that are not listed.")
    boxes: list[SampleBox] = Field(description="At most 300.")
    problem: str | None = Field(description="Why the record cannot be read; null: it can.")


class Samples(BaseModel):
    items: list[Sample]
    count: int = Field(description="Number of samples that match, on all pages.")
    next: str | None = Field(description="`cursor` of the next page; null on the last one.")
    problem: str | None = Field(description="Why no samples can be shown; null: they can.")
