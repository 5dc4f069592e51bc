"""Health and readiness."""

from typing import Literal

from pydantic import BaseModel, Field

__all__ = ["Health", "Ready"]


class Health(BaseModel):
    status: Literal["ok"]


class Ready(BaseModel):
    status: Literal["ready"]
    broker: Literal["answers", "away"] = Field(description="away: jobs start a few seconds later.")
