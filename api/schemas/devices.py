"""Devices and their recent use."""

import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.schemas.jobs import Progress
from api.schemas.plans import Prediction
from api.schemas.processes import Process

__all__ = ["DeviceHistory", "Devices"]


class LeasedTo(BaseModel):
    """The job that runs on the device. If you may not see the job, only its memory is shown."""

    id: int | None = Field(description="The job's number.")
    attempt: int | None
    name: str
    owner: str | None
    limit_bytes: int = Field(description="Device memory available at the attempt's start.")
    peak_bytes: int | None = Field(description="Peak of device memory so far.")
    predicted: Prediction | None
    phase: str | None = Field(description="What the trainer does: building, training, evaluating, …")
    progress: Progress | None
    link: str | None


class Device(BaseModel):
    id: str = Field(description="`host/key`.")
    host: str
    kind: Literal["gpu", "cpu"] = Field(description="cpu: a slot for one job on the host's processors.")
    index: int = Field(description="Number of the device on its host.")
    name: str
    total_bytes: int
    free_bytes: int
    ours_bytes: int = Field(description="Memory of the running job; on a CPU slot, as its trainer last reported.")
    others_bytes: int = Field(description="Memory of other processes.")
    bfloat16: bool = Field(description="The device computes in bfloat16.")
    utilisation: int | None = Field(description="Percent; null if it is not reported.")
    temperature: int | None = Field(description="Degrees Celsius; null if it is not reported.")
    processes: list[Process] = Field(description="Processes of others on the device.")
    problem: str | None = Field(description="Why no job starts on it; null: no problem.")
    problem_since: datetime.datetime | None
    seen_at: datetime.datetime = Field(description="Time of the host's last report.")
    is_present: bool = Field(description="The host reported the device recently.")
    job: LeasedTo | None


class DeviceHistory(BaseModel):
    """Columns of equal length, oldest first."""

    device: str
    total_bytes: int
    at: list[datetime.datetime]
    ours_bytes: list[int] = Field(description="Memory of Downshift's job.")
    others_bytes: list[int] = Field(description="Memory of other processes.")
    utilisation: list[int | None] = Field(description="Percent.")
    temperature: list[int | None] = Field(description="Degrees Celsius.")
    job: list[int | None] = Field(description="The job that ran on it; null: none, or not visible to you.")


class Devices(BaseModel):
    items: list[Device]
