"""Who did what: SQL. Entries are added, never changed. Only those that anybody can cause are bounded and removed."""

import datetime
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from services.store.models import AuditEntry, User

__all__ = ["add", "add_few", "page"]


_MOST_AN_HOUR = 100
_KEPT = datetime.timedelta(days=90)


def add(session: Session, user_id: int | None, action: str, target: str, at: datetime.datetime, **data: Any) -> None:
    """`action` is a noun and a verb (`job.cancel`), `target` names what it was done to (`job 7`)."""
    kind = action.partition(".")[0]
    session.add(AuditEntry(user_id=user_id, kind=kind, action=action, target=target, at=at, data=data))


def add_few(session: Session, action: str, target: str, at: datetime.datetime, **data: Any) -> bool:
    """As `add`, of what somebody without an account can cause; False where there were too many in the last hour.

    So a flood of them neither fills the table nor hides what it began with: at most 100 an hour are added, and those
    that are older than 90 days go.
    """
    kind = action.partition(".")[0]
    newest = select(AuditEntry.at).where(AuditEntry.kind == kind).order_by(AuditEntry.id.desc())
    hundredth = session.scalar(newest.offset(_MOST_AN_HOUR - 1).limit(1))
    if hundredth is not None and hundredth > at - datetime.timedelta(hours=1):
        return False
    session.execute(delete(AuditEntry).where(AuditEntry.kind == kind, AuditEntry.at < at - _KEPT))
    add(session, None, action, target, at, **data)
    return True


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
