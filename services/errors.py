"""What a use case refuses, as an exception tree. Each has a `code`; api/http/problems.py alone knows HTTP's numbers.

DownshiftError
 ├ NotFound            there is no such thing, or it is not yours to see
 ├ Forbidden           you may not do this
 ├ Unauthenticated     no token, or one that is not valid
 ├ Invalid             a request that cannot be carried out; names every field that is wrong
 ├ Conflict            the thing has changed, or the key was used for something else
 ├ NoSpace             the disk is too full for it
 ├ Busy                the service has too much to do; it is over after some seconds
 └ TooMany             a limit is reached
    ├ LimitReached     of what one user may have
    └ TooFast          of what one user may ask in a minute; it is over after some seconds
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
    """What is wrong with one field of a request, and what to do."""

    field: str
    message: str


class Invalid(DownshiftError):
    code = "invalid"

    def __init__(self, faults: Sequence[Fault], code: str = "invalid") -> None:
        super().__init__("; ".join(f"{fault.field}: {fault.message}" for fault in faults))
        self.faults = tuple(faults)
        self.code = code
