"""What a queued job waits for."""

import datetime

from pydantic import BaseModel, Field

from api.schemas.processes import Process
from services.domain.jobs.waiting import WaitKind

__all__ = ["WaitingFor"]


class WaitedDevice(BaseModel):
    id: str
    name: str
    total_bytes: int


class Holder(BaseModel):
    job: int | None = Field(
        description="The job that has the device; null: processes, or a job that the owner of this one may not see."
    )
    processes: list[Process] = Field(description="Other processes that hold the device's memory.")


class WaitingFor(BaseModel):
    """Fields that the kind has no use for are null."""

    kind: WaitKind
    sentence: str
    short: str = Field(description="A shorter sentence, for lists.")
    device: WaitedDevice | None
    holder: Holder | None
    others: int = Field(description="Number of other devices that would do as well.")
    min_bytes: int | None = Field(description="The least memory of the device that it waits for.")
    free_bytes: int | None = Field(description="Free memory of the device when a worker last tried to start the job.")
    user: str | None = Field(description="Whose account or limit it is.")
    used: float | None = Field(description="How much of `limit` the user has used, in jobs or hours.")
    limit: float | None
    detail: str | None = Field(description="The cause in words.")
    since: datetime.datetime | None
    until: datetime.datetime | None = Field(description="When the job is tried again; null: as soon as possible.")
