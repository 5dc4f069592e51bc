"""SQL for jobs. A caller that changes a job must `lock` its row first, so that concurrent changes are not lost."""

import datetime
from collections.abc import Sequence

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from services.domain.jobs.states import ACTIVE, State
from services.store.models import Job

__all__ = ["add", "any_claimable", "count_of", "get", "lock", "lock_claimable"]


def add(session: Session, job: Job) -> Job:
    session.add(job)
    session.flush()  # sets its id
    return job


def get(session: Session, job_id: int) -> Job | None:
    return session.get(Job, job_id)


def lock(session: Session, job_id: int) -> Job | None:
    """Read the job again, and lock the row until the end of this transaction."""
    return session.scalar(
        select(Job).where(Job.id == job_id).with_for_update().execution_options(populate_existing=True)
    )


def any_claimable(session: Session, now: datetime.datetime) -> bool:
    return session.scalar(_claimable(now).with_only_columns(Job.id).limit(1)) is not None


def lock_claimable(session: Session, job_ids: Sequence[int], now: datetime.datetime) -> Sequence[Job]:
    """Those of these jobs that may still start now, in the order of `job_ids`.

    Skips rows that another worker has locked (PostgreSQL only; SQLite has one writer at a time).
    """
    found = session.scalars(_claimable(now).where(Job.id.in_(job_ids)).with_for_update(skip_locked=True))
    by_id = {job.id: job for job in found}
    return [by_id[job_id] for job_id in job_ids if job_id in by_id]


def _claimable(now: datetime.datetime) -> Select[Job]:
    return select(Job).where(Job.state == State.QUEUED, or_(Job.not_before.is_(None), Job.not_before <= now))


def count_of(session: Session, owner_id: int) -> dict[str, int]:
    """The number of the user's unfinished jobs, by state. Lock the user before counting in order to add a job."""
    rows = session.execute(
        select(Job.state, func.count()).where(Job.owner_id == owner_id, Job.state.in_(ACTIVE)).group_by(Job.state)
    )
    return dict(rows.all())
