"""Set, read and clear the session cookie."""

from fastapi import Request, Response
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from services.settings import Settings
from services.users import sessions

__all__ = ["NAME", "clear", "read", "write"]

NAME = "downshift_session"


def write(response: Response, request: Request, settings: Settings, secret: str) -> None:
    """Scripts cannot read it, and browsers do not send it with other sites' requests. It lasts as long as the longest
    session; the session itself may end earlier."""
    _set(response, request, settings, secret, int(sessions.MAX_AGE.total_seconds()))


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
