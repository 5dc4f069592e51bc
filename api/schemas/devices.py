"""Devices and their recent use."""

import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.schemas.jobs import Progress
from api.schemas.plans import Prediction
from api.schemas.processes import Process

__all__ = ["Device", "DeviceHistory", "Devices"]


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


class Xid(BaseModel):
    """An error that the driver reported, by NVIDIA's number."""

    code: int
    at: datetime.datetime
    meaning: str


class Health(BaseModel):
    """What the driver reports; null: the card does not report it."""

    uncorrected_errors: int | None = Field(None, description="Of its memory, since the driver was loaded.")
    remapped_rows: int | None = Field(None, description="Broken rows of memory that were replaced.")
    retired_pages: int | None = Field(None, description="The same on older cards.")
    repair_pending: bool = Field(False, description="A reset of the GPU will replace broken memory.")
    remap_failed: bool = Field(False, description="Broken memory could not be replaced.")
    slowed_by: list[str] = Field([], description="Why its clock is lowered: heat, power brake, hardware.")
    xid: Xid | None = Field(
        None, description="The newest Xid error that the worker heard of. After one of the card, the card is checked."
    )


class Versions(BaseModel):
    driver: str | None
    cuda: str | None
    cudnn: str | None
    tensorflow: str | None


class Qualification(BaseModel):
    """The last check of a GPU: whether TensorFlow sees it and computes on it."""

    ok: bool
    failures_in_a_row: int = Field(description="From 2 on, the device is quarantined.")
    at: datetime.datetime
    seconds: float = Field(description="How long the check took.")
    problem: str | None = Field(description="What is wrong, and what to do about it.")
    capability: str | None = Field(description="Compute capability, as TensorFlow reports it.")
    free_bytes: int | None = Field(None, description="Free memory before the check, as the driver reported it.")
    limit_bytes: int | None = Field(description="What TensorFlow's allocator may have of the device.")
    versions: Versions
    precisions: dict[str, str] = Field(description="`ok`, or what failed, for each precision that the card has.")
    asked_at: datetime.datetime | None = Field(description="A new check is due since then; null: none is.")


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
    bfloat16: bool = Field(description="The device computes fast in bfloat16.")
    half_precision: Literal["float16", "bfloat16"] | None = Field(
        description="The two-byte format that the device computes fast; null: none."
    )
    uuid: str | None = Field(description="Of a GPU or a MIG instance, as nvidia-smi shows it.")
    driver: str | None = Field(description="Version of the GPU's driver.")
    capability: str | None = Field(description="Compute capability of a GPU, such as 8.6.")
    utilisation: int | None = Field(description="Percent; null if it is not reported.")
    temperature: int | None = Field(description="Degrees Celsius; null if it is not reported.")
    processes: list[Process] = Field(description="Processes of others on the device.")
    problem: str | None = Field(description="Why no job starts on it; null: no problem.")
    problem_since: datetime.datetime | None
    health: Health | None = Field(description="Of a GPU.")
    is_being_checked: bool = Field(description="A check of the GPU runs or is due. Until it has passed, no job starts.")
    qualification: Qualification | None = Field(description="Of a GPU; null: it was never checked.")
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
