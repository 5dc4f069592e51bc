"""Attempts of a job, their differences, and metrics over steps."""

import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from api.schemas.jobs import AttemptDevice
from api.schemas.logs import LogLine
from api.schemas.plans import Change, Plan, Prediction, Rung

__all__ = ["Attempt", "Attempts", "Diff", "Metrics"]


class Finding(BaseModel):
    """The evidence for a diagnosis."""

    why: str
    evidence: list[LogLine] = Field(description="The log lines that the diagnosis is based on.")
    figures: dict[str, int | float | str | None] = Field(
        description="Measured or logged bytes (limit, in_use, peak, free, requested, …), and the operation that asked "
        "for the memory."
    )


class InputWait(BaseModel):
    """How much of its steps the device waits for images."""

    share: float = Field(ge=0, le=1, description="The share of a step, lately.")
    sentence: str | None = Field(description="What it comes from and what helps; null up to 20 %.")


class Attempt(BaseModel):
    """One run of the trainer for a job."""

    job: int
    number: int = Field(description="1 is the first attempt.")
    plan: Plan
    adjustments: dict[str, int | bool] = Field(description="Remedies that are not part of the plan.")
    device: AttemptDevice
    limit_bytes: int = Field(description="Device memory available to the attempt; on a GPU, what TensorFlow may have.")
    free_bytes: int | None = Field(description="Free memory of the GPU at the claim; null on a CPU slot.")
    versions: dict[str, str | None] | None = Field(description="Versions of driver, CUDA, cuDNN and packages.")
    predicted: Prediction | None
    measured_peak_bytes: int | None = Field(description="Peak of device memory in training.")
    measured_evaluation_peak_bytes: int | None = Field(description="Peak of device memory in evaluation.")
    measured_host_peak_bytes: int | None = Field(description="Peak of host memory of the trainer alone.")
    prediction_error: float | None = Field(
        description="(predicted - measured) / measured. Null until the attempt ends, and if memory ran out before the "
        "peak was reached."
    )
    changes: list[Change] = Field(description="The settings that were changed for this attempt.")
    summary: str | None = Field(
        description="What was changed and why, the measurement behind it, and its effect on the result."
    )
    ladder: list[Rung] = Field(description="The plans to fall back to if memory runs out, as known at its start.")
    phase: str | None = Field(description="What the trainer does: building, training, evaluating, …")
    step: int = Field(description="The last completed training step.")
    saved_step: int | None = Field(description="Step of its newest checkpoint; null: none.")
    input_wait: InputWait | None = Field(description="Null before the first step, and if the trainer does not say.")
    started_at: datetime.datetime
    trainer_started_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    outcome: str | None = Field(description="How it ended; null while it runs.")
    diagnosis: str | None = Field(description="Why it ended; null while it runs.")
    finding: Finding | None = Field(description="Evidence for the diagnosis; null if nothing failed.")
    message: str | None = Field(description="Why it ended, in one sentence.")
    evidence: dict[str, Any] | None = Field(description="The outcome as the trainer wrote it.")
    exit_status: int | None = Field(description="Exit status of the trainer.")
    followed_by: str | None = Field(description="What was done about the failure; null: nothing.")
    links: dict[str, str]


class Attempts(BaseModel):
    items: list[Attempt]


class Diff(BaseModel):
    job: int
    attempt: int
    against: int | Literal["submitted"] | None = Field(
        description="What the attempt is compared with: the previous attempt's number; null: the request; or "
        "`submitted`: the pipeline.config that was sent."
    )
    summary: str | None
    changes: list[Change]


class Series(BaseModel):
    """Columns of equal length. A row is a range of steps and stands for the last step in it."""

    name: str
    attempt: int
    steps: list[int]
    min: list[float]
    max: list[float]
    mean: list[float]


class Metrics(BaseModel):
    names: list[str] = Field(description="Names of all metrics of the job.")
    series: list[Series]
