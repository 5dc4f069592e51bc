"""Jobs: what clients send to submit, clone and edit them, and what they get."""

import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from api.schemas import patterns
from api.schemas.base import LARGEST_COUNT, Body, Line, Name, without_default
from api.schemas.plans import Change, Plan, Prediction
from services.domain.jobs.states import State
from services.domain.plan.policy import MAX_ATTEMPTS

__all__ = ["AttemptDevice", "CloneBody", "EditBody", "Job", "Jobs", "Progress", "SubmitBody", "SubmittedJob"]

_PRIORITY = "higher goes first; only admins can go above 0"

Text = Annotated[str, StringConstraints(max_length=10_000, pattern=patterns.NO_NUL)]
ConfigText = Annotated[str, StringConstraints(min_length=1, max_length=256 * 1024, pattern=patterns.NO_NUL)]
Lever = Literal["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"]


class TrainBody(Body):
    steps: Annotated[int, Field(ge=1, le=LARGEST_COUNT)] | None = Field(
        default=None,
        description="default: as many as it takes to see 100 epochs of the dataset, but at least 8,000 images and "
        "at most those that the model's own length sees (steps times batch size in /v1/models)",
        examples=[2000],
    )
    epochs: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] | None = Field(
        default=None,
        description="instead of steps: how often each training image is seen; converted to steps by the batch size",
        examples=[None],
    )
    batch_size: Annotated[int, Field(ge=1, le=65_536)] | None = Field(default=None, examples=[8])
    learning_rate: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] | None = Field(
        default=None, examples=[0.01]
    )
    evaluations: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="number of evaluations, the last one at the end; default: up to ten, at least 200 steps apart",
        examples=[10],
    )

    @model_validator(mode="after")
    def _has_one_length(self) -> Self:
        if self.steps is not None and self.epochs is not None:
            raise ValueError("send steps or epochs, not both")
        return self


class PolicyBody(Body):
    """How the job may be made to need less memory. What is left out keeps its default."""

    levers: Annotated[list[Lever], Field(max_length=6, json_schema_extra={"uniqueItems": True})] = Field(
        default=["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"],
        description="allowed changes, tried in this order",
    )
    min_batch_size: int = Field(default=1, ge=1, le=LARGEST_COUNT)
    min_image_size: int = Field(default=256, ge=1, le=LARGEST_COUNT, description="of the shorter side")
    min_backbone: Annotated[str, StringConstraints(max_length=64, pattern=patterns.NO_NUL)] | None = Field(
        default=None, description="the smallest backbone or model allowed", examples=[None]
    )
    max_attempts: int = Field(default=6, ge=1, le=MAX_ATTEMPTS)
    prefer: Literal["shrink", "wait"] = Field(
        default="shrink", description="wait: for a large enough device; shrink: reduce the job"
    )
    plan_ahead: bool = Field(default=True, description="false: start exactly as asked, whatever is predicted")


class DeviceBody(Body):
    min_memory_mb: int = Field(default=0, ge=0, le=2**24, description="memory that the job's device must have")
    wait: bool = Field(
        default=False,
        description="true: accept the job even if no known device can hold it, and wait for one",
    )


class JobFields(Body):
    name: Line | None = Field(default=None, examples=["my first job"])
    notes: Text | None = Field(default=None, examples=["for the meeting on Friday"])
    model: Name | None = Field(default=None, examples=["efficientdet_d0"])
    train: TrainBody | None = None
    image_size: Annotated[list[Annotated[int, Field(ge=1, le=16_384)]], Field(min_length=2, max_length=2)] | None = (
        Field(default=None, description="height, width", examples=[[512, 512]])
    )
    checkpoint: Name | None = Field(
        default=None,
        description="the weights to start from: a name of GET /v1/checkpoints. Null or left out: random weights, "
        "but it must be sent if the `pipeline_config` names a fine_tune_checkpoint",
        examples=[None],
    )
    pipeline_config: ConfigText | None = Field(
        default=None,
        description="a complete pipeline.config of your own, instead of a model; every change to it is listed in "
        "`config_changes` with its reason (docs/pipeline-config.md)",
        examples=[None],
    )
    policy: PolicyBody | None = None
    priority: int = Field(default=0, ge=-100, le=100, description=_PRIORITY)
    device: DeviceBody | None = None


class SubmitBody(JobFields):
    """A job. Everything but `dataset` and `model` may be left out; `model` too, where there is a `pipeline_config`."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "anyOf": [
                {"required": ["model"], "properties": {"model": {"type": "string"}}},
                {"required": ["pipeline_config"], "properties": {"pipeline_config": {"type": "string"}}},
            ],
            "examples": [
                {"dataset": "shapes", "model": "efficientdet_d0"},
                {
                    "name": "my first job",
                    "dataset": "shapes",
                    "model": "efficientdet_d0",
                    "train": {"steps": 200, "batch_size": 8},
                    "image_size": [256, 256],
                    "policy": {"min_batch_size": 4, "max_attempts": 4},
                },
            ],
        },
    )

    dataset: Name = Field(examples=["shapes"])

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        if self.model is None and self.pipeline_config is None:
            raise ValueError("model is missing: name one of GET /v1/models, or send a pipeline_config")
        return self


class CloneBody(JobFields):
    """What the copy has otherwise. What is left out stays as it is."""

    dataset: Name = Field(default="", examples=["shapes"], json_schema_extra=without_default)


class EditBody(Body):
    """What may be changed after submitting; at least one of them."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"minProperties": 1})

    name: Line = Field(default="", examples=["cones, second try"], json_schema_extra=without_default)
    notes: Text = Field(default="", examples=["for the meeting on Friday"], json_schema_extra=without_default)
    priority: int = Field(
        default=0, ge=-100, le=100, description=_PRIORITY, examples=[-5], json_schema_extra=without_default
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing to change: send name, notes or priority")
        return self


class Policy(BaseModel):
    levers: list[str]
    min_batch_size: int
    min_image_size: int
    min_backbone: str | None
    max_attempts: int
    prefer: str
    plan_ahead: bool


class Progress(BaseModel):
    step: int
    steps: int
    eta_s: float | None = Field(description="remaining time of the running attempt; null until its speed is known")


class Setback(BaseModel):
    attempt: int
    diagnosis: str
    followed_by: str | None = Field(description="what was done about it")


class AttemptDevice(BaseModel):
    id: str
    name: str


class Job(BaseModel):
    id: int
    name: str
    notes: str
    owner: str
    state: State
    reason: str | None = Field(description="why it failed, or what it waits for")
    stopping: str | None = Field(description="requested while it runs: cancel or pause")
    priority: int
    queue_position: int | None = Field(description="1 is next; null if the job is not queued")
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    progress: Progress
    current_attempt: int | None = Field(description="the running attempt")
    attempts: int = Field(description="number of attempts so far")
    setback: Setback | None = Field(description="the last attempt that failed; null if none did")
    device: AttemptDevice | None = Field(description="of the newest attempt; null before the first")
    model: str
    dataset: str
    policy: Policy
    min_memory_bytes: int = Field(description="memory that its device must have; 0: any device")
    asked: Plan = Field(description="as it was submitted")
    plan: Plan = Field(description="of the running attempt, or of the next one")
    predicted: Prediction | None
    summary: str | None = Field(description="why `plan` was chosen")
    version: int = Field(description="the number in the ETag")
    links: dict[str, str]


class Jobs(BaseModel):
    items: list[Job]
    next: str | None = Field(description="the cursor of the next page; null on the last")


class SubmittedJob(Job):
    config_changes: list[Change] = Field(
        default=[],
        description="every field of your own `pipeline_config` that is not run as it was sent, with the reason; for "
        "the first attempt, as planned now",
    )
