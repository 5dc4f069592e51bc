"""What lists and pages show: SQL. However many rows a page has, each function is one query."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from services.domain.states import ACTIVE, State
from services.store.models import Attempt, Device, Job, Lease, User

__all__ = [
    "Running",
    "by_numbers",
    "count_active",
    "count_by_state",
    "devices",
    "devices_with_owners",
    "next_in_queue",
    "owners_of",
    "page",
    "queue_positions",
    "running",
    "step_times",
    "waiting",
]

_IN_ORDER = (Job.priority.desc(), Job.id)  # as they will be claimed


def page(
    session: Session,
    *,
    limit: int,
    before: int | None = None,
    states: Collection[str] = (),
    owner: str | None = None,
    text: str | None = None,
) -> Sequence[Job]:
    """The newest jobs, older than the number `before`; `text` is a part of their name in any case."""
    query = select(Job).order_by(Job.id.desc()).limit(limit)
    if before is not None:
        query = query.where(Job.id < before)
    if states:
        query = query.where(Job.state.in_(states))
    if owner is not None:
        query = query.where(Job.owner_id == select(User.id).where(User.name == owner).scalar_subquery())
    if text:
        query = query.where(Job.name.icontains(text, autoescape=True))
    return session.scalars(query).all()


def queue_positions(session: Session, job_ids: Iterable[int]) -> dict[int, int]:
    """1 is the next; only of those that are queued."""
    ranked = (
        select(Job.id, func.row_number().over(order_by=_IN_ORDER).label("position"))
        .where(Job.state == State.QUEUED)
        .subquery()
    )
    rows = session.execute(select(ranked.c.id, ranked.c.position).where(ranked.c.id.in_(list(job_ids))))
    return dict(rows.all())


def next_in_queue(session: Session, limit: int) -> Sequence[Job]:
    # Numbers are sorted, not rows: a job carries its configuration.
    first = select(Job.id).where(Job.state == State.QUEUED).order_by(*_IN_ORDER).limit(limit).subquery()
    return session.scalars(select(Job).join(first, first.c.id == Job.id).order_by(*_IN_ORDER)).all()


def waiting(session: Session, limit: int) -> Sequence[int]:
    """The numbers of the jobs in the queue, the next one first."""
    return session.scalars(select(Job.id).where(Job.state == State.QUEUED).order_by(*_IN_ORDER).limit(limit)).all()


def by_numbers(session: Session, job_ids: Iterable[int]) -> Sequence[Job]:
    return session.scalars(select(Job).where(Job.id.in_(list(job_ids))).order_by(Job.id)).all()


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


def count_by_state(session: Session) -> dict[str, int]:
    rows = session.execute(select(Job.state, func.count()).group_by(Job.state))
    return dict(rows.all())


def step_times(session: Session, job_ids: Iterable[int]) -> dict[int, float]:
    """What a step takes in the newest attempt of each job, where that is known."""
    rows = session.execute(
        select(Attempt.job_id, Attempt.step_s)
        .join(Job, (Job.id == Attempt.job_id) & (Job.attempts == Attempt.number))
        .where(Attempt.job_id.in_(list(job_ids)), Attempt.step_s.is_not(None))
    )
    return {job_id: step_s for job_id, step_s in rows if step_s is not None}


def devices(session: Session) -> Sequence[tuple[Device, Attempt | None]]:
    """Each with the attempt that has it."""
    query = (
        select(Device, Attempt)
        .outerjoin(Lease, Lease.device_id == Device.id)
        .outerjoin(Attempt, (Attempt.job_id == Lease.job_id) & (Attempt.number == Lease.attempt))
        .order_by(Device.host, Device.kind, Device.index)
    )
    return [(device, attempt) for device, attempt in session.execute(query)]


def devices_with_owners(session: Session) -> Sequence[tuple[Device, Attempt | None, int | None]]:
    """As `devices`, with the id of the user whose job it is."""
    query = (
        select(Device, Attempt, Job.owner_id)
        .outerjoin(Lease, Lease.device_id == Device.id)
        .outerjoin(Attempt, (Attempt.job_id == Lease.job_id) & (Attempt.number == Lease.attempt))
        .outerjoin(Job, Job.id == Lease.job_id)
        .order_by(Device.host, Device.kind, Device.index)
    )
    return [(device, attempt, owner_id) for device, attempt, owner_id in session.execute(query)]


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


def running(session: Session) -> Sequence[Running]:
    rows = session.execute(
        select(
            Job.id,
            Job.owner_id,
            Job.attempts,
            Job.step,
            Job.steps,
            Attempt.step_s,
            Attempt.phase,
            Attempt.saved_step,
            Attempt.peak_bytes,
        )
        .join(Attempt, (Attempt.job_id == Job.id) & (Attempt.number == Job.attempts))
        .where(Job.state == State.RUNNING)
        .order_by(Job.id)
    )
    return [Running(*row) for row in rows]
