"""Jobs: SQL. Whoever changes one holds its row (`lock`), so that no two changes are made from the same reading."""

import datetime
from collections.abc import Sequence

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from services.domain.states import ACTIVE, State
from services.store.models import Job, User

__all__ = ["add", "any_claimable", "claimable", "count_active", "get", "lock"]


def add(session: Session, job: Job) -> Job:
    session.add(job)
    session.flush()  # gives it its number
    return job


def get(session: Session, job_id: int) -> Job | None:
    return session.get(Job, job_id)


def lock(session: Session, job_id: int) -> Job | None:
    """The job as it is now, and nobody else's until the end of this transaction."""
    return session.scalar(
        select(Job).where(Job.id == job_id).with_for_update().execution_options(populate_existing=True)
    )


def any_claimable(session: Session, now: datetime.datetime) -> bool:
    return session.scalar(_claimable(now).with_only_columns(Job.id).limit(1)) is not None


def claimable(session: Session, now: datetime.datetime, limit: int, after: Job | None = None) -> Sequence[Job]:
    """Queued jobs that may start now, in their order: priority, then first come, first served; those behind `after`.

    Rows that another worker is deciding about are left to it (PostgreSQL; SQLite has one writer at a time).
    """
    query = _claimable(now).order_by(Job.priority.desc(), Job.id).limit(limit).with_for_update(skip_locked=True)
    if after is not None:
        behind = and_(Job.priority == after.priority, Job.id > after.id)
        query = query.where(or_(Job.priority < after.priority, behind))
    return session.scalars(query).all()


def _claimable(now: datetime.datetime) -> Select[Job]:
    return select(Job).where(Job.state == State.QUEUED, or_(Job.not_before.is_(None), Job.not_before <= now))


def count_active(session: Session, owner_id: int) -> int:
    """How many jobs of this user are not finished. Whoever counts for the same user waits for this transaction."""
    session.execute(select(User.id).where(User.id == owner_id).with_for_update(key_share=True))
    return (
        session.scalar(select(func.count()).select_from(Job).where(Job.owner_id == owner_id, Job.state.in_(ACTIVE)))
        or 0
    )
