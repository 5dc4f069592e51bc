"""What lists and pages show: SQL. However many rows a page has, each function is one query."""

import datetime
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Subquery, func, select, union_all
from sqlalchemy.orm import Session

from services.domain.diagnosis.case import Diagnosis
from services.domain.jobs.states import ACTIVE, State
from services.store import name_search
from services.store.models import Attempt, Device, Job, Lease, Metric, User

__all__ = [
    "Holding",
    "Need",
    "Opening",
    "Running",
    "Setback",
    "Tries",
    "by_numbers",
    "count_active",
    "devices",
    "needs",
    "openings",
    "owners_of",
    "page",
    "running",
    "tries",
    "waiting_for",
    "waiting_of",
]

_NO_SETBACK = (Diagnosis.COMPLETED, Diagnosis.INTERRUPTED)
_NEAR = 1000  # jobs whose names are read first


def page(
    session: Session,
    *,
    limit: int,
    before: int | None = None,
    states: Collection[str] = (),
    owner: str | None = None,
    text: str | None = None,
    only_of: int | None = None,
) -> Sequence[Job]:
    """The newest jobs, older than the number `before`; `text` is a part of their name in any case.

    `only_of`: those of this user and of nobody else.
    """
    having = []
    if only_of is not None:
        having.append(Job.owner_id == only_of)
    if owner is not None:
        having.append(Job.owner_id == select(User.id).where(User.name == owner).scalar_subquery())
    if before is not None:
        having.append(Job.id < before)
    if text:
        wanted = Job.id.in_(_with_text(session, having, states, text, limit))
    else:
        wanted = Job.id.in_(select(_newest(having, states, limit).c.id))
    return session.scalars(select(Job).where(wanted).order_by(Job.id.desc())).all()


def _newest(having: Sequence[ColumnElement[bool]], states: Collection[str], count: int) -> Subquery:
    """Numbers and names. Of each state for itself: an index has them in their order, however rare the state is."""
    jobs = select(Job.id, Job.name).where(*having)
    if states:
        each = [jobs.where(Job.state == state).order_by(Job.id.desc()).limit(count).subquery() for state in set(states)]
        found = union_all(*(select(one.c.id, one.c.name) for one in each)).subquery()
        return select(found.c.id, found.c.name).order_by(found.c.id.desc()).limit(count).subquery()
    return jobs.order_by(Job.id.desc()).limit(count).subquery()


def _with_text(
    session: Session, having: Sequence[ColumnElement[bool]], states: Collection[str], text: str, limit: int
) -> list[int]:
    """A part that many names have is found among the newest jobs. One that few have is looked up by its letters: how
    many jobs there are matters to neither."""
    near = _newest(having, states, _NEAR)
    in_order = select(near.c.id).where(near.c.name.icontains(text, autoescape=True)).order_by(near.c.id.desc())
    found = list(session.scalars(in_order.limit(limit)))
    if len(found) == limit:
        return found
    count, lowest = session.execute(select(func.count(), func.min(near.c.id))).one()
    if count < _NEAR:
        return found
    rest = select(Job.id).where(*having, Job.id < lowest, name_search.has(session, text)).order_by(Job.id.desc())
    if states:
        rest = rest.where(Job.state.in_(states))
    return found + list(session.scalars(rest.limit(limit - len(found))))


def by_numbers(session: Session, job_ids: Iterable[int]) -> Sequence[Job]:
    return session.scalars(select(Job).where(Job.id.in_(list(job_ids))).order_by(Job.id)).all()


def waiting_of(session: Session, owner_ids: Iterable[int], limit: int) -> Sequence[int]:
    """The numbers of the jobs of these owners that wait."""
    waiting = select(Job.id).where(Job.owner_id.in_(list(owner_ids)), Job.state == State.QUEUED)
    return session.scalars(waiting.order_by(Job.id).limit(limit)).all()


def waiting_for(session: Session, limit: int) -> dict[int, dict[str, Any] | None]:
    """What the first queued jobs wait for."""
    waiting = select(Job.id, Job.waiting_for).where(Job.state == State.QUEUED).order_by(Job.id).limit(limit)
    return dict(session.execute(waiting).all())


def owners_of(session: Session, job_ids: Iterable[int]) -> dict[int, int]:
    """The id of each job's owner."""
    wanted = list(job_ids)
    if not wanted:
        return {}
    return dict(session.execute(select(Job.id, Job.owner_id).where(Job.id.in_(wanted))).all())


def count_active(session: Session) -> dict[str, int]:
    """How many jobs wait, run or are paused: however many have ended, that costs nothing."""
    rows = session.execute(select(Job.state, func.count()).where(Job.state.in_(ACTIVE)).group_by(Job.state))
    return {**dict.fromkeys(map(str, sorted(ACTIVE)), 0), **dict(rows.all())}


@dataclass(frozen=True)
class Setback:
    """An attempt that did not end well, and what was done about it."""

    attempt: int
    diagnosis: str
    followed_by: str | None


@dataclass(frozen=True)
class Tries:
    """What a list shows of a job's attempts. `step_s`: what a step takes in the newest, where that is known."""

    step_s: float | None
    setback: Setback | None  # the last
    device_id: str  # of the newest
    device_name: str


def tries(session: Session, job_ids: Iterable[int]) -> dict[int, Tries]:
    """Of each of these jobs that has been tried."""
    shown = (Attempt.job_id, Attempt.number, Attempt.step_s, Attempt.diagnosis, Attempt.followed_by)
    rows = session.execute(
        select(*shown, Attempt.device_id, Attempt.device_name)
        .where(Attempt.job_id.in_(list(job_ids)))
        .order_by(Attempt.job_id, Attempt.number)
    )
    found: dict[int, Tries] = {}
    for job_id, number, step_s, diagnosis, followed_by, device_id, device_name in rows:
        setback = found[job_id].setback if job_id in found else None
        if diagnosis is not None and diagnosis not in _NO_SETBACK:
            setback = Setback(number, diagnosis, followed_by)
        found[job_id] = Tries(step_s, setback, device_id, device_name)
    return found


@dataclass(frozen=True)
class Holding:
    """What a device is given to."""

    attempt: Attempt
    name: str
    owner_id: int
    owner: str
    steps: int
    sampled_bytes: float | None  # of the device's memory, as its trainer said last


def devices(session: Session) -> Sequence[tuple[Device, Holding | None]]:
    """Each with the attempt that has it."""
    sampled = (
        select(Metric.value)
        .where(Metric.job_id == Lease.job_id, Metric.name == "device_memory", Metric.attempt == Lease.attempt)
        .order_by(Metric.step.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = (
        select(Device, Attempt, Job.name, Job.owner_id, User.name, Job.steps, sampled)
        .outerjoin(Lease, Lease.device_id == Device.id)
        .outerjoin(Attempt, (Attempt.job_id == Lease.job_id) & (Attempt.number == Lease.attempt))
        .outerjoin(Job, Job.id == Attempt.job_id)
        .outerjoin(User, User.id == Job.owner_id)
        .order_by(Device.host, Device.kind, Device.index)
    )
    return [
        (device, None if attempt is None else Holding(attempt, *of_job))
        for device, attempt, *of_job in session.execute(query)
    ]


@dataclass(frozen=True)
class Running:
    """How far a job has come in the attempt that runs."""

    job_id: int
    owner_id: int
    attempt: int
    step: int
    steps: int
    step_s: float | None
    phase: str
    saved_step: int | None
    peak_bytes: int | None
    input_wait: float | None
    device_id: str
    host_cores: int | None
    host_devices: int | None


def running(session: Session) -> Sequence[Running]:
    columns: list[Any] = [Job.id, Job.owner_id, Job.attempts, Job.step, Job.steps, Attempt.step_s, Attempt.phase]
    columns += [Attempt.saved_step, Attempt.peak_bytes]
    columns += [Attempt.input_wait, Attempt.device_id, Attempt.host_cores, Attempt.host_devices]
    rows = session.execute(
        select(*columns)
        .join(Attempt, (Attempt.job_id == Job.id) & (Attempt.number == Job.attempts))
        .where(Job.state == State.RUNNING)
        .order_by(Job.id)
    )
    return [Running(*row) for row in rows]


@dataclass(frozen=True)
class Opening:
    """A device that jobs can start on. `step`, `steps`, `step_s`: of the job that it runs."""

    device: Device
    is_leased: bool
    step: int
    steps: int
    step_s: float | None


def openings(session: Session, since: datetime.datetime) -> Sequence[Opening]:
    """The devices without a problem that were reported after `since`."""
    rows = session.execute(
        select(Device, Lease.job_id.is_not(None), Attempt.step, Job.steps, Attempt.step_s)
        .outerjoin(Lease, Lease.device_id == Device.id)
        .outerjoin(Attempt, (Attempt.job_id == Lease.job_id) & (Attempt.number == Lease.attempt))
        .outerjoin(Job, Job.id == Lease.job_id)
        .where(Device.seen_at >= since, Device.problem.is_(None))
    )
    return [Opening(device, leased, step or 0, steps or 0, step_s) for device, leased, step, steps, step_s in rows]


@dataclass(frozen=True)
class Need:
    """What a queued job needs of a device. `step_s`: of its last attempt. `waits_for`: the kind, None: its turn."""

    job_id: int
    min_bytes: int
    starts_as_asked: bool
    predicted_bytes: float | None
    planned_for_bytes: float | None
    waits_for: str | None
    step: int
    steps: int
    step_s: float | None


def needs(session: Session, job_ids: Iterable[int]) -> Sequence[Need]:
    """Only what is needed of the long rows of these jobs."""
    rows = session.execute(
        select(
            Job.id,
            Job.min_memory_bytes,
            Job.attempts,
            Job.policy["plan_ahead"].as_boolean(),
            Job.planned[("prediction", "high_bytes")].as_float(),
            Job.planned["capacity_bytes"].as_float(),
            Job.waiting_for["kind"].as_string(),
            Job.step,
            Job.steps,
            Attempt.step_s,
        )
        .outerjoin(Attempt, (Attempt.job_id == Job.id) & (Attempt.number == Job.attempts))
        .where(Job.id.in_(list(job_ids)))
    )
    return [
        Need(job_id, least, not attempts and not plan_ahead, *rest)
        for job_id, least, attempts, plan_ahead, *rest in rows
    ]
