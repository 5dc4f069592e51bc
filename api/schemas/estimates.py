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
    fits: bool = Field(description="The plan fits the device's memory.")
    fits_now: bool = Field(description="It also fits the memory that is free now, and the device has no problem.")
    problem: str | None = Field(description="Why no job starts on it; null: no problem.")


class FieldProblem(BaseModel):
    field: str
    message: str


class Estimate(BaseModel):
    possible: bool = Field(description="The job can start on a known device. Also true while no device is known.")
    problem: FieldProblem | None = Field(description="Why the job would be refused; null if it would be accepted.")
    waits_for: str | None = Field(description="The device that it would wait for, if it asks to wait.")
    asked: Plan = Field(description="The plan as requested.")
    plan: Plan | None = Field(description="The plan that it would start with; null if no allowed plan fits.")
    predicted: Prediction
    changes: list[Change] = Field(description="The differences between `asked` and `plan`.")
    warnings: list[str] = Field(description="What may make the result poor, such as boxes too small for the anchors.")
    config_changes: list[Change] = Field(
        description="Every field of your own `pipeline_config` that would not run as sent, with the reason."
    )
    summary: str
    devices: list[EstimatedDevice]
    ladder: list[Rung] = Field(description="The plans to fall back to if memory runs out, in order.")
    host_peak_bytes: int | None = Field(
        description="The most host memory that an attempt of this model has used; null if none was measured."
    )
