"""SQL for numbers about the whole service. Each is one query that uses an index."""

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
    """The number of jobs by state that ended after `after` and not after `until`; None: no bound."""
    return _counted(session, Job.state, Job.finished_at, after, until)


def attempts_ended(session: Session, after: datetime.datetime | None, until: datetime.datetime | None) -> Counter[str]:
    """The number of attempts by diagnosis, as `jobs_ended`."""
    return _counted(session, Attempt.diagnosis, Attempt.ended_at, after, until)


def _counted(
    session: Session,
    kind: InstrumentedAttribute[Any],
    at: InstrumentedAttribute[Any],
    after: datetime.datetime | None,
    until: datetime.datetime | None,
) -> Counter[str]:
    # Grouped by the plain column, SQLite would read all rows in the order of another index.
    group = func.coalesce(kind, "")
    query = select(group, func.count()).where(at.is_not(None)).group_by(group)
    if after is not None:
        query = query.where(at > after)
    if until is not None:
        query = query.where(at <= until)
    return Counter({name: count for name, count in session.execute(query) if name})


def predictions(session: Session, count: int) -> Sequence[tuple[float | None, int | None, float | None]]:
    """The predicted peak and the peaks of training and evaluation, for completed attempts with at least one step.

    Considers the newest `count` attempts.
    """
    newest = (
        select(Attempt.job_id, Attempt.number)
        .where(Attempt.ended_at.is_not(None))
        .order_by(Attempt.ended_at.desc())
        .limit(count)
        .subquery()
    )
    # Extracted by the database: both JSON values are long.
    predicted = Attempt.planned["prediction"]["bytes"].as_float()
    evaluation = Attempt.outcome["allocator"]["evaluation_peak"].as_float()
    rows = session.execute(
        select(predicted, Attempt.peak_bytes, evaluation)
        .join(newest, (newest.c.job_id == Attempt.job_id) & (newest.c.number == Attempt.number))
        .where(Attempt.diagnosis == Diagnosis.COMPLETED, Attempt.step_s.is_not(None))
    )
    return [(guess, trained, evaluated) for guess, trained, evaluated in rows]
