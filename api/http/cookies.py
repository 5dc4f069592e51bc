"""The session's cookie: how it is set, read and taken back."""

from fastapi import Request, Response
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from services.settings import Settings
from services.users import sessions

__all__ = ["NAME", "clear", "read", "write"]

NAME = "downshift_session"


def write(response: Response, request: Request, settings: Settings, secret: str) -> None:
    """Out of reach of scripts, and not sent along with other sites' requests. How long it is good for, the session
    says; the cookie stays as long as a session can."""
    _set(response, request, settings, secret, int(sessions.LONGEST.total_seconds()))


def clear(response: Response, request: Request, settings: Settings) -> None:
    _set(response, request, settings, "", 0)


def _set(response: Response, request: Request, settings: Settings, value: str, max_age: int) -> None:
    is_secure = settings.secure_cookies or request.url.scheme == "https"
    response.set_cookie(NAME, value, max_age, path="/", secure=is_secure, httponly=True, samesite="lax")


def read(headers: Headers) -> str | None:
    for header in headers.getlist("cookie"):
        found = cookie_parser(header).get(NAME)
        if found is not None:
            return found
    return None
