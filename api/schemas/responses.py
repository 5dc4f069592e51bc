"""What clients get. These types are the OpenAPI's; the values come from the use cases."""

import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from services.domain.jobs.states import State

__all__ = [
    "Artifacts",
    "Attempt",
    "Attempts",
    "Audit",
    "Checkpoints",
    "Dataset",
    "Datasets",
    "Deliveries",
    "Delivery",
    "DeviceHistory",
    "Devices",
    "Diff",
    "Estimate",
    "Health",
    "Job",
    "Jobs",
    "LogLines",
    "LogMatches",
    "LogTrouble",
    "Metrics",
    "Models",
    "NewToken",
    "NewWebhook",
    "Queue",
    "Ready",
    "Tokens",
    "User",
    "Users",
    "Webhook",
    "Webhooks",
    "WhoAmI",
]


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


class SubmittedJob(Job):
    config_changes: list[Change] = Field(
        default=[],
        description="every field of your own `pipeline_config` that is not run as it was sent, with the reason; for "
        "the first attempt, as planned now",
    )


class LogLine(BaseModel):
    line: int = Field(description="line number in the attempt's log, from 1")
    text: str


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


class LogLines(BaseModel):
    attempt: int
    bytes: int = Field(description="of the whole log")
    total_lines: int
    first: int = Field(description="the number of the first of these lines")
    lines: list[str]
    is_whole: bool = Field(description="false: the last line is still being written; request it again")
    noise: list[list[int]] = Field(
        description="first and last line of each block of TensorFlow's routine messages, if requested"
    )


class LogMatches(BaseModel):
    attempt: int
    matches: list[LogLine]
    is_complete: bool = Field(description="true: no more in this direction")


class LogTrouble(BaseModel):
    attempt: int
    diagnosis: str | None
    message: str | None
    lines: list[LogLine] = Field(description="lines that tell why the attempt ended, in order")


class Artifact(BaseModel):
    name: str
    bytes: int | None = Field(description="null if the file is created while it is sent")
    modified_at: datetime.datetime
    link: str


class Artifacts(BaseModel):
    items: list[Artifact]
    is_complete: bool = Field(description="false: the list is cut off")


class LeasedTo(BaseModel):
    """The job that has the device. One that is not yours to see has no number, and its name says so."""

    id: int | None
    attempt: int | None
    name: str
    owner: str | None
    limit_bytes: int = Field(description="device memory available at its start")
    peak_bytes: int | None = Field(description="measured so far")
    predicted: Prediction | None
    phase: str | None
    progress: Progress | None
    link: str | None


class Process(BaseModel):
    pid: int
    name: str | None
    used_bytes: int | None = Field(description="null if the driver does not report it")


class Device(BaseModel):
    id: str
    host: str
    kind: Literal["gpu", "cpu"]
    index: int
    name: str
    total_bytes: int
    free_bytes: int
    ours_bytes: int = Field(description="held by the running job; for a slot, as its trainer last reported")
    others_bytes: int = Field(description="held by other processes")
    bfloat16: bool
    utilisation: int | None = Field(description="percent")
    temperature: int | None = Field(description="degrees Celsius")
    processes: list[Process] = Field(description="other people's")
    problem: str | None = Field(description="why nothing starts on it")
    problem_since: datetime.datetime | None
    seen_at: datetime.datetime
    is_present: bool = Field(description="its host reported it recently")
    job: LeasedTo | None


class DeviceHistory(BaseModel):
    """Columns of equal length, the oldest first."""

    device: str
    total_bytes: int
    at: list[datetime.datetime]
    ours_bytes: list[int] = Field(description="held by a Downshift job")
    others_bytes: list[int] = Field(description="held by other processes")
    utilisation: list[int | None]
    temperature: list[int | None]
    job: list[int | None] = Field(description="job that ran on it; null: none, or not visible to you")


class Devices(BaseModel):
    items: list[Device]


class Queue(BaseModel):
    queued: int
    running: int
    paused: int
    items: list[Job] = Field(description="queued jobs, next one first")


class Model(BaseModel):
    name: str
    family: str
    backbone: str
    image_size: list[int]
    image_sizes: list[list[int]]
    batch_size: int
    learning_rate: float
    steps: int
    needs_masks: bool
    smaller: str | None = Field(description="the model one backbone below")


class Models(BaseModel):
    items: list[Model]


class Dataset(BaseModel):
    name: str
    classes: list[str]
    images: int
    validation_images: int
    boxes: int | None = Field(description="boxes in the training images; null if not counted")
    boxes_per_class: dict[str, int]
    has_masks: bool
    bytes: int
    problem: str | None = Field(description="why it cannot be used")


class Datasets(BaseModel):
    items: list[Dataset]


class Checkpoint(BaseModel):
    name: str
    bytes: int
    modified_at: datetime.datetime
    models: list[str] = Field(description="the models that training can start from it")


class Checkpoints(BaseModel):
    items: list[Checkpoint]


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


class Token(BaseModel):
    id: int
    name: str
    user: str
    scopes: list[str]
    created_at: datetime.datetime
    expires_at: datetime.datetime | None
    last_used_at: datetime.datetime | None = Field(description="to the minute")
    revoked_at: datetime.datetime | None


class NewToken(Token):
    token: str | None = Field(
        description="the token itself: shown once and not stored, so null if an Idempotency-Key is replayed"
    )


class Tokens(BaseModel):
    items: list[Token]


class Webhook(BaseModel):
    id: int
    url: str
    kinds: list[str]
    created_at: datetime.datetime
    failing_since: datetime.datetime | None = Field(description="deliveries have failed since then")
    disabled_at: datetime.datetime | None = Field(description="nothing is sent since then")
    disabled_reason: str | None
    version: int = Field(description="the number in the ETag")


class NewWebhook(Webhook):
    secret: str | None = Field(
        description="signs the messages; shown once, so null if an Idempotency-Key is replayed",
        examples=["whsec_…"],
    )


class Webhooks(BaseModel):
    items: list[Webhook]


class Delivery(BaseModel):
    id: int
    message_id: str = Field(description="the header webhook-id, the same in every retry")
    kind: str
    job: int | None
    created_at: datetime.datetime
    tries: int
    next_at: datetime.datetime | None = Field(description="time of the next retry; null: none")
    sent_at: datetime.datetime | None = Field(description="time of the successful delivery; null: not delivered")
    status: int | None = Field(description="of the last answer")
    error: str | None


class Deliveries(BaseModel):
    items: list[Delivery]


class Limits(BaseModel):
    max_queued: int | None
    max_running: int | None
    device_hours_week: float | None = Field(description="today and the six days before")


class Use(BaseModel):
    running: int
    device_hours_week: float


class OwnUse(Use):
    queued: int


class WhoAmI(BaseModel):
    user: str
    role: str
    scopes: list[str]
    token_id: int | None
    csrf: str | None = Field(description="for the header X-CSRF-Token, if you are logged in with a cookie")
    limits: Limits = Field(description="null: none")
    use: OwnUse


class User(BaseModel):
    name: str
    role: str
    is_disabled: bool
    has_password: bool
    limits: Limits = Field(description="the user's own; null: the service's default")
    effective_limits: Limits = Field(description="with the defaults applied; null: no limit")
    use: Use
    created_at: datetime.datetime
    disabled_at: datetime.datetime | None
    version: int = Field(description="the number in the ETag")
    links: dict[str, str]


class Users(BaseModel):
    items: list[User]


class AuditEntry(BaseModel):
    id: int
    at: datetime.datetime
    user: str | None = Field(description="who did it")
    action: str = Field(examples=["job.cancel"])
    target: str = Field(examples=["job 7"])
    data: dict[str, Any]


class Audit(BaseModel):
    items: list[AuditEntry]
    next: str | None = Field(description="the cursor of the next page; null on the last")


class Health(BaseModel):
    status: Literal["ok"]


class Ready(BaseModel):
    status: Literal["ready"]
    broker: Literal["answers", "away"] = Field(description="away: jobs start a few seconds later")
