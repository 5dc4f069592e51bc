"""Numbers about the whole service: SQL. Each is one query, by an index."""

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from services.domain.diagnosis.case import Diagnosis
from services.domain.jobs.states import State
from services.store.models import Attempt, Job

__all__ = ["attempts_ended", "jobs_ended", "oldest_queued", "predictions"]


def oldest_queued(session: Session) -> datetime.datetime | None:
    return session.scalar(select(func.min(Job.queued_at)).where(Job.state == State.QUEUED))


def jobs_ended(session: Session, after: datetime.datetime | None, until: datetime.datetime | None) -> Counter[str]:
    """By state, of those that ended after one moment and not after another; None: at any time."""
    return _counted(session, Job.state, Job.finished_at, after, until)


def attempts_ended(session: Session, after: datetime.datetime | None, until: datetime.datetime | None) -> Counter[str]:
    """By diagnosis, as `jobs_ended`."""
    return _counted(session, Attempt.diagnosis, Attempt.ended_at, after, until)


def _counted(
    session: Session,
    kind: InstrumentedAttribute[Any],
    at: InstrumentedAttribute[Any],
    after: datetime.datetime | None,
    until: datetime.datetime | None,
) -> Counter[str]:
    known = func.coalesce(kind, "")  # by the column itself, SQLite would read all rows in the order of another index
    query = select(known, func.count()).where(at.is_not(None)).group_by(known)
    if after is not None:
        query = query.where(at > after)
    if until is not None:
        query = query.where(at <= until)
    return Counter({name: count for name, count in session.execute(query) if name})


def predictions(session: Session, count: int) -> Sequence[tuple[float | None, int | None, float | None]]:
    """Predicted peak and those measured in training and evaluation, of those among the newest `count` attempts that
    made steps and completed."""
    newest = (
        select(Attempt.job_id, Attempt.number)
        .where(Attempt.ended_at.is_not(None))
        .order_by(Attempt.ended_at.desc())
        .limit(count)
        .subquery()
    )
    # By the database: the rest of both is long.
    predicted = Attempt.planned["prediction"]["bytes"].as_float()
    evaluation = Attempt.outcome["allocator"]["evaluation_peak"].as_float()
    rows = session.execute(
        select(predicted, Attempt.peak_bytes, evaluation)
        .join(newest, (newest.c.job_id == Attempt.job_id) & (newest.c.number == Attempt.number))
        .where(Attempt.diagnosis == Diagnosis.COMPLETED, Attempt.step_s.is_not(None))
    )
    return [(guess, trained, evaluated) for guess, trained, evaluated in rows]
