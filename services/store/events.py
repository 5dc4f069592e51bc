"""The events of jobs, numbered in the order in which they were written: SQL.

Whoever adds one has the job's row locked, or has just made it. PostgreSQL commits in another order than it numbers: a
number may be missing that comes a moment later. `services.events.tail` is for those who must miss none.
"""

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Text, cast, func, insert, select
from sqlalchemy.orm import Session

from services.store.models import Event, Job

__all__ = ["add", "add_many", "after", "is_over", "newest", "numbers_can_come_late", "of_job_after", "ticket"]


def add(
    session: Session, job_id: int, kind: str, at: datetime.datetime, attempt: int | None = None, **data: Any
) -> None:
    session.add(Event(job_id=job_id, attempt=attempt, kind=kind, at=at, data=data))


def add_many(session: Session, rows: Iterable[dict[str, Any]]) -> None:
    rows = list(rows)
    if rows:
        session.execute(insert(Event), rows)


def newest(session: Session, count: int = 1) -> list[int]:
    """The highest numbers, the highest first."""
    return list(session.scalars(select(Event.id).order_by(Event.id.desc()).limit(count)))


def after(session: Session, number: int, limit: int, until: int | None = None) -> list[tuple[Event, int]]:
    """Events of all jobs after `number`, oldest first, each with the id of its job's owner."""
    query = select(Event, Job.owner_id).join(Job, Job.id == Event.job_id).where(Event.id > number)
    if until is not None:
        query = query.where(Event.id <= until)
    return [(event, owner_id) for event, owner_id in session.execute(query.order_by(Event.id).limit(limit))]


def of_job_after(session: Session, job_id: int, number: int, limit: int, until: int | None = None) -> Sequence[Event]:
    query = select(Event).where(Event.job_id == job_id, Event.id > number)
    if until is not None:
        query = query.where(Event.id <= until)
    return session.scalars(query.order_by(Event.id).limit(limit)).all()


def numbers_can_come_late(session: Session) -> bool:
    """On SQLite they cannot: one transaction writes at a time, and one that is undone gives its numbers back."""
    return session.get_bind().dialect.name == "postgresql"


def ticket(session: Session) -> int:
    """PostgreSQL: higher than that of every transaction that has written anything so far."""
    return session.scalar(select(_number(func.pg_current_xact_id()))) or 0


def is_over(session: Session, drawn: int) -> bool:
    """PostgreSQL: every transaction with a lower ticket than `drawn` has ended, so a query from now on sees it all."""
    oldest = session.scalar(select(_number(func.pg_snapshot_xmin(func.pg_current_snapshot()))))
    return (oldest or 0) > drawn


def _number(transaction: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(cast(transaction, Text), BigInteger)
