"""What routes depend on: the application's context, the caller, and common parameters."""

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Header, Path, Request

from api.middleware.rate_limit import LoginLimits, RateLimit
from api.schemas import patterns
from api.schemas.base import LARGEST_ID
from api.upload_queue import UploadQueue
from services.domain.suggestions import shortened
from services.errors import Fault, Invalid, Unauthenticated
from services.service_stats import EndedCounts
from services.settings import Settings
from services.store.engine import Store
from services.users.principal import Principal
from services.users.sessions import Browser

__all__ = [
    "AppContext",
    "AttemptNumber",
    "Caller",
    "Context",
    "IdempotencyKey",
    "JobId",
    "address_of",
    "browser_of",
    "reject_unknown_query",
]

_MAX_REPORTED = 20  # unknown parameters


@dataclass(frozen=True)
class AppContext:
    settings: Settings
    store: Store
    login_limits: LoginLimits = field(default_factory=LoginLimits)
    password_limit: RateLimit = field(default_factory=lambda: RateLimit(10))  # for a user's own password
    ended: EndedCounts = field(default_factory=EndedCounts)
    upload_queue: UploadQueue = field(default_factory=UploadQueue)


def address_of(request: Request) -> str:
    """The client's address; behind a trusted proxy, the one that the proxy forwards."""
    return request.client.host if request.client else ""


def browser_of(request: Request) -> Browser:
    return Browser(address_of(request), request.headers.get("user-agent", ""))


def _context(request: Request) -> AppContext:
    context: AppContext = request.app.state.context
    return context


def _principal(request: Request) -> Principal:
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):  # fail closed if the middleware did not run
        raise Unauthenticated("a token is needed")
    return principal


def reject_unknown_query(request: Request) -> None:
    """A misspelt filter would be ignored, and the answer would hold too much. Raises Invalid."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    unknown = sorted(set(request.query_params) - set(known))
    if unknown:
        there = f"there are {', '.join(known)}" if known else "there are none here"
        raise Invalid([Fault(shortened(name), f"no such parameter; {there}") for name in unknown[:_MAX_REPORTED]])


Context = Annotated[AppContext, Depends(_context)]
Caller = Annotated[Principal, Depends(_principal)]
JobId = Annotated[int, Path(ge=1, le=LARGEST_ID, description="The job's number.", examples=[1])]
AttemptNumber = Annotated[int, Path(ge=1, le=1000, description="The attempt's number. 1 is the first.", examples=[1])]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=128,
        pattern=patterns.KEY,
        description="Any text. The same key and request, sent again, get the same answer; nothing is done twice.",
    ),
]
