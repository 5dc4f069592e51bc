"""The errors that use cases raise. Each has a `code`; only api/http/problems.py maps codes to HTTP.

DownshiftError
 ├ NotFound            it does not exist, or the caller may not see it
 ├ Forbidden           the caller may not do this
 ├ Unauthenticated     no token, or an invalid one
 ├ Invalid             the request cannot be carried out; names every wrong field
 ├ Conflict            the object has changed, or the key was used for another request
 ├ NoSpace             the disk is too full
 ├ Busy                the service has too much to do; try again in some seconds
 └ TooMany             a limit is reached
    ├ LimitReached     what one user may have at a time: jobs, uploads
    └ TooFast          the requests a minute of one user; try again in some seconds
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "Busy",
    "Conflict",
    "DownshiftError",
    "Fault",
    "Forbidden",
    "Invalid",
    "LimitReached",
    "NoSpace",
    "NotFound",
    "TooFast",
    "TooMany",
    "Unauthenticated",
    "require_version",
]


class DownshiftError(Exception):
    code = "error"


class NotFound(DownshiftError):
    code = "not_found"


class Forbidden(DownshiftError):
    def __init__(self, message: str, code: str = "forbidden") -> None:
        super().__init__(message)
        self.code = code


class Unauthenticated(DownshiftError):
    code = "unauthenticated"


class Conflict(DownshiftError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class NoSpace(DownshiftError):
    code = "no_space"


class Busy(DownshiftError):
    code = "busy"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooMany(DownshiftError):
    code = "too_many"


class LimitReached(TooMany):
    code = "limit_reached"


class TooFast(TooMany):
    code = "rate_limited"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Fault:
    """What is wrong with one field of a request, and how to correct it."""

    field: str
    message: str


class Invalid(DownshiftError):
    code = "invalid"

    def __init__(self, faults: Sequence[Fault], code: str = "invalid") -> None:
        super().__init__("; ".join(f"{fault.field}: {fault.message}" for fault in faults))
        self.faults = tuple(faults)
        self.code = code


def require_version(thing: str, current: int, expected: int | None) -> None:
    """Raises Conflict unless `expected`, the version that the caller has read, is the current one. None: any."""
    if expected is not None and expected != current:
        message = f"the {thing} has changed since you read it (now version {current}): read it again"
        raise Conflict("version_mismatch", message)
