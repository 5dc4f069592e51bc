"""The plan of an attempt, its predicted memory, and changes to it."""

from pydantic import BaseModel, Field

__all__ = ["Change", "Plan", "Prediction", "Rung"]


class Plan(BaseModel):
    """The settings of an attempt that decide how much memory it needs."""

    model: str
    batch_size: int = Field(description="Images per training step.")
    micro_batch: int = Field(description="Images computed at once. It divides the batch size.")
    precision: str = Field(description="Number format of the computation: float32, bfloat16 or float16.")
    image_size: list[int] = Field(description="Height and width in pixels.")
    steps: int
    learning_rate: float
    proposals: int | None = Field(None, description="Region proposals per image; null: the model's own number.")
    second_stage_batch: int | None = Field(
        None, description="Proposals per image that the second stage trains on; null: the model's own number."
    )


class Prediction(BaseModel):
    """The device memory that a plan is expected to need, with its likely range."""

    bytes: int
    low_bytes: int
    high_bytes: int
    source: str = Field(
        description="Basis of the prediction: measured, scaled (from few or similar measurements) or catalogue (none)."
    )
    points: int = Field(0, description="Number of measurements of the model that were used.")


class Rung(BaseModel):
    """A plan to fall back to if memory runs out."""

    plan: Plan
    predicted: Prediction
    lever: str | None = Field(description="The lever that leads to this plan; null: none.")
    fits: dict[str, bool] = Field(description="Whether the plan fits, by device id.")
    cost: str | None = Field(None, description="Effect on the result, compared with the request; null: none.")
    summary: str = Field(description="The change, the memory that it would need, and its effect on the result.")


class Change(BaseModel):
    """A setting that differs from the request, or from the previous attempt."""

    lever: str | None = Field(description="The lever that was used; null: none.")
    field: str
    before: str | None
    after: str | None
    reason: str = Field(description="The reason in one sentence, with the figures.")
    what: str | None = Field(None, description="The change alone; null if the reason is not split into parts.")
    why: str | None = Field(None, description="The prediction, and why the change was necessary.")
    cost: str | None = Field(None, description="Effect on the result; null: none.")
    group: str | None = Field(
        None,
        description="For a difference from your own pipeline.config: memory, request, checkpoint, dataset, evaluation, "
        "input, files, unused (kept, without effect) or unexplained. Null for other changes.",
    )
