"""The tables. Times are UTC and aware, memory is in bytes, ids of jobs are numbers that people can say."""

import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, ForeignKey, Index, Integer, MetaData, String, Text, text
from sqlalchemy import Float as Double
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

__all__ = [
    "Attempt",
    "AuditEntry",
    "Base",
    "Delivery",
    "Device",
    "DevicePast",
    "DeviceUse",
    "Event",
    "IdempotencyKey",
    "Job",
    "Lease",
    "Measurement",
    "Metric",
    "MetricBlock",
    "Token",
    "User",
    "UserSession",
    "Webhook",
]

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(TypeDecorator[datetime.datetime]):
    """Aware in Python on both databases; SQLite itself forgets the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime.datetime | None, dialect: Dialect) -> datetime.datetime | None:
        return None if value is None else value.astimezone(datetime.UTC)

    def process_result_value(self, value: datetime.datetime | None, dialect: Dialect) -> datetime.datetime | None:
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=datetime.UTC)


# SQLite numbers rows by itself only in a column that is exactly INTEGER.
BigId = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012  SQLAlchemy reads it from the class
        datetime.datetime: UtcDateTime,
        dict[str, Any]: JSON,
        list[Any]: JSON,
        str: Text,
        float: Double,
        int: BigInteger,
    }


class User(Base):
    __tablename__ = "users"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime.datetime]
    password: Mapped[str | None]  # how it is checked, with salt and parameters; None: there is none
    disabled_at: Mapped[datetime.datetime | None]
    max_queued: Mapped[int | None] = mapped_column(Integer)  # of this and the next two, None: as the settings say
    max_running: Mapped[int | None] = mapped_column(Integer)
    device_hours_week: Mapped[float | None]
    version: Mapped[int] = mapped_column(Integer, default=1, server_default="1")


class UserSession(Base):
    """Somebody who is logged in with a browser. With a token where that was shown instead of a password."""

    __tablename__ = "sessions"
    __table_args__ = ({"sqlite_autoincrement": True},)  # a number is never given twice

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    token_id: Mapped[int | None] = mapped_column(ForeignKey("tokens.id"))
    digest: Mapped[str] = mapped_column(String(64), unique=True)  # SHA-256 of a 256-bit secret
    user_agent: Mapped[str] = mapped_column(String(256))
    created_at: Mapped[datetime.datetime]
    last_used_at: Mapped[datetime.datetime]
    expires_at: Mapped[datetime.datetime]


class DeviceUse(Base):
    """How long a user's jobs had devices on a day. What runs now is not in it: its lease says so."""

    __tablename__ = "device_use"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    day: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False, index=True)  # since 1970, in UTC
    seconds: Mapped[float]


class Token(Base):
    __tablename__ = "tokens"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(64))
    digest: Mapped[str] = mapped_column(String(64), unique=True)  # SHA-256 of a 256-bit secret
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime.datetime]
    expires_at: Mapped[datetime.datetime | None]
    last_used_at: Mapped[datetime.datetime | None]
    revoked_at: Mapped[datetime.datetime | None]


class Job(Base):
    """`plan` is the current attempt's while running and the next one's while queued; `asked` never changes."""

    __tablename__ = "jobs"
    __table_args__ = (
        Index("ix_jobs_state_id", "state", "id"),
        Index("ix_jobs_owner_id_id", "owner_id", "id"),
        Index("ix_jobs_owner_id_state_id", "owner_id", "state", "id"),
        Index("ix_jobs_finished_at_state", "finished_at", "state"),
        # All that the order of the queue is made of: a job's row is long, and is not read for it.
        Index("ix_jobs_state_owner_id_priority_id_not_before", "state", "owner_id", "priority", "id", "not_before"),
        # The queued jobs that found no device when a worker last tried to start them.
        Index(
            "ix_jobs_waiting_for",
            "state",
            "id",
            postgresql_where=text("waiting_for IS NOT NULL"),
            sqlite_where=text("waiting_for IS NOT NULL"),
        ),
        {"sqlite_autoincrement": True},  # a number is never given twice
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(128))
    notes: Mapped[str] = mapped_column(default="")
    state: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None]  # why it failed
    # What a queued one waits for (`services.domain.jobs.waiting`); NULL: its turn.
    waiting_for: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    stop: Mapped[str | None] = mapped_column(String(16))  # what the owner asked of a running one
    priority: Mapped[int] = mapped_column(Integer, default=0)
    model: Mapped[str] = mapped_column(String(64))
    dataset: Mapped[str] = mapped_column(String(64))
    request: Mapped[dict[str, Any]]  # as submitted
    policy: Mapped[dict[str, Any]]
    base_config: Mapped[str]  # the pipeline.config before any plan, without paths
    asked: Mapped[dict[str, Any]]
    plan: Mapped[dict[str, Any]]
    planned: Mapped[dict[str, Any]]  # how `plan` came about: prediction, changes, summary
    adjustments: Mapped[dict[str, Any] | None]  # what goes with `plan`; None: nothing
    results: Mapped[dict[str, Any] | None]  # `services.attempts.job_results`; None: none yet, or of an older version
    min_memory_bytes: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[datetime.datetime | None]
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    step: Mapped[int] = mapped_column(default=0)
    steps: Mapped[int]
    version: Mapped[int] = mapped_column(Integer, default=1)
    created_at: Mapped[datetime.datetime]
    queued_at: Mapped[datetime.datetime]
    started_at: Mapped[datetime.datetime | None]
    finished_at: Mapped[datetime.datetime | None]


class Attempt(Base):
    __tablename__ = "attempts"
    __table_args__ = (Index("ix_attempts_ended_at_diagnosis", "ended_at", "diagnosis"),)

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    plan: Mapped[dict[str, Any]]
    planned: Mapped[dict[str, Any]]
    adjustments: Mapped[dict[str, Any] | None]
    config: Mapped[str]  # pipeline.config as run
    device_id: Mapped[str] = mapped_column(String(128))
    device_name: Mapped[str]
    limit_bytes: Mapped[int]  # what its allocator may have: planned at the claim, then as its trainer reports it
    free_bytes: Mapped[int | None]  # of the device's memory at the claim, as the driver reports it; None on a slot
    host: Mapped[str] = mapped_column(String(64))
    token: Mapped[str] = mapped_column(String(64))
    phase: Mapped[str] = mapped_column(String(32))  # the last one it was in
    step: Mapped[int] = mapped_column(default=0)
    step_s: Mapped[float | None]  # seconds a step takes, lately
    input_wait: Mapped[float | None]  # the share of it that waits for images, lately
    host_cores: Mapped[int | None] = mapped_column(Integer)
    host_devices: Mapped[int | None] = mapped_column(Integer)  # that share the cores
    saved_step: Mapped[int | None]
    ingested: Mapped[int] = mapped_column(default=0)  # bytes of events.jsonl that are in the database
    peak_bytes: Mapped[int | None]
    outcome: Mapped[dict[str, Any] | None]
    reason: Mapped[str | None] = mapped_column(String(32))
    diagnosis: Mapped[str | None] = mapped_column(String(32))
    finding: Mapped[dict[str, Any] | None]  # what the diagnosis rests on: why, lines of the log, figures
    message: Mapped[str | None]
    exit_status: Mapped[int | None] = mapped_column(Integer)
    followed_by: Mapped[str | None]  # what was done about it, for people
    started_at: Mapped[datetime.datetime]
    trainer_started_at: Mapped[datetime.datetime | None]
    ended_at: Mapped[datetime.datetime | None]
    versions: Mapped[dict[str, Any] | None]  # of driver, CUDA, cuDNN and packages that it ran on


class Device(Base):
    """A device as its host saw it last. The id is `host/key`."""

    __tablename__ = "devices"

    id: Mapped[str] = mapped_column(String(128), primary_key=True)
    host: Mapped[str] = mapped_column(String(64), index=True)
    key: Mapped[str] = mapped_column(String(32))
    kind: Mapped[str] = mapped_column(String(8))
    index: Mapped[int] = mapped_column(Integer)
    name: Mapped[str]
    total_bytes: Mapped[int]
    free_bytes: Mapped[int]
    bfloat16: Mapped[bool]
    utilisation: Mapped[int | None] = mapped_column(Integer)
    temperature: Mapped[int | None] = mapped_column(Integer)
    processes: Mapped[list[Any]]
    problem: Mapped[str | None]  # why nothing starts on it
    problem_since: Mapped[datetime.datetime | None]
    baseline_bytes: Mapped[int | None]  # used by others when our last job was given it; None: it is clean
    seen_at: Mapped[datetime.datetime]
    # Of GPUs only:
    uuid: Mapped[str | None] = mapped_column(String(96))
    driver: Mapped[str | None] = mapped_column(String(64))
    capability: Mapped[str | None] = mapped_column(String(8))  # compute capability, "8.6"
    health: Mapped[dict[str, Any] | None]  # errors and throttling, as the driver reports them
    qualification: Mapped[dict[str, Any] | None]  # the result of the last one
    qualify_since: Mapped[datetime.datetime | None]  # a new qualification is due since then; None: none is


class DevicePast(Base):
    """A device as it was at a moment of the last hours."""

    __tablename__ = "device_history"
    __table_args__ = ({"sqlite_with_rowid": False},)

    device_id: Mapped[str] = mapped_column(String(128), primary_key=True)
    at: Mapped[datetime.datetime] = mapped_column(primary_key=True, index=True)
    total_bytes: Mapped[int]
    ours_bytes: Mapped[int]
    others_bytes: Mapped[int]
    utilisation: Mapped[int | None] = mapped_column(Integer)
    temperature: Mapped[int | None] = mapped_column(Integer)
    job_id: Mapped[int | None]


class Lease(Base):
    """The right to run a job on a device. Both are unique: double booking is a constraint error."""

    __tablename__ = "leases"

    device_id: Mapped[str] = mapped_column(ForeignKey("devices.id"), primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), unique=True)
    attempt: Mapped[int] = mapped_column(Integer)
    token: Mapped[str] = mapped_column(String(64))
    host: Mapped[str] = mapped_column(String(64), index=True)
    boot_id: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime.datetime]
    expires_at: Mapped[datetime.datetime]


class Event(Base):
    __tablename__ = "events"
    __table_args__ = (Index("ix_events_job_id_id", "job_id", "id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"))
    attempt: Mapped[int | None] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(String(32))
    at: Mapped[datetime.datetime]
    data: Mapped[dict[str, Any]]


class Metric(Base):
    """One value of one series. Ordered by its key, so a series is one range and a bucket of it a smaller one."""

    __tablename__ = "metrics"
    __table_args__ = ({"sqlite_with_rowid": False},)

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(96), primary_key=True)
    attempt: Mapped[int] = mapped_column(Integer, primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[float]
    at: Mapped[datetime.datetime]


class MetricBlock(Base):
    """The values of a series in `width` steps: from `number * width` on. Written with them, so that a long series can
    be shown without being read."""

    __tablename__ = "metric_blocks"
    __table_args__ = ({"sqlite_with_rowid": False},)

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    width: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(96), primary_key=True)
    attempt: Mapped[int] = mapped_column(Integer, primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    first_step: Mapped[int]
    last_step: Mapped[int]
    count: Mapped[int] = mapped_column(Integer)
    total: Mapped[float]
    low: Mapped[float]
    high: Mapped[float]


class Measurement(Base):
    """Memory that an attempt really needed. Not complete: it ran out, and the last peak is a lower bound. Brief: it
    is training's peak of few steps. Superseded: of the same plan there are enough newer ones."""

    __tablename__ = "measurements"
    __table_args__ = (
        Index(
            "ix_measurements_in_use",
            "model",
            "id",
            postgresql_where=text("superseded_at IS NULL"),
            sqlite_where=text("superseded_at IS NULL"),
        ),
        Index("ix_measurements_model_host_peak_bytes", "model", "host_peak_bytes"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"))
    attempt: Mapped[int] = mapped_column(Integer)
    model: Mapped[str] = mapped_column(String(64))
    precision: Mapped[str] = mapped_column(String(16))
    micro_batch: Mapped[int] = mapped_column(Integer)
    accumulation: Mapped[int] = mapped_column(Integer)
    height: Mapped[int] = mapped_column(Integer)
    width: Mapped[int] = mapped_column(Integer)
    proposals: Mapped[int | None] = mapped_column(Integer)
    second_stage_batch: Mapped[int | None] = mapped_column(Integer)
    device_kind: Mapped[str] = mapped_column(String(8))
    software: Mapped[str] = mapped_column(String(64))
    hardware: Mapped[str | None] = mapped_column(String(64))  # kind of GPU and its libraries; None: unknown, or a slot
    peak_bytes: Mapped[int]
    evaluation_peak_bytes: Mapped[int | None]
    host_peak_bytes: Mapped[int | None]
    complete: Mapped[bool]
    brief: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    created_at: Mapped[datetime.datetime]
    superseded_at: Mapped[datetime.datetime | None]


class IdempotencyKey(Base):
    __tablename__ = "idempotency_keys"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(128), primary_key=True)
    request_digest: Mapped[str] = mapped_column(String(64))
    status: Mapped[int] = mapped_column(Integer)
    location: Mapped[str | None]
    body: Mapped[dict[str, Any]]
    created_at: Mapped[datetime.datetime] = mapped_column(index=True)


class Webhook(Base):
    """Where a user wants to be told. The secret signs what is sent, so it cannot be kept as a digest."""

    __tablename__ = "webhooks"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    url: Mapped[str]
    kinds: Mapped[list[Any]]
    secret: Mapped[str] = mapped_column(String(64))
    version: Mapped[int] = mapped_column(Integer, default=1)
    created_at: Mapped[datetime.datetime]
    failing_since: Mapped[datetime.datetime | None]
    disabled_at: Mapped[datetime.datetime | None]
    disabled_reason: Mapped[str | None]


class Delivery(Base):
    """A message to a webhook. `next_at`: when it is tried next; None: never again."""

    __tablename__ = "deliveries"
    __table_args__ = (Index("ix_deliveries_webhook_id_id", "webhook_id", "id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    webhook_id: Mapped[int] = mapped_column(ForeignKey("webhooks.id"))
    message_id: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(32))
    job_id: Mapped[int | None]
    body: Mapped[str]
    created_at: Mapped[datetime.datetime] = mapped_column(index=True)
    tries: Mapped[int] = mapped_column(Integer, default=0)
    next_at: Mapped[datetime.datetime | None] = mapped_column(index=True)
    sent_at: Mapped[datetime.datetime | None]
    status: Mapped[int | None] = mapped_column(Integer)  # the answer's
    error: Mapped[str | None]


class AuditEntry(Base):
    """`kind` is the noun of the action, by which people look for it."""

    __tablename__ = "audit"
    __table_args__ = (Index("ix_audit_kind_id", "kind", "id"), Index("ix_audit_user_id_id", "user_id", "id"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    at: Mapped[datetime.datetime]
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    kind: Mapped[str] = mapped_column(String(64), server_default=text("''"))
    action: Mapped[str] = mapped_column(String(64))
    target: Mapped[str] = mapped_column(String(128))
    data: Mapped[dict[str, Any]]
