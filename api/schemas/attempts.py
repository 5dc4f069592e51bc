"""Attempts of a job, their differences, and metrics over steps."""

import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from api.schemas.jobs import AttemptDevice
from api.schemas.logs import LogLine
from api.schemas.plans import Change, Plan, Prediction, Rung

__all__ = ["Attempt", "Attempts", "Diff", "Metrics"]


class Finding(BaseModel):
    why: str
    evidence: list[LogLine] = Field(description="the log lines that the diagnosis uses")
    figures: dict[str, int | float | str | None] = Field(
        description="bytes, measured or logged (limit, in_use, peak, free, requested, …), and the operation that asked"
    )


class Attempt(BaseModel):
    job: int
    number: int
    plan: Plan
    adjustments: dict[str, int | bool] = Field(description="remedies besides the plan's levers")
    device: AttemptDevice
    limit_bytes: int = Field(description="device memory available to the attempt")
    predicted: Prediction | None
    measured_peak_bytes: int | None = Field(description="of training")
    measured_evaluation_peak_bytes: int | None
    measured_host_peak_bytes: int | None = Field(description="host memory used by the trainer alone")
    prediction_error: float | None = Field(
        description="(predicted - measured) / measured; null until it ends, and if memory ran out before the peak"
    )
    changes: list[Change] = Field(description="settings changed for this attempt, in the plan or besides it")
    summary: str | None = Field(
        description="what was changed, why, based on which measurement, and its effect on the result"
    )
    ladder: list[Rung] = Field(description="the plans that would follow if memory ran out, as known at its start")
    phase: str | None
    step: int
    saved_step: int | None = Field(description="step of its newest checkpoint")
    started_at: datetime.datetime
    trainer_started_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    outcome: str | None = Field(description="how it ended; null while it runs")
    diagnosis: str | None
    finding: Finding | None = Field(description="evidence for the diagnosis; null if nothing failed")
    message: str | None
    evidence: dict[str, Any] | None = Field(description="the outcome that the trainer wrote")
    exit_status: int | None
    followed_by: str | None = Field(description="what was done about it")
    links: dict[str, str]


class Attempts(BaseModel):
    items: list[Attempt]


class Diff(BaseModel):
    job: int
    attempt: int
    against: int | Literal["submitted"] | None = Field(
        description="the attempt before; null: what was asked for; or the configuration that was submitted"
    )
    summary: str | None
    changes: list[Change]


class Series(BaseModel):
    """Columns of equal length: a row is a range of steps, with the last step in it."""

    name: str
    attempt: int
    steps: list[int]
    min: list[float]
    max: list[float]
    mean: list[float]


class Metrics(BaseModel):
    names: list[str] = Field(description="names of all metrics of the job")
    series: list[Series]
