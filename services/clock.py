"""The time, in one place, so that a test can say what it is."""

import datetime

__all__ = ["utc_now"]


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
