"""The current time, in one place so that a test can set it, and the text form of times."""

import datetime

__all__ = ["stamp", "stamp_of", "utc_now"]


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def stamp(moment: datetime.datetime | None) -> str | None:
    """The time as RFC 3339 text in UTC, ending in Z."""
    return None if moment is None else moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")


def stamp_of(seconds: float) -> str | None:
    """`stamp` for a time in seconds since the epoch, such as a file's."""
    return stamp(datetime.datetime.fromtimestamp(seconds, datetime.UTC))
