"""The outermost middleware: request ids, security headers, the access log, and answers to unexpected errors."""

import logging
import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.problems import problem
from api.middleware.request_counts import RequestCounts

__all__ = ["RequestLog"]

_log = logging.getLogger(__name__)
_access = logging.getLogger("api.access")
_SAFE_ID = re.compile("[A-Za-z0-9._-]{8,128}")

# A page that needs more sets its own Content-Security-Policy.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class RequestLog:
    def __init__(self, app: ASGIApp, request_counts: RequestCounts) -> None:
        self._app = app
        self._request_counts = request_counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        started, status, first_byte_s = time.perf_counter(), 0, 0.0

        async def send_with_headers(message: Message) -> None:
            nonlocal status, first_byte_s
            if message["type"] == "http.response.start":
                status, first_byte_s = message["status"], time.perf_counter() - started
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            _log.exception("request %s: %s %s", request_id, scope["method"], _path(scope))
            if status:  # the answer has begun: only a broken connection shows that it is incomplete
                raise
            detail = f"the service's log has the error under {request_id}"
            await problem(scope, "internal", detail)(scope, receive, send_with_headers)
        finally:
            took_s = time.perf_counter() - started
            self._request_counts.record(scope, status, first_byte_s or took_s)
            _log_request(scope, request_id, status, took_s)


def _request_id(headers: Headers) -> str:
    """The X-Request-ID of a proxy if it is safe in a log; otherwise a new one."""
    given = headers.get("x-request-id", "")
    return given if _SAFE_ID.fullmatch(given) else uuid.uuid4().hex


def _log_request(scope: Scope, request_id: str, status: int, took_s: float) -> None:
    principal = scope["state"].get("principal")
    fields = {
        "method": scope["method"],
        "path": _path(scope),
        "status": status,
        "ms": round(1000 * took_s),
        "user": "-" if principal is None else principal.name,
        "address": (scope.get("client") or ("-",))[0],
        "request_id": request_id,
    }
    _access.info("%(method)s %(path)s %(status)d %(ms)d ms %(user)s %(address)s %(request_id)s", fields)


def _path(scope: Scope) -> str:
    """As it was sent, percent-encoded, so that it cannot break the log line."""
    raw = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
    return repr(bytes(raw).partition(b"?")[0])[2:-1]
