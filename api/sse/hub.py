"""Distribute events to all open streams: one task polls the database for all of them.

The task runs while there is at least one subscription. A subscription gets everything after the `position` at which it
began; `replay` reads what came before. A client that does not keep up is disconnected: it comes back with the last
event id that it has seen, and misses nothing. A caller who loses access gets no more events within seconds.
"""

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from services.clock import stamp
from services.errors import Busy, TooMany
from services.events.live import LiveEvent, Watch, after, newest, of_event
from services.jobs import queries
from services.settings import Settings
from services.store.engine import Store
from services.users import recheck
from services.users.principal import Principal

__all__ = ["PAGE", "EventHub", "Message", "Subscription"]

POLL_EVERY_S = 0.5
LIVE_EVERY_S = 1.0  # progress and devices
RECHECK_EVERY_S = 2.0  # whether callers still have access
RETRY_S = 2.0  # while the database does not answer
MAX_QUEUED = 2000  # messages of one subscription
_MAX_RECENT = 2000  # events in memory, for clients that reconnect
PAGE = 500
_USER_SHARE = 4  # one user has at most a fourth of all streams, so that nobody can take them all
_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """An event, encoded once for all streams; `masked` for callers who may not see the job, None: nothing."""

    event: LiveEvent
    text: bytes
    masked: bytes | None

    @classmethod
    def of(cls, event: LiveEvent) -> "Message":
        masked = None if event.masked is None else _encode(event, event.masked)
        return cls(event, _encode(event, event.data), masked)


def _encode(event: LiveEvent, data: object) -> bytes:
    """As EventSource reads it. Without an id, the client keeps its Last-Event-ID."""
    fields = {
        "id": event.id,
        "job": event.job_id,
        "attempt": event.attempt,
        "kind": event.kind,
        "at": stamp(event.at),
        "data": data,
    }
    head = "" if event.id is None else f"id: {event.id}\n"
    return f"{head}event: {event.kind}\ndata: {json.dumps(fields)}\n\n".encode()


class Subscription:
    """The messages of one stream, in order. None in `queue` ends the stream; `aborted` ends it at once."""

    def __init__(self, principal: Principal, job_id: int | None) -> None:
        self.principal = principal
        self.job_id = job_id
        self.queue: asyncio.Queue[Message | None] = asyncio.Queue(MAX_QUEUED)
        self.aborted = asyncio.Event()
        self.position: int | None = None  # None until the hub has started
        self.seen = 0  # the client has the events up to this id
        self._has_ended = False

    def text(self, message: Message) -> bytes | None:
        """The part of the message that this caller may see; None: nothing."""
        event = message.event
        if self._has_ended:
            return None
        if (self.job_id is not None and event.job_id != self.job_id) or (
            event.id is not None and event.id <= self.seen
        ):
            return None
        if event.owner_id is None or self.principal.sees(event.owner_id):
            return message.text
        return message.masked

    def put(self, message: Message | None) -> None:
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            self.aborted.set()

    def end(self) -> None:
        """Drop queued messages and end the stream."""
        self._has_ended = True
        while not self.queue.empty():
            self.queue.get_nowait()
        self.put(None)


class EventHub:
    """For one event loop. `close` ends every stream and refuses new ones."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._subscriptions: set[Subscription] = set()
        self._task: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        self._current: tuple[Message, ...] = ()
        self._recent: deque[Message] = deque(maxlen=_MAX_RECENT)
        self._dropped_up_to = 0  # the newest event id that is not in _recent any more
        self._position = 0
        self._is_closed = False

    async def subscribe(self, principal: Principal, job_id: int | None = None) -> Subscription:
        """The caller must `unsubscribe`. Raises TooMany, and Busy while the service stops."""
        if self._is_closed:
            raise Busy("the service is being stopped; connect again", 10)
        if len(self._subscriptions) >= self._settings.max_streams:
            raise TooMany(f"{len(self._subscriptions)} event streams are open, which is the limit; try again later")
        own = sum(other.principal.user_id == principal.user_id for other in self._subscriptions)
        most = max(1, self._settings.max_streams // _USER_SHARE)
        if own >= most:
            raise TooMany(f"you already have {own} of {most} event streams open: close one first")
        subscription = Subscription(principal, job_id)
        self._subscriptions.add(subscription)
        if self._task is None:
            self._started = asyncio.Event()
            self._task = asyncio.create_task(self._run())
        try:
            await self._started.wait()
        except BaseException:
            self.unsubscribe(subscription)
            raise
        subscription.position = self._position
        for message in self._current:
            if subscription.text(message) is not None:
                subscription.put(message)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)
        if not self._subscriptions and self._task is not None:
            self._task.cancel()
            self._task = None

    def close(self) -> None:
        self._is_closed = True
        for subscription in self._subscriptions:
            subscription.put(None)

    @property
    def open_streams(self) -> int:
        return len(self._subscriptions)

    async def newest(self) -> int:
        """The newest event id in the database. It may be above this hub's position: another process may be ahead."""
        return await run_in_threadpool(newest, self._store)

    async def replay(self, subscription: Subscription, since: int) -> AsyncIterator[Message]:
        """The messages that the client missed: after `since`, up to the position at which it subscribed."""
        assert subscription.position is not None
        if since >= self._dropped_up_to:
            missed = [message for message in self._recent if since < (message.event.id or 0) <= subscription.position]
            for message in missed:
                if subscription.job_id in (None, message.event.job_id):
                    yield message
            return
        while since < subscription.position:
            page = await run_in_threadpool(self._page, subscription, since)
            for message in page:
                yield message
            if len(page) < PAGE:
                return
            since = page[-1].event.id or 0

    def _page(self, subscription: Subscription, since: int) -> list[Message]:
        job_id, until = subscription.job_id, subscription.position
        if job_id is None:
            return [Message.of(event) for event in after(self._store, since, PAGE, until)]
        page = queries.list_events(self._store, subscription.principal, job_id, since, PAGE, until)
        return [Message.of(of_event(event, page.owner_id)) for event in page.items]

    async def _run(self) -> None:
        watch = Watch(self._store, self._settings, LIVE_EVERY_S)
        self._position = self._dropped_up_to = await self._retry(watch.start)
        self._recent.clear()
        self._current = ()
        self._started.set()
        checked_at = time.monotonic()
        while True:
            if time.monotonic() >= checked_at + RECHECK_EVERY_S:
                await self._end_streams_without_access()
                checked_at = time.monotonic()
            found = await self._retry(watch.poll)
            self._current = tuple(map(Message.of, watch.current))
            for event in found:
                self._publish(Message.of(event))
            if not any(event.id is not None for event in found):
                await asyncio.sleep(POLL_EVERY_S)

    async def _end_streams_without_access(self) -> None:
        """Re-check all callers in one query, however many there are."""
        subscriptions = tuple(self._subscriptions)
        principals = frozenset(subscription.principal for subscription in subscriptions)
        admitted = await self._retry(lambda: recheck.still_valid(self._store, principals))
        for subscription in subscriptions:
            if subscription.principal not in admitted:
                subscription.end()

    async def _retry(self, query: Callable[[], T]) -> T:
        """Repeat `query` until the database answers: streams stay open, and get their events later."""
        while True:
            try:
                return await run_in_threadpool(query)
            except Exception as error:
                _log.warning("events cannot be read at the moment: %s", error)
            await asyncio.sleep(RETRY_S)

    def _publish(self, message: Message) -> None:
        if message.event.id is not None:
            if len(self._recent) == self._recent.maxlen:
                self._dropped_up_to = self._recent[0].event.id or 0
            self._recent.append(message)
            self._position = message.event.id
        for subscription in self._subscriptions:
            if subscription.position is not None and subscription.text(message) is not None:
                subscription.put(message)
