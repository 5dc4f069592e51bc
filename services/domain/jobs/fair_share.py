"""Whose turn it is: the next job comes from the user who had the least of the devices lately, within a priority.

What a user had is kept by days. It counts fully on its day, and from the day's end half as much with each day that
passes. A job that has started counts as an hour at once: else one user's jobs would all start before anybody has used
anything. For the same reason, each job of a user that waits ahead of another of his counts as an hour against that.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["STARTED_S", "Share", "by_day", "day_of", "in_week", "lately", "week_begins"]

STARTED_S = 3600.0  # what a job counts as at least, as soon as it has started
_HALF_LIFE_S = 86_400.0
_DAY_S = 86_400
_WEEK = 7

Days = Mapping[int, float]  # seconds by day


@dataclass(frozen=True)
class Share:
    """What decides about one user's turn."""

    use_s: float = 0.0  # what he had lately
    slots: int | None = None  # how many more jobs of his may start; None: any number


def day_of(moment: datetime.datetime) -> int:
    """Days since 1970 in UTC."""
    return int(moment.timestamp() // _DAY_S)


def by_day(start: datetime.datetime, end: datetime.datetime) -> dict[int, float]:
    """The seconds of a span on each day it touches."""
    first, last = start.timestamp(), end.timestamp()
    found: dict[int, float] = {}
    while first < last:
        day = int(first // _DAY_S)
        until = min(last, float((day + 1) * _DAY_S))
        found[day] = until - first
        first = until
    return found


def week_begins(now: datetime.datetime) -> int:
    """The first of the seven days that end with today. What was before matters to nobody any more."""
    return day_of(now) - _WEEK + 1


def lately(used: Days, running: Iterable[datetime.datetime], now: datetime.datetime) -> float:
    """What a user had, the longer ago the less of it. `running`: since when he has each of the devices he has now."""
    total = sum(seconds * _weight(day, now) for day, seconds in used.items())
    for since in running:
        days = by_day(since, now)
        total += max(STARTED_S, sum(seconds * _weight(day, now) for day, seconds in days.items()))
    return total


def _weight(day: int, now: datetime.datetime) -> float:
    age = now.timestamp() - (day + 1) * _DAY_S
    return float(0.5 ** max(0.0, age / _HALF_LIFE_S))


def in_week(used: Days, running: Iterable[datetime.datetime], now: datetime.datetime) -> float:
    """Seconds, today and in the six days before."""
    begins = week_begins(now)
    spans = [used, *(by_day(since, now) for since in running)]
    return sum(seconds for days in spans for day, seconds in days.items() if day >= begins)
