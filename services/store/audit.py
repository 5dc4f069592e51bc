"""Who did what: SQL. Entries are added, never changed."""

import datetime
from typing import Any

from sqlalchemy.orm import Session

from services.store.models import AuditEntry

__all__ = ["add"]


def add(session: Session, user_id: int | None, action: str, target: str, at: datetime.datetime, **data: Any) -> None:
    """`action` is a noun and a verb (`job.cancel`), `target` names what it was done to (`job 7`)."""
    session.add(AuditEntry(user_id=user_id, action=action, target=target, at=at, data=data))
