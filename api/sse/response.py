"""The response of an event stream. It ends with its messages, when the client disconnects, or when it is aborted."""

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

__all__ = ["IS_STREAM", "EventStream"]

IS_STREAM = "is_stream"  # set in the request's state: these connections have a limit of their own


class EventStream(Response):
    """`aborted` ends it even while a slow client blocks a write. `on_close` is always called at the end."""

    media_type = "text/event-stream"

    def __init__(
        self,
        messages: AsyncIterator[bytes],
        aborted: asyncio.Event | None = None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})  # otherwise nginx buffers events
        del self.headers["content-length"]
        self._messages = messages
        self._aborted = aborted or asyncio.Event()
        self._on_close = on_close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})[IS_STREAM] = True
        parts = [
            asyncio.create_task(self._send_all(send)),
            asyncio.create_task(_disconnected(receive)),
            asyncio.create_task(self._aborted.wait()),
        ]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in parts:
                part.cancel()
            ends = await asyncio.gather(*parts, return_exceptions=True)
            self._on_close()
        if isinstance(ends[0], Exception):
            raise ends[0]

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for message in self._messages:
            await send({"type": "http.response.body", "body": message, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
