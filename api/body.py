"""What a request may carry: JSON, and not more of it than the settings allow."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import problem

__all__ = ["BodyLimit"]


class BodyLimit:
    """Refuses by Content-Length where there is one, and counts what comes in either case."""

    def __init__(self, app: ASGIApp, max_kb: int) -> None:
        self._app = app
        self._max = max_kb * 1024
        self._detail = f"a body has at most {max_kb} KB here"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        announced = int(length) if length.isdecimal() else 0
        if announced > self._max:
            await problem(scope, "too_large", self._detail)(scope, receive, send)
            return
        if (announced or "transfer-encoding" in headers) and not _is_json(headers.get("content-type", "")):
            detail = "send the body as JSON, with Content-Type: application/json"
            await problem(scope, "unsupported_media_type", detail)(scope, receive, send)
            return
        read = 0

        async def receive_counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._max:
                raise HTTPException(413, self._detail)
            return message

        await self._app(scope, receive_counted, send)


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
