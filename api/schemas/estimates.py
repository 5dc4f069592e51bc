"""What submitting a job would give."""

from pydantic import BaseModel, Field

from api.schemas.plans import Change, Plan, Prediction, Rung

__all__ = ["Estimate"]


class EstimatedDevice(BaseModel):
    id: str
    name: str
    total_bytes: int
    free_bytes: int
    predicted: Prediction
    fits: bool
    fits_now: bool = Field(description="fits the memory that is free now, on a device without problems")
    problem: str | None = Field(description="why nothing starts on it")


class FieldProblem(BaseModel):
    field: str
    message: str


class Estimate(BaseModel):
    possible: bool = Field(description="it could start on a known device; also true while no device is known")
    problem: FieldProblem | None = Field(description="why submitting would be refused; null if it would be accepted")
    waits_for: str | None = Field(description="the device that it would wait for, if it asks to wait")
    asked: Plan
    plan: Plan | None = Field(description="how it would start; null if no allowed plan fits")
    predicted: Prediction
    changes: list[Change]
    config_changes: list[Change] = Field(
        description="every field of your own `pipeline_config` that would not be run as it was sent, with the reason"
    )
    summary: str
    devices: list[EstimatedDevice]
    ladder: list[Rung] = Field(description="what it can fall back to, step by step")
    host_peak_bytes: int | None = Field(
        description="the most host memory that an attempt of this model used; null if none was measured"
    )
