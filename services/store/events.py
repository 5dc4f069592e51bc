"""The events of jobs, numbered in the order in which they were written: SQL."""

import datetime
from collections.abc import Iterable
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from services.store.models import Event

__all__ = ["add", "add_many"]


def add(
    session: Session, job_id: int, kind: str, at: datetime.datetime, attempt: int | None = None, **data: Any
) -> None:
    session.add(Event(job_id=job_id, attempt=attempt, kind=kind, at=at, data=data))


def add_many(session: Session, rows: Iterable[dict[str, Any]]) -> None:
    rows = list(rows)
    if rows:
        session.execute(insert(Event), rows)
