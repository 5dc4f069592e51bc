"""Checkpoints that training can start from."""

import datetime

from pydantic import BaseModel, Field

__all__ = ["Checkpoint", "Checkpoints"]


class Checkpoint(BaseModel):
    name: str
    bytes: int
    modified_at: datetime.datetime
    models: list[str] = Field(description="The models that can start from it.")


class Checkpoints(BaseModel):
    items: list[Checkpoint]
