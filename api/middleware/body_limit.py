"""Check a body's content type and limit its size: JSON, or an archive for the upload routes."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.problems import problem
from services.domain.sizes import in_mb

__all__ = ["ARCHIVES", "BodyLimit"]

ARCHIVES = ("application/zip", "application/x-tar", "application/gzip", "application/octet-stream")
_UPLOADS = frozenset({"/v1/datasets", "/v1/checkpoints"})


class BodyLimit:
    """Check Content-Length if there is one, and count the received bytes in any case."""

    def __init__(self, app: ASGIApp, max_kb: int, max_upload_mb: int) -> None:
        self._app = app
        self._json = (max_kb * 1024, f"the limit for a body is {in_mb(max_kb * 1024)}")
        self._archive = (
            max_upload_mb * 1024**2,
            f"the limit for an archive is {in_mb(max_upload_mb * 1024**2)}",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # Request smuggling: a proxy and this server could disagree about the end of the request.
            detail = "send Content-Length or Transfer-Encoding, not both"
            await problem(scope, "bad_request", detail, headers={"Connection": "close"})(scope, receive, send)
            return
        is_upload = scope["method"] == "POST" and scope["path"] in _UPLOADS
        limit, too_large = self._archive if is_upload else self._json
        length = headers.get("content-length", "0")
        announced = int(length) if length.isdecimal() else 0
        if announced > limit:
            await problem(scope, "too_large", too_large)(scope, receive, send)
            return
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if (announced or "transfer-encoding" in headers) and not (kind in ARCHIVES if is_upload else _is_json(kind)):
            detail = f"send the body as {' or '.join(ARCHIVES) if is_upload else 'application/json'}"
            await problem(scope, "unsupported_media_type", detail)(scope, receive, send)
            return
        read = 0

        async def receive_counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise HTTPException(413, too_large)
            return message

        await self._app(scope, receive_counted, send)


def _is_json(kind: str) -> bool:
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
