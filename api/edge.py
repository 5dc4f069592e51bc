"""Around everything: a number for each request, headers for each answer, one line in the log, and no error unseen."""

import logging
import time
import uuid

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import problem

__all__ = ["Edge"]

_log = logging.getLogger(__name__)
_access = logging.getLogger("api.access")

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
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = number
        started, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
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
            detail = f"the error is in the service's log under the number {number}"
            await problem(scope, "internal", detail)(scope, receive, send_with_headers)
        finally:
            took_ms = 1000 * (time.perf_counter() - started)
            _access.info("%s %s %d %.0f ms", scope["method"], _path(scope), status, took_ms)


def _path(scope: Scope) -> str:
    """As it was sent, percent signs and all: a line stays one line."""
    raw = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
    return repr(bytes(raw).partition(b"?")[0])[2:-1]
