"""The plan of an attempt, its predicted memory, and changes to it."""

from pydantic import BaseModel, Field

__all__ = ["Change", "Plan", "Prediction", "Rung"]


class Plan(BaseModel):
    """The settings of one attempt that decide how much memory it needs."""

    model: str
    batch_size: int
    micro_batch: int = Field(description="images computed at once; divides the batch")
    precision: str
    image_size: list[int]
    steps: int
    learning_rate: float
    proposals: int | None = None
    second_stage_batch: int | None = None


class Prediction(BaseModel):
    """Memory that a plan should need on its device, and the range it may well be in."""

    bytes: int
    low_bytes: int
    high_bytes: int
    source: str = Field(description="basis of the prediction: measured, scaled from a few measurements, or catalogue")
    points: int = Field(0, description="number of measurements of the model that were used")


class Rung(BaseModel):
    plan: Plan
    predicted: Prediction
    lever: str | None
    fits: dict[str, bool] = Field(description="by device")
    cost: str | None = Field(None, description="effect on the result, compared with what was asked for")
    summary: str = Field(description="the change, the memory it would need, and its effect on the result")


class Change(BaseModel):
    lever: str | None = Field(description="the lever that was used; null if none")
    field: str
    before: str | None
    after: str | None
    reason: str = Field(description="in one sentence, with the figures")
    what: str | None = Field(None, description="what was changed; null if the reason has no parts")
    why: str | None = Field(None, description="the prediction, and why the change was necessary")
    cost: str | None = Field(None, description="effect on the result; null: none")
    group: str | None = Field(
        None,
        description="of a difference to the submitted pipeline.config: memory, request, checkpoint, dataset, "
        "evaluation, input, files, unused (kept, without effect) or unexplained",
    )
