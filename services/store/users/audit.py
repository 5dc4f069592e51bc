"""SQL for the audit log. Entries are never changed. Only those that anonymous callers can cause are limited and
deleted."""

import datetime
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from services.store.models import AuditEntry, User

__all__ = ["add", "add_few", "page"]


_MOST_AN_HOUR = 100
_RETENTION = datetime.timedelta(days=90)


def add(session: Session, user_id: int | None, action: str, target: str, at: datetime.datetime, **data: Any) -> None:
    """`action` is a noun and a verb (`job.cancel`), `target` names the object (`job 7`)."""
    kind = action.partition(".")[0]
    session.add(AuditEntry(user_id=user_id, kind=kind, action=action, target=target, at=at, data=data))


def add_few(session: Session, action: str, target: str, at: datetime.datetime, **data: Any) -> bool:
    """As `add`, for actions that anonymous callers can cause. False if the last hour had too many.

    Adds at most 100 an hour and deletes those older than 90 days. So a flood cannot fill the table, and the entries
    from its start stay visible.
    """
    kind = action.partition(".")[0]
    newest = select(AuditEntry.at).where(AuditEntry.kind == kind).order_by(AuditEntry.id.desc())
    hundredth = session.scalar(newest.offset(_MOST_AN_HOUR - 1).limit(1))
    if hundredth is not None and hundredth > at - datetime.timedelta(hours=1):
        return False
    session.execute(delete(AuditEntry).where(AuditEntry.kind == kind, AuditEntry.at < at - _RETENTION))
    add(session, None, action, target, at, **data)
    return True


def page(
    session: Session, limit: int, before: int | None = None, user: str | None = None, kind: str | None = None
) -> Sequence[tuple[AuditEntry, str | None]]:
    """The newest entries with ids below `before`, each with the acting user's name.

    `user` and `kind` filter by the acting user and by the kind of the target.
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
