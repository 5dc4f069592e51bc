"""What every route is given: the settings, the store, and who is asking."""

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Header, Path, Request

from api.middleware.rate_limit import Logins, Rate
from api.schemas import patterns
from api.schemas.base import LARGEST_ID
from api.upload_queue import UploadQueue
from services.domain.suggestions import shortened
from services.errors import Fault, Invalid, Unauthenticated
from services.service_stats import Ended
from services.settings import Settings
from services.store.engine import Store
from services.users.principal import Principal
from services.users.sessions import Browser

__all__ = [
    "AttemptNumber",
    "Caller",
    "Context",
    "Here",
    "IdempotencyKey",
    "JobId",
    "address_of",
    "browser_of",
    "known_query_only",
]

_MOST_TOLD = 20  # parameters that do not exist


@dataclass(frozen=True)
class Context:
    settings: Settings
    store: Store
    logins: Logins = field(default_factory=Logins)
    password_tries: Rate = field(default_factory=lambda: Rate(10))  # by those who are in already
    ended: Ended = field(default_factory=Ended)
    upload_queue: UploadQueue = field(default_factory=UploadQueue)


def address_of(request: Request) -> str:
    """Where it comes from; of a proxy that is trusted, for whom it asks."""
    return request.client.host if request.client else ""


def browser_of(request: Request) -> Browser:
    return Browser(address_of(request), request.headers.get("user-agent", ""))


def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


def _principal(request: Request) -> Principal:
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):  # the gate was not passed: nobody is let in by mistake
        raise Unauthenticated("a token is needed")
    return principal


def known_query_only(request: Request) -> None:
    """A filter with a slip in its name would be no filter at all. Raises Invalid."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    unknown = sorted(set(request.query_params) - set(known))
    if unknown:
        there = f"there are {', '.join(known)}" if known else "there are none here"
        raise Invalid([Fault(shortened(name), f"no such parameter; {there}") for name in unknown[:_MOST_TOLD]])


Here = Annotated[Context, Depends(_context)]
Caller = Annotated[Principal, Depends(_principal)]
JobId = Annotated[int, Path(ge=1, le=LARGEST_ID, description="the job's number", examples=[1])]
AttemptNumber = Annotated[int, Path(ge=1, le=1000, description="1 is the first attempt", examples=[1])]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=128,
        pattern=patterns.KEY,
        description="Send the same key and request again to get the same answer; nothing happens twice.",
    ),
]
