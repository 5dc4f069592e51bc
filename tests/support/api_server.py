"""The API behind a real web server, and clients of its event streams."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from api.http import cookies

__all__ = ["Message", "Server", "bearer", "cookie", "following", "listening", "messages", "serving", "until"]


@dataclass(frozen=True)
class Message:
    event: str
    data: Any
    id: int | None

    @property
    def content(self) -> Any:
        return self.data["data"]


class Server:
    def __init__(self, app: FastAPI) -> None:
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=5))
        self._thread = threading.Thread(target=self._server.run)

    def start(self) -> str:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
        host, port = self._server.servers[0].sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)
        assert not self._thread.is_alive()


@contextlib.contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve `app` on a thread of this process; yields its address."""
    server = Server(app)
    address = server.start()
    try:
        yield address
    finally:
        app.state.event_hub.close()
        server.stop()


@contextlib.asynccontextmanager
async def listening(
    address: str, token: str, path: str = "/v1/events", last: int | None = None
) -> AsyncIterator[AsyncIterator[Message]]:
    headers = {**bearer(token), **({} if last is None else {"Last-Event-ID": str(last)})}
    async with following(address, headers, path) as heard:
        yield heard


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def cookie(secret: str) -> dict[str, str]:
    return {"Cookie": f"{cookies.NAME}={secret}"}


@contextlib.asynccontextmanager
async def following(
    address: str, headers: dict[str, str], path: str = "/v1/events"
) -> AsyncIterator[AsyncIterator[Message]]:
    async with (
        httpx.AsyncClient(base_url=address, timeout=30, trust_env=False, verify=False) as client,
        client.stream("GET", path, headers=headers) as response,
    ):
        assert response.status_code == 200, await response.aread()
        yield messages(response)


async def messages(response: httpx.Response) -> AsyncIterator[Message]:
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
            continue
        if "event" in fields:
            number = fields.get("id")
            yield Message(fields["event"], json.loads(fields["data"]), None if number is None else int(number))
        fields = {}


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
