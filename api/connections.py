"""Limit the number of connections, and the time that a client may take to send a request and read the answer.

uvicorn waits for ever for the rest of a request, so a few hundred clients without a log-in could hold every file
descriptor. Here a request head must arrive in time, and a body and an answer must keep moving. When there are too many
connections, the ones without progress for longest are closed for new ones.
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

__all__ = ["BACKLOG", "Connections", "Limits", "raise_file_limit"]

BACKLOG = 128  # asyncio also accepts up to this many at a time
_SWEEP_S = 1.0
_LOG_EVERY_S = 10.0
_PROGRESS_BYTES = 1024  # fewer do not count as progress
_RESERVE = 256  # file descriptors for the database, uploads and everything else
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
    b"Cache-Control: no-store\r\n\r\n"
)
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    max_connections: int  # without event streams, which have their own limit
    max_streams: int
    max_per_network: int  # without event streams
    head_s: float  # from the connection, or the last answer, to a complete request head
    stall_s: float  # in which a body or an answer must move by `_PROGRESS_BYTES`
    proxies: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]

    @classmethod
    def of(cls, settings: Settings, file_limit: int) -> "Limits":
        """The settings' limits, lowered to what the file limit allows: a download takes two descriptors."""
        capacity = max(16, (file_limit - _RESERVE - BACKLOG) // 2)
        streams = min(settings.max_streams, capacity // 2)
        max_connections = min(settings.max_connections, capacity - streams)
        if (max_connections, streams) != (settings.max_connections, settings.max_streams):
            _log.warning(
                "this process may open %d files, enough for %d connections and %d event streams: raise ulimit -n",
                file_limit,
                max_connections,
                streams,
            )
        return cls(
            max_connections,
            streams,
            min(settings.max_connections_per_address, max_connections),
            settings.request_head_s,
            settings.stall_s,
            tuple(ipaddress.ip_network(proxy) for proxy in settings.proxies),
        )


def raise_file_limit(settings: Settings) -> int:
    """Raise the soft limit of open files to what the settings need, or to the hard limit; return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * (settings.max_connections + settings.max_streams) + _RESERVE + BACKLOG
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft


class Connections:
    """All connections of this process. uvicorn calls `connect` for each new one."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._by_network: dict[str, dict[Connection, None]] = {}
        self._idle: dict[Connection, None] = {}  # may be closed for others; longest without progress first
        self._count = 0
        self._sweep: asyncio.TimerHandle | None = None
        self._closed: Counter[str] = Counter()  # by network, since the last log line
        self._logged_at = float("-inf")

    def connect(self, **arguments: Any) -> "Connection":
        return Connection(self, **arguments)

    def add(self, connection: "Connection") -> bool:
        """Return False if the limit is reached, even after closing an idle one."""
        of_network = self._by_network.setdefault(connection.network, {})
        of_network[connection] = None
        self._count += 1
        if self._sweep is None:
            self._sweep = connection.loop.call_later(_SWEEP_S, self._check_all)
        if self._is_full_for(connection, of_network):
            idle = (other for other in of_network if other in self._idle)
            return _abort(min(idle, key=lambda other: other.progressed_at, default=None))
        if self._count > self.limits.max_connections and self._count_without_streams() > self.limits.max_connections:
            return _abort(next(iter(self._idle), None))
        return True

    def remove(self, connection: "Connection") -> None:
        of_network = self._by_network.get(connection.network, {})
        if connection in of_network:
            self._count -= 1
            del of_network[connection]
        if not of_network:
            self._by_network.pop(connection.network, None)
        self._idle.pop(connection, None)

    def note_progress(self, connection: "Connection", is_idle: bool) -> None:
        """`is_idle`: the connection waits for its client."""
        self._idle.pop(connection, None)
        if is_idle and connection in self._by_network.get(connection.network, {}):
            self._idle[connection] = None

    def note_closed(self, connection: "Connection") -> None:
        self._closed[connection.network] += 1

    def _count_without_streams(self) -> int:
        return sum(not one.is_stream for of_network in self._by_network.values() for one in of_network)

    def _is_full_for(self, connection: "Connection", of_network: "dict[Connection, None]") -> bool:
        if len(of_network) <= self.limits.max_per_network or connection.is_from_proxy:
            return False
        return sum(not other.is_stream for other in of_network) > self.limits.max_per_network

    def _check_all(self) -> None:
        loop = asyncio.get_running_loop()
        for of_network in list(self._by_network.values()):
            for connection in list(of_network):
                connection.check(loop.time())
        self._log_closed(loop.time())
        self._sweep = loop.call_later(_SWEEP_S, self._check_all) if self._by_network or self._closed else None

    def _log_closed(self, now: float) -> None:
        if self._closed and now - self._logged_at >= _LOG_EVERY_S:
            network, count = self._closed.most_common(1)[0]
            _log.warning(
                "closed %d connections that were too slow or too many, %d of them from %s; %d are open",
                self._closed.total(),
                count,
                network,
                self._count,
            )
            self._closed.clear()
            self._logged_at = now


def _abort(connection: "Connection | None") -> bool:
    """Return whether there was one to close."""
    if connection is not None:
        connection.abort()
    return connection is not None


class Connection(H11Protocol):
    """One connection. It is idle while it waits for the client to send a request or to read the answer."""

    def __init__(self, connections: Connections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._connections = connections
        self._limits = connections.limits
        self.network = ""
        self.is_from_proxy = False
        self._awaits_request_since = 0.0  # valid while no request is being answered
        self._received = 0  # bytes since the last progress
        self.progressed_at = 0.0
        self._buffered = 0  # unsent bytes of the answer at the last progress

    @property
    def is_stream(self) -> bool:
        return self._is_answering and bool(self.cycle.scope.get("state", {}).get(IS_STREAM))

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _expects_body(self) -> bool:
        """The app waits for more of the body. While it does not read, the client is not to blame."""
        if not self._is_answering or self.flow.read_paused:
            return False
        return self.cycle.more_body and not self.cycle.waiting_for_100_continue

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.network, self.is_from_proxy = _network_of_client(self.client, self._limits)
        self._awaits_request_since = self.loop.time()
        is_accepted = self._connections.add(self)
        self._note_progress()
        if not is_accepted:
            self._close(_BUSY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self._is_answering, self._expects_body
        super().data_received(data)
        self._received += len(data)
        if self._received >= _PROGRESS_BYTES or before != (self._is_answering, self._expects_body):
            self._note_progress()

    def on_response_complete(self) -> None:
        self._awaits_request_since = self.loop.time()
        super().on_response_complete()
        self._note_progress()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._note_progress()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._note_progress()

    def check(self, now: float) -> None:
        """Close the connection if its client is too slow. Called once a second."""
        buffered = self.transport.get_write_buffer_size()
        if self._buffered - buffered >= _PROGRESS_BYTES:
            self._note_progress()
        if self.transport.is_closing() or self.flow.write_paused or self._expects_body:
            if now - self.progressed_at > self._limits.stall_s:
                self.abort()
        elif self._is_answering:
            self._note_progress()
        elif now - self._awaits_request_since > self._limits.head_s:
            self._close(_TOO_SLOW if self.cycle is None else b"")

    def abort(self) -> None:
        """Close at once and drop unsent data."""
        self._connections.note_closed(self)
        self._connections.remove(self)
        self.transport.abort()

    def _close(self, answer: bytes) -> None:
        self._connections.note_closed(self)
        self.transport.write(answer)
        self.transport.close()

    def _note_progress(self) -> None:
        self._received = 0
        self.progressed_at = self.loop.time()
        self._buffered = self.transport.get_write_buffer_size()
        is_idle = not self._is_answering or self._expects_body or self.flow.write_paused
        self._connections.note_progress(self, is_idle)


def _network_of_client(client: tuple[str, int] | None, limits: Limits) -> tuple[str, bool]:
    """The network that the connection counts for, and whether it is a trusted proxy, with many clients behind it."""
    host = client[0] if client else ""
    try:
        parsed = ipaddress.ip_address(host)
    except ValueError:
        return host, False
    return network_of(host), any(parsed in proxy for proxy in limits.proxies)
