"""SQL for the events of jobs, numbered in the order in which they are written.

A caller that adds an event must have locked or created the job's row. PostgreSQL does not commit in the order of the
numbers, so a lower number may appear later. Readers that must not miss any use `services.events.tail`.
"""

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Text, cast, func, insert, select
from sqlalchemy.orm import Session

from services.store.dialect import is_postgresql
from services.store.models import Event, Job

__all__ = [
    "add",
    "add_many",
    "after",
    "have_ended_before",
    "newest",
    "newest_of_kind",
    "numbers_can_come_late",
    "of_job_after",
    "transaction_id",
]


def add(
    session: Session, job_id: int, kind: str, at: datetime.datetime, attempt: int | None = None, **data: Any
) -> None:
    session.add(Event(job_id=job_id, attempt=attempt, kind=kind, at=at, data=data))


def add_many(session: Session, rows: Iterable[dict[str, Any]]) -> None:
    rows = list(rows)
    if rows:
        session.execute(insert(Event), rows)


def newest(session: Session, count: int = 1) -> list[int]:
    """The highest numbers, highest first."""
    return list(session.scalars(select(Event.id).order_by(Event.id.desc()).limit(count)))


def newest_of_kind(session: Session, job_id: int, kind: str) -> Event | None:
    mine = (Event.job_id == job_id, Event.kind == kind)
    return session.scalar(select(Event).where(*mine).order_by(Event.id.desc()).limit(1))


def after(session: Session, number: int, limit: int, until: int | None = None) -> list[tuple[Event, int]]:
    """Events of all jobs after `number`, oldest first, each with the id of its job's owner."""
    query = select(Event, Job.owner_id).join(Job, Job.id == Event.job_id).where(Event.id > number)
    if until is not None:
        query = query.where(Event.id <= until)
    return [(event, owner_id) for event, owner_id in session.execute(query.order_by(Event.id).limit(limit))]


def of_job_after(session: Session, job_id: int, number: int, limit: int, until: int | None) -> Sequence[Event]:
    query = select(Event).where(Event.job_id == job_id, Event.id > number)
    if until is not None:
        query = query.where(Event.id <= until)
    return session.scalars(query.order_by(Event.id).limit(limit)).all()


def numbers_can_come_late(session: Session) -> bool:
    """SQLite has one writer at a time, and a rollback frees its numbers, so there they cannot."""
    return is_postgresql(session)


def transaction_id(session: Session) -> int:
    """PostgreSQL: a new id, higher than that of every transaction that has written anything so far."""
    return session.scalar(select(_number(func.pg_current_xact_id()))) or 0


def have_ended_before(session: Session, transaction: int) -> bool:
    """PostgreSQL: have all transactions with lower ids ended? Then a query from now on sees their events."""
    oldest = session.scalar(select(_number(func.pg_snapshot_xmin(func.pg_current_snapshot()))))
    return (oldest or 0) > transaction


def _number(transaction: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(cast(transaction, Text), BigInteger)
