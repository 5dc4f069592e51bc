"""The queue of waiting jobs."""

from pydantic import BaseModel, Field

from api.schemas.jobs import Job

__all__ = ["Queue"]


class Queue(BaseModel):
    queued: int = Field(description="Number of waiting jobs.")
    running: int = Field(description="Number of running jobs.")
    paused: int = Field(description="Number of paused jobs.")
    items: list[Job] = Field(description="Waiting jobs, the next one first.")
