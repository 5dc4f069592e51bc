"""SQL for the device time of each user, past and present. No query grows with the number of jobs."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from services.store.dialect import insert_into
from services.store.models import DeviceUse, Job, Lease, User

__all__ = ["add", "lock_user", "running", "since", "users"]


def add(session: Session, user_id: int, seconds: Mapping[int, float]) -> None:
    """Add seconds of device time, by day."""
    rows = [{"user_id": user_id, "day": day, "seconds": amount} for day, amount in seconds.items()]
    if rows:
        statement = insert_into(session, DeviceUse)
        total = {"seconds": DeviceUse.seconds + statement.excluded.seconds}
        session.execute(statement.on_conflict_do_update(index_elements=["user_id", "day"], set_=total), rows)


def since(session: Session, day: int, user_id: int | None) -> Sequence[tuple[int, int, float]]:
    """User, day and seconds from `day` on, for all users or for one."""
    query = select(DeviceUse.user_id, DeviceUse.day, DeviceUse.seconds).where(DeviceUse.day >= day)
    if user_id is not None:
        query = query.where(DeviceUse.user_id == user_id)
    return [(user, on, seconds) for user, on, seconds in session.execute(query)]


def running(session: Session, user_id: int | None = None) -> Sequence[tuple[int, datetime.datetime]]:
    """The owner of each running job, and the time when it got its device."""
    query = select(Job.owner_id, Lease.created_at).join(Job, Job.id == Lease.job_id)
    if user_id is not None:
        query = query.where(Job.owner_id == user_id)
    return [(owner, at) for owner, at in session.execute(query)]


@dataclass(frozen=True)
class UserLimits:
    """A user's own limits; None: the default applies."""

    id: int
    name: str
    max_queued: int | None
    max_running: int | None
    device_hours_week: float | None
    is_disabled: bool


def users(session: Session, user_id: int | None = None) -> Sequence[UserLimits]:
    limits = (User.max_queued, User.max_running, User.device_hours_week)
    query = select(User.id, User.name, *limits, User.disabled_at.is_not(None))
    if user_id is not None:
        query = query.where(User.id == user_id)
    return [UserLimits(*row) for row in session.execute(query)]


def lock_user(session: Session, user_id: int) -> None:
    """Make other transactions that count this user's jobs, tokens or webhooks wait for the end of this one."""
    session.execute(select(User.id).where(User.id == user_id).with_for_update(key_share=True))
