"""Devices and their recent use."""

import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.schemas.jobs import Progress
from api.schemas.plans import Prediction

__all__ = ["DeviceHistory", "Devices"]


class LeasedTo(BaseModel):
    """The job that has the device. One that is not yours to see has no number, and its name says so."""

    id: int | None
    attempt: int | None
    name: str
    owner: str | None
    limit_bytes: int = Field(description="device memory available at its start")
    peak_bytes: int | None = Field(description="measured so far")
    predicted: Prediction | None
    phase: str | None
    progress: Progress | None
    link: str | None


class Process(BaseModel):
    pid: int
    name: str | None
    used_bytes: int | None = Field(description="null if the driver does not report it")


class Device(BaseModel):
    id: str
    host: str
    kind: Literal["gpu", "cpu"]
    index: int
    name: str
    total_bytes: int
    free_bytes: int
    ours_bytes: int = Field(description="held by the running job; for a slot, as its trainer last reported")
    others_bytes: int = Field(description="held by other processes")
    bfloat16: bool
    utilisation: int | None = Field(description="percent")
    temperature: int | None = Field(description="degrees Celsius")
    processes: list[Process] = Field(description="other people's")
    problem: str | None = Field(description="why nothing starts on it")
    problem_since: datetime.datetime | None
    seen_at: datetime.datetime
    is_present: bool = Field(description="its host reported it recently")
    job: LeasedTo | None


class DeviceHistory(BaseModel):
    """Columns of equal length, the oldest first."""

    device: str
    total_bytes: int
    at: list[datetime.datetime]
    ours_bytes: list[int] = Field(description="held by a Downshift job")
    others_bytes: list[int] = Field(description="held by other processes")
    utilisation: list[int | None]
    temperature: list[int | None]
    job: list[int | None] = Field(description="job that ran on it; null: none, or not visible to you")


class Devices(BaseModel):
    items: list[Device]
