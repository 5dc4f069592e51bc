"""Numbers about the whole service: SQL. Each is one query, by an index."""

import datetime
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from services.domain.states import State
from services.store.models import Attempt, Job, Measurement

__all__ = ["attempts_by_diagnosis", "oldest_queued", "predictions"]


def oldest_queued(session: Session) -> datetime.datetime | None:
    return session.scalar(select(func.min(Job.queued_at)).where(Job.state == State.QUEUED))


def attempts_by_diagnosis(session: Session) -> dict[str, int]:
    """Of those that have ended."""
    rows = session.execute(
        select(Attempt.diagnosis, func.count()).where(Attempt.diagnosis.is_not(None)).group_by(Attempt.diagnosis)
    )
    return {diagnosis: count for diagnosis, count in rows if diagnosis is not None}


def predictions(session: Session, count: int) -> Sequence[tuple[int, int]]:
    """Predicted and measured peak in bytes, of the newest attempts that measured one and completed."""
    newest = (
        select(Measurement.job_id, Measurement.attempt, Measurement.peak_bytes)
        .where(Measurement.complete)
        .order_by(Measurement.id.desc())
        .limit(count)
        .subquery()
    )
    rows = session.execute(
        select(Attempt.planned, newest.c.peak_bytes).join(
            newest, (newest.c.job_id == Attempt.job_id) & (newest.c.attempt == Attempt.number)
        )
    )
    found = []
    for planned, measured in rows:
        prediction = (planned or {}).get("prediction") or {}
        if prediction.get("bytes") and measured:
            found.append((prediction["bytes"], measured))
    return found
