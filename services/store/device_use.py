"""Who had devices, for how long, and who has some now: SQL. None of it grows with the number of jobs."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from services.store.models import DeviceUse, Job, Lease, User

__all__ = ["add", "lock_user", "running", "since", "users"]


def add(session: Session, user_id: int, seconds: Mapping[int, float]) -> None:
    """Seconds by day, added to what there is."""
    rows = [{"user_id": user_id, "day": day, "seconds": amount} for day, amount in seconds.items()]
    if rows:
        insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
        statement: Any = insert(DeviceUse)
        more = {"seconds": DeviceUse.seconds + statement.excluded.seconds}
        session.execute(statement.on_conflict_do_update(index_elements=["user_id", "day"], set_=more), rows)


def since(session: Session, day: int, user_id: int | None = None) -> Sequence[tuple[int, int, float]]:
    """User, day and seconds, from `day` on; of everybody, or of one."""
    query = select(DeviceUse.user_id, DeviceUse.day, DeviceUse.seconds).where(DeviceUse.day >= day)
    if user_id is not None:
        query = query.where(DeviceUse.user_id == user_id)
    return [(user, on, seconds) for user, on, seconds in session.execute(query)]


def running(session: Session, user_id: int | None = None) -> Sequence[tuple[int, datetime.datetime]]:
    """Whose jobs run, each with the moment it was given its device."""
    query = select(Job.owner_id, Lease.created_at).join(Job, Job.id == Lease.job_id)
    if user_id is not None:
        query = query.where(Job.owner_id == user_id)
    return [(owner, at) for owner, at in session.execute(query)]


@dataclass(frozen=True)
class Holder:
    """A user, as far as turns and limits go."""

    id: int
    name: str
    max_queued: int | None
    max_running: int | None
    device_hours_week: float | None
    is_disabled: bool


def users(session: Session, user_id: int | None = None) -> Sequence[Holder]:
    limits = (User.max_queued, User.max_running, User.device_hours_week)
    query = select(User.id, User.name, *limits, User.disabled_at.is_not(None))
    if user_id is not None:
        query = query.where(User.id == user_id)
    return [Holder(*row) for row in session.execute(query)]


def lock_user(session: Session, user_id: int) -> None:
    """Whoever counts what this user has waits for the end of this transaction."""
    session.execute(select(User.id).where(User.id == user_id).with_for_update(key_share=True))
