"""A stream of events as an answer. It ends when its events do, when its client leaves, or when it is cut off."""

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

__all__ = ["IS_STREAM", "EventStream"]

IS_STREAM = "is_stream"  # in the state of such a request: its connection is counted apart from others


class EventStream(Response):
    """`cut` also ends it while a client that does not read lets it wait. `left` is called in the end."""

    media_type = "text/event-stream"

    def __init__(
        self,
        messages: AsyncIterator[bytes],
        cut: asyncio.Event | None = None,
        left: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})  # nginx would keep events until there are many
        del self.headers["content-length"]
        self._messages = messages
        self._cut = cut or asyncio.Event()
        self._left = left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})[IS_STREAM] = True
        parts = [
            asyncio.create_task(self._send_all(send)),
            asyncio.create_task(_disconnected(receive)),
            asyncio.create_task(self._cut.wait()),
        ]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in parts:
                part.cancel()
            ends = await asyncio.gather(*parts, return_exceptions=True)
            self._left()
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
