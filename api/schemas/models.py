"""The model catalogue."""

from pydantic import BaseModel, Field

__all__ = ["Models"]


class Model(BaseModel):
    """A model with its default settings."""

    name: str
    family: str
    backbone: str
    image_size: list[int] = Field(description="Default height and width in pixels.")
    image_sizes: list[list[int]] = Field(description="Image sizes to choose from.")
    batch_size: int
    learning_rate: float
    steps: int
    needs_masks: bool = Field(description="It can only be trained on a dataset with masks.")
    smaller: str | None = Field(description="The model with the next smaller backbone; null: none.")


class Models(BaseModel):
    items: list[Model]
