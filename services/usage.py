"""What each user has used of the devices, what they run, and what their limits leave. A few small queries, however many
jobs there are."""

import datetime
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from services.domain.jobs import fair_share
from services.domain.jobs.fair_share import Share
from services.domain.jobs.limits import Limits, blocked_by
from services.domain.jobs.waiting import Waiting
from services.settings import Settings
from services.store.devices import use as device_use
from services.store.models import Lease

__all__ = ["UserUsage", "charge", "default_limits", "may_start", "of_everybody", "of_user", "shares"]


@dataclass(frozen=True)
class UserUsage:
    name: str
    limits: Limits  # with the settings' defaults
    running: int
    week_s: float
    lately_s: float
    is_disabled: bool = False

    @property
    def blocked_by(self) -> Waiting | None:
        """Why none of the user's jobs may start now; None where one may."""
        return blocked_by(self.name, self.limits, self.running, self.week_s, is_disabled=self.is_disabled)

    @property
    def share(self) -> Share:
        if self.blocked_by is not None:
            return Share(self.lately_s, 0)
        most = self.limits.max_running
        return Share(self.lately_s, None if most is None else most - self.running)


def default_limits(settings: Settings) -> Limits:
    return Limits(settings.max_queued, settings.max_running, settings.device_hours_week)


def of_everybody(session: Session, settings: Settings, now: datetime.datetime) -> dict[int, UserUsage]:
    return _usages(session, settings, now, None)


def of_user(session: Session, settings: Settings, now: datetime.datetime, user_id: int) -> UserUsage:
    return _usages(session, settings, now, user_id)[user_id]


def shares(usages: Mapping[int, UserUsage]) -> dict[int, Share]:
    return {user_id: one.share for user_id, one in usages.items()}


def may_start(session: Session, settings: Settings, now: datetime.datetime, user_id: int, known: UserUsage) -> bool:
    """May a job of this user start? Where there is a limit, this locks the user against workers of other hosts."""
    if known.limits.max_running is None:
        return known.blocked_by is None
    device_use.lock_user(session, user_id)
    return of_user(session, settings, now, user_id).blocked_by is None


def charge(session: Session, user_id: int, lease: Lease, until: datetime.datetime) -> None:
    """Add a lease's time to its user's device time. Call it once, where the lease ends."""
    device_use.add(session, user_id, fair_share.by_day(lease.created_at, until))


def _usages(session: Session, settings: Settings, now: datetime.datetime, user_id: int | None) -> dict[int, UserUsage]:
    used: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for user, day, seconds in device_use.since(session, fair_share.week_begins(now), user_id):
        used[user][day] = seconds
    running: defaultdict[int, list[datetime.datetime]] = defaultdict(list)
    for user, since in device_use.running(session, user_id):
        running[user].append(since)
    defaults = default_limits(settings)
    return {
        user.id: UserUsage(
            user.name,
            Limits(user.max_queued, user.max_running, user.device_hours_week).over(defaults),
            len(running[user.id]),
            fair_share.in_week(used[user.id], running[user.id], now),
            fair_share.lately(used[user.id], running[user.id], now),
            user.is_disabled,
        )
        for user in device_use.users(session, user_id)
    }
