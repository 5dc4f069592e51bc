"""Connections, bounded: how many there are, and how long a client may take to ask and to read the answer.

uvicorn waits for ever for the rest of a request, so a few hundred clients without a log-in could hold every descriptor.
Here a request must be whole in time, a body must keep coming and an answer must keep going. Where there are too many
connections, those that made no progress for longest are closed for new ones.
"""

import asyncio
import ipaddress
import logging
import resource
from collections import Counter
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from api.middleware.rate_limit import network_of
from api.sse.response import IS_STREAM
from services.settings import Settings

__all__ = ["BACKLOG", "Connection", "Connections", "Limits", "raise_descriptors"]

BACKLOG = 128  # also how many asyncio accepts, and complains of, at a time
_SWEEP_S = 1.0
_TELL_S = 10.0
_LEAST = 1024  # bytes that count as progress
_RESERVE = 256  # descriptors for the database, uploads and everything else
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
    b"Cache-Control: no-store\r\n\r\n"
)
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    most: int  # without event streams, which have a limit of their own
    most_streams: int
    most_of_one: int  # of one address, without event streams
    head_s: float  # from the connection, or the last answer, to a whole request head
    stall_s: float  # in which a body or an answer gets on by `_LEAST` bytes
    proxies: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()

    @classmethod
    def of(cls, settings: Settings, descriptors: int) -> "Limits":
        """As the settings say, as far as the descriptors go: a download takes two."""
        room = max(16, (descriptors - _RESERVE - BACKLOG) // 2)
        streams = min(settings.max_streams, room // 2)
        most = min(settings.max_connections, room - streams)
        if (most, streams) != (settings.max_connections, settings.max_streams):
            _log.warning(
                "this process may open %d files, enough for %d connections and %d event streams: raise ulimit -n",
                descriptors,
                most,
                streams,
            )
        return cls(
            most,
            streams,
            min(settings.max_connections_per_address, most),
            settings.request_head_s,
            settings.stall_s,
            tuple(ipaddress.ip_network(proxy) for proxy in settings.proxies),
        )


def raise_descriptors(settings: Settings) -> int:
    """Raise this process's soft limit to what the settings need, or the hard limit; returns what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * (settings.max_connections + settings.max_streams) + _RESERVE + BACKLOG
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft


class Connections:
    """All connections of this process. `connect` is what uvicorn makes one with."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._of: dict[str, dict[Connection, None]] = {}  # by address
        self._idle: dict[Connection, None] = {}  # which may be closed for others, the longest without progress first
        self._count = 0
        self._sweep: asyncio.TimerHandle | None = None
        self._closed: Counter[str] = Counter()  # by address, and not yet told
        self._told_at = float("-inf")

    def connect(self, **arguments: Any) -> "Connection":
        return Connection(self, **arguments)

    def add(self, connection: "Connection") -> bool:
        """False where there is no room for it."""
        own = self._of.setdefault(connection.address, {})
        own[connection] = None
        self._count += 1
        if self._sweep is None:
            self._sweep = connection.loop.call_later(_SWEEP_S, self._look)
        if self._is_full_for(connection, own):
            idle = (other for other in own if other in self._idle)
            return _abandoned(min(idle, key=lambda other: other.got_on_at, default=None))
        if self._count > self.limits.most and self._plain() > self.limits.most:
            return _abandoned(next(iter(self._idle), None))
        return True

    def remove(self, connection: "Connection") -> None:
        own = self._of.get(connection.address, {})
        if connection in own:
            self._count -= 1
            del own[connection]
        if not own:
            self._of.pop(connection.address, None)
        self._idle.pop(connection, None)

    def note(self, connection: "Connection", is_idle: bool) -> None:
        """It got on, just now; `is_idle` where it is the client's turn."""
        self._idle.pop(connection, None)
        if is_idle and connection in self._of.get(connection.address, {}):
            self._idle[connection] = None

    def note_closed(self, connection: "Connection") -> None:
        self._closed[connection.address] += 1

    def _plain(self) -> int:
        return sum(not one.is_stream for own in self._of.values() for one in own)

    def _is_full_for(self, connection: "Connection", own: "dict[Connection, None]") -> bool:
        if len(own) <= self.limits.most_of_one or connection.is_of_proxy:
            return False
        return sum(not other.is_stream for other in own) > self.limits.most_of_one

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        for own in list(self._of.values()):
            for connection in list(own):
                connection.look(loop.time())
        self._tell(loop.time())
        self._sweep = loop.call_later(_SWEEP_S, self._look) if self._of or self._closed else None

    def _tell(self, now: float) -> None:
        if self._closed and now - self._told_at >= _TELL_S:
            address, most = self._closed.most_common(1)[0]
            _log.warning(
                "closed %d connections that were too slow or too many, %d of them from %s; %d are open",
                self._closed.total(),
                most,
                address,
                self._count,
            )
            self._closed.clear()
            self._told_at = now


def _abandoned(connection: "Connection | None") -> bool:
    if connection is not None:
        connection.abandon()
    return connection is not None


class Connection(H11Protocol):
    """One of them. It is the client's turn while it asks, and while it has to read before we can go on."""

    def __init__(self, connections: Connections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._connections = connections
        self._limits = connections.limits
        self.address = ""
        self.is_of_proxy = False
        self._asks_since = 0.0  # while no request is being answered
        self._received = 0  # bytes, not yet counted as progress
        self.got_on_at = 0.0
        self._buffered = 0  # bytes of the answer, at that time

    @property
    def is_stream(self) -> bool:
        return self._is_answering and bool(self.cycle.scope.get("state", {}).get(IS_STREAM))

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _is_sent_body(self) -> bool:
        """A body is on its way, and we want it: where the app does not read, the client cannot be faster."""
        if not self._is_answering or self.flow.read_paused:
            return False
        return self.cycle.more_body and not self.cycle.waiting_for_100_continue

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address, self.is_of_proxy = _place_of(self.client, self._limits)
        self._asks_since = self.loop.time()
        is_welcome = self._connections.add(self)
        self._get_on()
        if not is_welcome:
            self._end(_BUSY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self._is_answering, self._is_sent_body
        super().data_received(data)
        self._received += len(data)
        if self._received >= _LEAST or before != (self._is_answering, self._is_sent_body):
            self._get_on()

    def on_response_complete(self) -> None:
        self._asks_since = self.loop.time()
        super().on_response_complete()
        self._get_on()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._get_on()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._get_on()

    def look(self, now: float) -> None:
        """Once a second: close it where its client is too slow."""
        buffered = self.transport.get_write_buffer_size()
        if self._buffered - buffered >= _LEAST:
            self._get_on()
        if self.transport.is_closing() or self.flow.write_paused or self._is_sent_body:
            if now - self.got_on_at > self._limits.stall_s:
                self.abandon()
        elif self._is_answering:
            self._get_on()
        elif now - self._asks_since > self._limits.head_s:
            self._end(_TOO_SLOW if self.cycle is None else b"")

    def abandon(self) -> None:
        """What is not sent yet stays unsent."""
        self._connections.note_closed(self)
        self._connections.remove(self)
        self.transport.abort()

    def _end(self, answer: bytes) -> None:
        self._connections.note_closed(self)
        self.transport.write(answer)
        self.transport.close()

    def _get_on(self) -> None:
        self._received = 0
        self.got_on_at = self.loop.time()
        self._buffered = self.transport.get_write_buffer_size()
        is_idle = not self._is_answering or self._is_sent_body or self.flow.write_paused
        self._connections.note(self, is_idle)


def _place_of(client: tuple[str, int] | None, limits: Limits) -> tuple[str, bool]:
    """The network that a connection is counted for, and whether it is a trusted proxy's, with many people behind."""
    host = client[0] if client else ""
    try:
        parsed = ipaddress.ip_address(host)
    except ValueError:
        return host, False
    return network_of(host), any(parsed in proxy for proxy in limits.proxies)
