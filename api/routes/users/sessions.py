"""Log in, log out, and show the caller."""

import contextlib
from typing import Any

from fastapi import APIRouter, Request, Response

from api.dependencies import Caller, Context, address_of, browser_of
from api.http import cookies
from api.http.problems import documented
from api.schemas.users.sessions import LoginBody, WhoAmI
from services.errors import Unauthenticated
from services.users import directory, sessions
from services.users.principal import Scope

router = APIRouter(tags=["sessions"])


@router.post("/session", status_code=204, response_class=Response, responses=documented(429))
def log_in(body: LoginBody, request: Request, context: Context) -> Response:
    """Log in with a name and a password, or with a token. The answer sets a session cookie.

    With the cookie, requests that change something also need the header `X-CSRF-Token`. Its value is `csrf` in the
    answer of `GET /v1/whoami`.
    """
    context.login_limits.take(address_of(request), body.user)
    browser = browser_of(request)
    if body.token:
        begun = sessions.log_in_with_token(context.store, body.token, browser)
    else:
        begun = sessions.log_in(context.store, body.user, body.password, browser)
    context.login_limits.succeeded(address_of(request), begun.principal.name)
    _end_previous_session(request, context)
    response = Response(status_code=204)
    cookies.write(response, request, context.settings, begun.secret)
    return response


def _end_previous_session(request: Request, context: Context) -> None:
    before = cookies.read(request.headers)
    if before is not None:
        with contextlib.suppress(Unauthenticated):  # it has ended already
            sessions.log_out(context.store, sessions.authenticate(context.store, before))


@router.delete("/session", status_code=204, response_class=Response)
def log_out(request: Request, context: Context, caller: Caller) -> Response:
    """Log out: end the session and remove its cookie. A request with a token changes nothing."""
    sessions.log_out(context.store, caller)
    response = Response(status_code=204)
    cookies.clear(response, request, context.settings)
    return response


@router.get("/whoami", response_model=WhoAmI)
def who_am_i(context: Context, caller: Caller) -> Any:
    """Your name, role, scopes, limits and use."""
    return {
        "user": caller.name,
        "role": caller.role,
        "scopes": [scope for scope in Scope if scope in caller.scopes],
        "token_id": caller.token_id,
        "csrf": caller.csrf,
        **directory.own_usage(context.store, context.settings, caller),
    }
