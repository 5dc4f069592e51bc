"""Who did what: SQL. Entries are added, never changed."""

import datetime
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from services.store.models import AuditEntry, User

__all__ = ["add", "page"]


def add(session: Session, user_id: int | None, action: str, target: str, at: datetime.datetime, **data: Any) -> None:
    """`action` is a noun and a verb (`job.cancel`), `target` names what it was done to (`job 7`)."""
    kind = action.partition(".")[0]
    session.add(AuditEntry(user_id=user_id, kind=kind, action=action, target=target, at=at, data=data))


def page(
    session: Session, limit: int, before: int | None = None, user: str | None = None, kind: str | None = None
) -> Sequence[tuple[AuditEntry, str | None]]:
    """The newest entries, older than the number `before`, each with the name of who did it.

    `user`: what this one did. `kind`: what was done to things of this kind.
    """
    query = (
        select(AuditEntry, User.name)
        .outerjoin(User, User.id == AuditEntry.user_id)
        .order_by(AuditEntry.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(AuditEntry.id < before)
    if user is not None:
        query = query.where(AuditEntry.user_id == select(User.id).where(User.name == user).scalar_subquery())
    if kind is not None:
        query = query.where(AuditEntry.kind == kind)
    return [(entry, name) for entry, name in session.execute(query)]
