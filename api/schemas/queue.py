"""The queue of waiting jobs."""

from pydantic import BaseModel, Field

from api.schemas.jobs import Job

__all__ = ["Queue"]


class Queue(BaseModel):
    queued: int
    running: int
    paused: int
    items: list[Job] = Field(description="queued jobs, next one first")
