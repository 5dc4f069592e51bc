"""What lists and pages show: SQL. However many rows a page has, each function is one query."""

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from services.domain.states import State
from services.store.models import Attempt, Device, Event, Job, Lease, User

__all__ = ["count_by_state", "devices", "events_after", "next_in_queue", "page", "queue_positions", "step_times"]

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


def events_after(session: Session, job_id: int, after: int, limit: int) -> Sequence[Event]:
    return session.scalars(
        select(Event).where(Event.job_id == job_id, Event.id > after).order_by(Event.id).limit(limit)
    ).all()
