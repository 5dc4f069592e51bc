"""Around everything: a number for each request, headers for each answer, one line in the log, and no error unseen."""

import logging
import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.problems import problem
from api.middleware.request_counts import Traffic

__all__ = ["Edge"]

_log = logging.getLogger(__name__)
_access = logging.getLogger("api.access")
_SANE = re.compile("[A-Za-z0-9._-]{8,128}")

# A page that needs more says so in its own Content-Security-Policy.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Edge:
    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = _number(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = number
        started, status, begun = time.perf_counter(), 0, 0.0

        async def send_with_headers(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], time.perf_counter() - started
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = number
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            _log.exception("request %s: %s %s", number, scope["method"], _path(scope))
            if status:  # half an answer is out: only breaking off tells the client that it is half
                raise
            detail = f"the service's log has the error under {number}"
            await problem(scope, "internal", detail)(scope, receive, send_with_headers)
        finally:
            took_s = time.perf_counter() - started
            self._traffic.note(scope, status, begun or took_s)
            _tell(scope, number, status, took_s)


def _number(headers: Headers) -> str:
    """What a proxy calls the request, where that can stand in a log; else a name of our own."""
    given = headers.get("x-request-id", "")
    return given if _SANE.fullmatch(given) else uuid.uuid4().hex


def _tell(scope: Scope, number: str, status: int, took_s: float) -> None:
    principal = scope["state"].get("principal")
    fields = {
        "method": scope["method"],
        "path": _path(scope),
        "status": status,
        "ms": round(1000 * took_s),
        "user": "-" if principal is None else principal.name,
        "address": (scope.get("client") or ("-",))[0],
        "request_id": number,
    }
    _access.info("%(method)s %(path)s %(status)d %(ms)d ms %(user)s %(address)s %(request_id)s", fields)


def _path(scope: Scope) -> str:
    """As it was sent, percent signs and all: a line stays one line."""
    raw = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
    return repr(bytes(raw).partition(b"?")[0])[2:-1]
