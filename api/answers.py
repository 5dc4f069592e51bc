"""What clients get. These types are the OpenAPI's; the values come from the use cases."""

import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from services.domain.states import State

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
    micro_batch: int = Field(description="images computed at once; the batch is made of whole ones")
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
    source: str = Field(description="what it was predicted from: measured, scaled from a few points, catalogue")
    points: int = Field(0, description="how many measurements of the model it rests on")


class Rung(BaseModel):
    plan: Plan
    predicted: Prediction
    lever: str | None
    fits: dict[str, bool] = Field(description="by device")
    cost: str | None = Field(None, description="what it costs the result, compared with what was asked for")
    summary: str = Field(description="what is changed, what it would need, and what that costs")


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
    eta_s: float | None = Field(description="of the attempt that runs; null until its pace is known")


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
    stopping: str | None = Field(description="what its owner asked of it while it runs: cancel or pause")
    priority: int
    queue_position: int | None = Field(description="1 is the next; null where it does not wait")
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    progress: Progress
    current_attempt: int | None = Field(description="the attempt that runs")
    attempts: int = Field(description="how many there have been")
    setback: Setback | None = Field(description="the last attempt of it that did not end well; null where none did")
    device: AttemptDevice | None = Field(description="of the newest attempt; null before the first")
    model: str
    dataset: str
    policy: Policy
    min_memory_bytes: int = Field(description="the smallest device that it may be put on; 0: any")
    asked: Plan = Field(description="as it was submitted")
    plan: Plan = Field(description="of the attempt that runs, or of the next")
    predicted: Prediction | None
    summary: str | None = Field(description="how `plan` came about")
    version: int = Field(description="the ETag's number")
    links: dict[str, str]


class Jobs(BaseModel):
    items: list[Job]
    next: str | None = Field(description="the cursor of the next page; null on the last")


class Change(BaseModel):
    lever: str | None = Field(description="the lever that was pulled; null where none was")
    field: str
    before: str | None
    after: str | None
    reason: str = Field(description="in one sentence, with the figures")
    what: str | None = Field(None, description="what is done; null where the reason has no parts")
    why: str | None = Field(None, description="what was predicted, and what made it necessary")
    cost: str | None = Field(None, description="what it costs the result; null: nothing")
    group: str | None = Field(
        None,
        description="of a difference to the submitted pipeline.config: memory, request, checkpoint, dataset, "
        "evaluation, input, files, unused (kept, without effect) or unexplained",
    )


class SubmittedJob(Job):
    config_changes: list[Change] = Field(
        default=[],
        description="every field of your own `pipeline_config` that is not run as it was sent, with the reason; of the "
        "first attempt, as it is planned now",
    )


class LogLine(BaseModel):
    line: int = Field(description="its number in the attempt's log, from 1")
    text: str


class Finding(BaseModel):
    why: str
    evidence: list[LogLine] = Field(description="the lines of the log that were relied on")
    figures: dict[str, int | float | str | None] = Field(
        description="bytes as they were counted or logged (limit, in_use, peak, free, requested, …), and who asked"
    )


class Attempt(BaseModel):
    job: int
    number: int
    plan: Plan
    adjustments: dict[str, int | bool] = Field(description="what goes with the plan: remedies that are no levers")
    device: AttemptDevice
    limit_bytes: int = Field(description="the device's memory that it could have")
    predicted: Prediction | None
    measured_peak_bytes: int | None = Field(description="of training")
    measured_evaluation_peak_bytes: int | None
    measured_host_peak_bytes: int | None = Field(description="of the host's memory, by the trainer alone")
    prediction_error: float | None = Field(
        description="(predicted - measured) / measured; null until it ends, and where memory ran out before the peak"
    )
    changes: list[Change] = Field(description="settings that were changed for this attempt, of the plan or beside it")
    summary: str | None = Field(description="what was changed, why, from which measurement, and what it costs")
    ladder: list[Rung] = Field(description="what would follow should it run out, by what was known when it started")
    phase: str | None
    step: int
    saved_step: int | None = Field(description="of its newest checkpoint")
    started_at: datetime.datetime
    trainer_started_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    outcome: str | None = Field(description="how it ended; null while it runs")
    diagnosis: str | None
    finding: Finding | None = Field(description="what the diagnosis rests on; null where nothing failed")
    message: str | None
    evidence: dict[str, Any] | None = Field(description="what the trainer wrote at its end")
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
    names: list[str] = Field(description="of all metrics that the job has")
    series: list[Series]


class LogLines(BaseModel):
    attempt: int
    bytes: int = Field(description="of the whole log")
    total_lines: int
    first: int = Field(description="the number of the first of these lines")
    lines: list[str]
    is_whole: bool = Field(description="false: the last of them is still being written; ask for it again")
    noise: list[list[int]] = Field(
        description="first and last line of each block of TensorFlow's start-up messages, where they were asked for"
    )


class LogMatches(BaseModel):
    attempt: int
    matches: list[LogLine]
    is_complete: bool = Field(description="there are no more in this direction")


class LogTrouble(BaseModel):
    attempt: int
    diagnosis: str | None
    message: str | None
    lines: list[LogLine] = Field(description="that tell why the attempt ended, the first one first")


class Artifact(BaseModel):
    name: str
    bytes: int | None = Field(description="null where it is made while it is sent")
    modified_at: datetime.datetime
    link: str


class Artifacts(BaseModel):
    items: list[Artifact]
    is_complete: bool = Field(description="false: there are more files than are listed")


class LeasedTo(BaseModel):
    """The job that has the device. One that is not yours to see has no number, and its name says so."""

    id: int | None
    attempt: int | None
    name: str
    owner: str | None
    limit_bytes: int = Field(description="what it could have of the device when it started")
    peak_bytes: int | None = Field(description="measured so far")
    predicted: Prediction | None
    phase: str | None
    progress: Progress | None
    link: str | None


class Process(BaseModel):
    pid: int
    name: str | None
    used_bytes: int | None = Field(description="null where the driver does not say")


class Device(BaseModel):
    id: str
    host: str
    kind: Literal["gpu", "cpu"]
    index: int
    name: str
    total_bytes: int
    free_bytes: int
    ours_bytes: int = Field(description="held by the job that has it; of a slot, as its trainer said last")
    others_bytes: int = Field(description="held by anybody else")
    bfloat16: bool
    utilisation: int | None = Field(description="percent")
    temperature: int | None = Field(description="degrees Celsius")
    processes: list[Process] = Field(description="other people's")
    problem: str | None = Field(description="why nothing starts on it")
    problem_since: datetime.datetime | None
    seen_at: datetime.datetime
    is_present: bool = Field(description="its host has reported it lately")
    job: LeasedTo | None


class DeviceHistory(BaseModel):
    """Columns of equal length, the oldest first."""

    device: str
    total_bytes: int
    at: list[datetime.datetime]
    ours_bytes: list[int] = Field(description="held by a job of ours")
    others_bytes: list[int] = Field(description="held by anybody else")
    utilisation: list[int | None]
    temperature: list[int | None]
    job: list[int | None] = Field(description="that was on it; null: none, or none that you may see")


class Devices(BaseModel):
    items: list[Device]


class Queue(BaseModel):
    queued: int
    running: int
    paused: int
    items: list[Job] = Field(description="those that wait, the next one first")


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
    boxes: int | None = Field(description="in the images to train with; null where that was not counted")
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
    fits_now: bool = Field(description="into what is free at the moment, and nothing is wrong with it")
    problem: str | None = Field(description="why nothing starts on it")


class FieldProblem(BaseModel):
    field: str
    message: str


class Estimate(BaseModel):
    possible: bool = Field(description="it could start on a device that is known, or before any is known")
    problem: FieldProblem | None = Field(description="why submitting would be refused; null where it would not")
    waits_for: str | None = Field(description="the device that it would wait for, where it asks to wait for one")
    asked: Plan
    plan: Plan | None = Field(description="how it would start; null where nothing that is allowed fits")
    predicted: Prediction
    changes: list[Change]
    config_changes: list[Change] = Field(
        description="every field of your own `pipeline_config` that would not be run as it was sent, with the reason"
    )
    summary: str
    devices: list[EstimatedDevice]
    ladder: list[Rung] = Field(description="what it can fall back to, step by step")
    host_peak_bytes: int | None = Field(
        description="the most that an attempt of this model took of its host's memory; null where none was measured"
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
        description="the token itself: shown once and kept nowhere, so null where an Idempotency-Key is replayed"
    )


class Tokens(BaseModel):
    items: list[Token]


class Webhook(BaseModel):
    id: int
    url: str
    kinds: list[str]
    created_at: datetime.datetime
    failing_since: datetime.datetime | None = Field(description="nothing was delivered since")
    disabled_at: datetime.datetime | None = Field(description="nothing is sent to it since")
    disabled_reason: str | None
    version: int = Field(description="the ETag's number")


class NewWebhook(Webhook):
    secret: str | None = Field(
        description="signs what is sent to it; shown once, so null where an Idempotency-Key is replayed",
        examples=["whsec_…"],
    )


class Webhooks(BaseModel):
    items: list[Webhook]


class Delivery(BaseModel):
    id: int
    message_id: str = Field(description="the header webhook-id, the same in every try")
    kind: str
    job: int | None
    created_at: datetime.datetime
    tries: int
    next_at: datetime.datetime | None = Field(description="when it is tried next; null: never again")
    sent_at: datetime.datetime | None = Field(description="when it was taken; null: not yet, or never")
    status: int | None = Field(description="of the last answer")
    error: str | None


class Deliveries(BaseModel):
    items: list[Delivery]


class Limits(BaseModel):
    max_queued: int | None
    max_running: int | None
    device_hours_week: float | None = Field(description="today and in the six days before")


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
    csrf: str | None = Field(description="for the header X-CSRF-Token, where you are logged in with a cookie")
    limits: Limits = Field(description="null: none")
    use: OwnUse


class User(BaseModel):
    name: str
    role: str
    is_disabled: bool
    has_password: bool
    limits: Limits = Field(description="the user's own; null: the service's default")
    effective_limits: Limits = Field(description="with the defaults; null: none")
    use: Use
    created_at: datetime.datetime
    disabled_at: datetime.datetime | None
    version: int = Field(description="the ETag's number")
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
    broker: Literal["answers", "away"] = Field(description="away: jobs start some seconds later")
