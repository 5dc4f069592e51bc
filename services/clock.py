"""The time, in one place, so that a test can set it; and how a time is written."""

import datetime

__all__ = ["stamp", "stamp_of", "utc_now"]


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def stamp(moment: datetime.datetime | None) -> str | None:
    """RFC 3339, in UTC with a Z."""
    return None if moment is None else moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")


def stamp_of(seconds: float) -> str | None:
    """`stamp` of a file's time."""
    return stamp(datetime.datetime.fromtimestamp(seconds, datetime.UTC))
