"""The model catalogue."""

from pydantic import BaseModel, Field

__all__ = ["Models"]


class Model(BaseModel):
    name: str
    family: str
    backbone: str
    image_size: list[int]
    image_sizes: list[list[int]]
    batch_size: int
    learning_rate: float
    steps: int
    needs_masks: bool
    smaller: str | None = Field(description="the model one backbone below")


class Models(BaseModel):
    items: list[Model]
