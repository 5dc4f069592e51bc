"""Attempts: SQL."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from services.store.models import Attempt

__all__ = ["add", "get", "of_job"]


def add(session: Session, attempt: Attempt) -> Attempt:
    session.add(attempt)
    session.flush()
    return attempt


def get(session: Session, job_id: int, number: int) -> Attempt | None:
    return session.get(Attempt, (job_id, number))


def of_job(session: Session, job_id: int) -> Sequence[Attempt]:
    """All attempts of the job, the first one first. The policy limits them to a few dozen."""
    return session.scalars(select(Attempt).where(Attempt.job_id == job_id).order_by(Attempt.number)).all()
