"""Jobs: what clients send to submit, clone and edit them, and what they get."""

import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from api.schemas import patterns
from api.schemas.base import LARGEST_COUNT, Body, Line, Name, without_default
from api.schemas.plans import Change, Plan, Prediction
from api.schemas.waiting import WaitingFor
from services.domain.contract import EarlyStopping
from services.domain.doctor.advice import Code, Severity
from services.domain.jobs.states import State
from services.domain.plan.policy import MAX_ATTEMPTS

__all__ = ["AttemptDevice", "CloneBody", "EditBody", "Job", "Jobs", "Progress", "SubmitBody", "SubmittedJob"]

_PRIORITY = "Higher goes first. Only admins can set it above 0."

Text = Annotated[str, StringConstraints(max_length=10_000, pattern=patterns.NO_NUL)]
ConfigText = Annotated[str, StringConstraints(min_length=1, max_length=256 * 1024, pattern=patterns.NO_NUL)]
Lever = Literal["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"]


BestMetric = Literal["mAP", "mAP50", "mAP75", "AR100", "mask_mAP", "mask_mAP50", "mask_mAP75", "mask_AR100"]


class EarlyStoppingBody(Body):
    """End the training, with success, once evaluations gain nothing any more."""

    patience: int = Field(
        default=EarlyStopping.patience,
        ge=1,
        le=1000,
        description="Evaluations in a row without a gain, after which training ends.",
    )
    min_gain: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        default=EarlyStopping.min_gain,
        description="The least by which `best_metric` must grow to count as a gain, from 0 to 1.",
    )


class TrainBody(Body):
    steps: Annotated[int, Field(ge=1, le=LARGEST_COUNT)] | None = Field(
        default=None,
        description="Default: 100 epochs of the dataset, but at least 8,000 images, and at most as many images as the "
        "model's default (steps times batch size in /v1/models).",
        examples=[2000],
    )
    epochs: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Instead of `steps`: how often each training image is seen. Converted to steps by the batch size.",
        examples=[None],
    )
    batch_size: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        default=None, description="Images per training step. Default: the model's.", examples=[8]
    )
    learning_rate: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Default: the model's, scaled to the batch size.",
        examples=[0.01],
    )
    evaluations: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="Number of evaluations. The last one is at the end. Default: up to ten, at least 200 steps apart.",
        examples=[10],
    )
    best_metric: BestMetric | None = Field(
        default=None,
        description="What the best checkpoint is chosen by. Default: mAP, of boxes. Those of masks are for Mask R-CNN.",
    )
    early_stopping: EarlyStoppingBody | None = Field(
        default=None, description="Null: train to the last step.", examples=[{"patience": 5, "min_gain": 0.001}]
    )
    export: Literal["best", "last"] | None = Field(
        default=None,
        description="The checkpoint to export. Default: best, or last if no evaluation had a value.",
        examples=["best"],
    )

    @model_validator(mode="after")
    def _has_one_length(self) -> Self:
        if self.steps is not None and self.epochs is not None:
            raise ValueError("send steps or epochs, not both")
        return self


class PolicyBody(Body):
    """How the job may be changed to need less memory. Fields that are left out keep their defaults."""

    levers: Annotated[list[Lever], Field(max_length=6, json_schema_extra={"uniqueItems": True})] = Field(
        default=["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"],
        description="The allowed changes, tried in this order.",
    )
    min_batch_size: int = Field(default=1, ge=1, le=LARGEST_COUNT, description="The smallest batch size allowed.")
    min_image_size: int = Field(
        default=256, ge=1, le=LARGEST_COUNT, description="The smallest shorter side of the images allowed, in pixels."
    )
    min_backbone: Annotated[str, StringConstraints(max_length=64, pattern=patterns.NO_NUL)] | None = Field(
        default=None, description="The smallest backbone or model allowed. Null: any.", examples=[None]
    )
    max_attempts: int = Field(
        default=6,
        ge=1,
        le=MAX_ATTEMPTS,
        description="The most attempts that may fail by the job itself; waits for others do not count.",
    )
    prefer: Literal["shrink", "wait"] = Field(
        default="shrink",
        description="shrink: reduce the job to fit a device. wait: wait for a device that is large enough.",
    )
    plan_ahead: bool = Field(
        default=True, description="False: start exactly as requested, whatever memory is predicted."
    )


class DeviceBody(Body):
    min_memory_mb: int = Field(
        default=0, ge=0, le=2**24, description="The least total memory of the job's device; 0: any."
    )
    wait: bool = Field(
        default=False,
        description="True: accept the job even if no known device can hold it, and wait for one.",
    )


class JobFields(Body):
    name: Line | None = Field(default=None, description="Default: model and dataset.", examples=["my first job"])
    notes: Text | None = Field(default=None, examples=["for the meeting on Friday"])
    model: Name | None = Field(default=None, description="A name in GET /v1/models.", examples=["efficientdet_d0"])
    train: TrainBody | None = None
    image_size: Annotated[list[Annotated[int, Field(ge=1, le=16_384)]], Field(min_length=2, max_length=2)] | None = (
        Field(default=None, description="Height and width in pixels. Default: the model's.", examples=[[512, 512]])
    )
    checkpoint: Name | None = Field(
        default=None,
        description="The weights to start from: a name in GET /v1/checkpoints. Null or left out: random weights. It "
        "must be sent, as null or a name, if the `pipeline_config` names a fine_tune_checkpoint.",
        examples=[None],
    )
    pipeline_config: ConfigText | None = Field(
        default=None,
        description="A complete pipeline.config of your own, instead of a model. Every change to it is listed in "
        "`config_changes` with its reason (docs/pipeline-config.md).",
        examples=[None],
    )
    policy: PolicyBody | None = None
    priority: int = Field(default=0, ge=-100, le=100, description=_PRIORITY)
    device: DeviceBody | None = None


class SubmitBody(JobFields):
    """A job. Only `dataset`, and `model` or `pipeline_config`, are required."""

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

    dataset: Name = Field(description="A name in GET /v1/datasets.", examples=["shapes"])

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        if self.model is None and self.pipeline_config is None:
            raise ValueError("model is missing: name one of GET /v1/models, or send a pipeline_config")
        return self


class CloneBody(JobFields):
    """Changes to the copied request. Fields that are left out stay as they are."""

    dataset: Name = Field(default="", examples=["shapes"], json_schema_extra=without_default)


class EditBody(Body):
    """Changes to a job. At least one field is required."""

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
    eta_s: float | None = Field(description="Remaining seconds of the running attempt; null until its speed is known.")


class Setback(BaseModel):
    """An attempt that failed."""

    attempt: int
    diagnosis: str
    followed_by: str | None = Field(description="What was done about the failure; null: nothing.")


class Advice(BaseModel):
    """A mistake that the results of the training show (docs/doctor.md)."""

    code: Code
    severity: Severity = Field(description="error: the result is of no use. warning: it could be better.")
    seen: str = Field(description="What shows it, with the figures.")
    remedy: str = Field(description="What to do.")
    evidence: dict[str, float] = Field(description="The figures of `seen`.")


class AttemptDevice(BaseModel):
    id: str
    name: str


class BestCheckpoint(BaseModel):
    step: int = Field(description="In steps of the attempt's batch size.")
    metric: str
    value: float
    attempt: int
    checkpoint: str = Field(description="The name of its artifacts, without `.index` and the like.")


class ExportedCheckpoint(BaseModel):
    which: Literal["best", "last"]
    step: int
    metric: str | None = Field(description="Null: the checkpoint was not evaluated, or had no such value.")
    value: float | None


class Job(BaseModel):
    id: int
    name: str
    notes: str
    owner: str
    state: State
    reason: str | None = Field(description="Why the job failed, or what it waits for, in words.")
    waiting_for: WaitingFor | None = Field(
        description="What a queued job waits for; null: for its turn, or it is not queued."
    )
    stopping: str | None = Field(
        description="The stop that was requested and is under way: cancel or pause; null: none."
    )
    priority: int
    queue_position: int | None = Field(description="1 is next; null if the job does not wait.")
    expected_start_s: float | None = Field(
        description="Seconds until a queued job is expected to start, from the remaining time of running jobs; null if "
        "it cannot be told, or the job is not queued."
    )
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    progress: Progress
    current_attempt: int | None = Field(description="Number of the running attempt; null: none runs.")
    attempts: int = Field(description="Number of attempts so far.")
    best: BestCheckpoint | None = Field(
        default=None, description="The best checkpoint so far of the newest architecture; null: none."
    )
    stopped_early: str | None = Field(
        default=None, description="Why training ended before the steps of its plan; null: it did not."
    )
    exported_checkpoint: ExportedCheckpoint | None = Field(
        default=None, description="What the exported model was made from; null: there is none, or it is not known."
    )
    setback: Setback | None = Field(description="The last attempt that failed; null: none.")
    device: AttemptDevice | None = Field(description="Device of the newest attempt; null before the first.")
    model: str
    dataset: str
    policy: Policy
    min_memory_bytes: int = Field(description="The least total memory of its device; 0: any.")
    asked: Plan = Field(description="The plan as submitted.")
    plan: Plan = Field(description="The plan of the running attempt, or of the next one.")
    predicted: Prediction | None
    summary: str | None = Field(description="Why `plan` was chosen.")
    advice: list[Advice] | None = Field(
        default=None,
        description="Mistakes that the results so far show, the one that explains most first; empty if none is sure. "
        "Null before the first attempt, and in lists.",
    )
    version: int = Field(description="The number in the ETag.")
    links: dict[str, str]


class Jobs(BaseModel):
    items: list[Job]
    next: str | None = Field(description="The cursor of the next page; null on the last.")


class SubmittedJob(Job):
    config_changes: list[Change] = Field(
        default=[],
        description="Every field of your own `pipeline_config` that will not run as sent, with the reason. It "
        "describes the first attempt as planned now.",
    )
