"""Fair share: within a priority, the next job is that of the user with the least recent device time.

Device time is kept by day. It counts fully on its day and half as much with each day after it. A job counts as an hour
as soon as it starts; otherwise all jobs of one user would start before any time is used. For the same reason, each
waiting job of a user adds an hour to the jobs of that user behind it.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["STARTED_S", "Share", "by_day", "day_of", "in_week", "lately", "week_begins"]

STARTED_S = 3600.0  # the least that a started job counts
_HALF_LIFE_S = 86_400.0
_DAY_S = 86_400
_WEEK = 7

Days = Mapping[int, float]  # seconds by day


@dataclass(frozen=True)
class Share:
    """What decides when a user's next job starts."""

    use_s: float = 0.0  # recent device time
    slots: int | None = None  # how many more of their jobs may start; None: any number


def day_of(moment: datetime.datetime) -> int:
    """Days since 1970 in UTC."""
    return int(moment.timestamp() // _DAY_S)


def by_day(start: datetime.datetime, end: datetime.datetime) -> dict[int, float]:
    """The seconds of a span, by day."""
    first, last = start.timestamp(), end.timestamp()
    found: dict[int, float] = {}
    while first < last:
        day = int(first // _DAY_S)
        until = min(last, float((day + 1) * _DAY_S))
        found[day] = until - first
        first = until
    return found


def week_begins(now: datetime.datetime) -> int:
    """The first of the seven days that end today. Earlier use is not counted."""
    return day_of(now) - _WEEK + 1


def lately(used: Days, running: Iterable[datetime.datetime], now: datetime.datetime) -> float:
    """A user's recent device time, older time weighted less. `running`: since when they hold each of their devices."""
    total = sum(seconds * _weight(day, now) for day, seconds in used.items())
    for since in running:
        days = by_day(since, now)
        total += max(STARTED_S, sum(seconds * _weight(day, now) for day, seconds in days.items()))
    return total


def _weight(day: int, now: datetime.datetime) -> float:
    age = now.timestamp() - (day + 1) * _DAY_S
    return float(0.5 ** max(0.0, age / _HALF_LIFE_S))


def in_week(used: Days, running: Iterable[datetime.datetime], now: datetime.datetime) -> float:
    """Device seconds, today and in the six days before."""
    begins = week_begins(now)
    spans = [used, *(by_day(since, now) for since in running)]
    return sum(seconds for days in spans for day, seconds in days.items() if day >= begins)
