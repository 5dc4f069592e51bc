"""Events for all who listen: one task asks the database, and hands what it finds to every stream.

It runs while there is somebody to tell. A stream that joins gets everything after the `position` it joined at; what
came before that, `replay` reads. A listener that does not keep up is cut off: he comes back with the last number he
has seen, and misses nothing. Who would not be let in any more hears nothing more within seconds.
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
from services.events.live import News, Watch, after, newest, of_event
from services.jobs import queries
from services.settings import Settings
from services.store.engine import Store
from services.users import recheck
from services.users.principal import Principal

__all__ = ["PAGE", "Broadcaster", "Subscription", "Told"]

LOOK_EVERY_S = 0.5
LIVE_EVERY_S = 1.0  # progress and devices
ADMIT_EVERY_S = 2.0  # who may stay
AWAY_S = 2.0  # between two tries while the database does not answer
MOST_WAITING = 2000  # messages for one listener
_REMEMBERED = 2000  # events, for those who come back
PAGE = 500
_SHARE = 4  # one user has at most the fourth part of all streams: nobody keeps the others out
_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Told:
    """What is sent, made once for all."""

    news: News
    text: bytes
    masked: bytes | None

    @classmethod
    def of(cls, news: News) -> "Told":
        masked = None if news.masked is None else _written(news, news.masked)
        return cls(news, _written(news, news.data), masked)


def _written(news: News, data: object) -> bytes:
    """As EventSource reads it. Without a number, the listener's Last-Event-ID stays as it is."""
    fields = {
        "id": news.id,
        "job": news.job_id,
        "attempt": news.attempt,
        "kind": news.kind,
        "at": stamp(news.at),
        "data": data,
    }
    head = "" if news.id is None else f"id: {news.id}\n"
    return f"{head}event: {news.kind}\ndata: {json.dumps(fields)}\n\n".encode()


class Subscription:
    """What one listener is to be sent, in order. None in `queue` is the end; `cut`: it is over in mid-sentence."""

    def __init__(self, principal: Principal, job_id: int | None) -> None:
        self.principal = principal
        self.job_id = job_id
        self.queue: asyncio.Queue[Told | None] = asyncio.Queue(MOST_WAITING)
        self.cut = asyncio.Event()
        self.position: int | None = None  # not before it has joined
        self.seen = 0  # what has a number up to this one is not for him any more
        self._is_over = False

    def text(self, told: Told) -> bytes | None:
        """As this listener may see it; None where it is not for him."""
        news = told.news
        if self._is_over:
            return None
        if (self.job_id is not None and news.job_id != self.job_id) or (news.id is not None and news.id <= self.seen):
            return None
        if news.owner_id is None or self.principal.sees(news.owner_id):
            return told.text
        return told.masked

    def put(self, told: Told | None) -> None:
        try:
            self.queue.put_nowait(told)
        except asyncio.QueueFull:
            self.cut.set()

    def end(self) -> None:
        """Nothing more is for him, nor what waits already."""
        self._is_over = True
        while not self.queue.empty():
            self.queue.get_nowait()
        self.put(None)


class Broadcaster:
    """For one event loop. `close` ends every stream at once, and lets nobody in any more."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._members: set[Subscription] = set()
        self._task: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        self._current: tuple[Told, ...] = ()
        self._recent: deque[Told] = deque(maxlen=_REMEMBERED)
        self._forgotten = 0  # the newest number that is not in _recent any more
        self._position = 0
        self._is_closed = False

    async def join(self, principal: Principal, job_id: int | None = None) -> Subscription:
        """Whoever joins leaves. Raises TooMany, and Busy while the service stops."""
        if self._is_closed:
            raise Busy("the service is being stopped; connect again", 10)
        if len(self._members) >= self._settings.max_streams:
            raise TooMany(f"{len(self._members)} event streams are open, which is the limit; try again later")
        own = sum(member.principal.user_id == principal.user_id for member in self._members)
        if own >= max(1, self._settings.max_streams // _SHARE):
            raise TooMany(f"you already have {own} of {own} event streams open: close one first")
        member = Subscription(principal, job_id)
        self._members.add(member)
        if self._task is None:
            self._started = asyncio.Event()
            self._task = asyncio.create_task(self._run())
        try:
            await self._started.wait()
        except BaseException:
            self.leave(member)
            raise
        member.position = self._position
        for told in self._current:
            if member.text(told) is not None:
                member.put(told)
        return member

    def leave(self, member: Subscription) -> None:
        self._members.discard(member)
        if not self._members and self._task is not None:
            self._task.cancel()
            self._task = None

    def close(self) -> None:
        self._is_closed = True
        for member in self._members:
            member.put(None)

    @property
    def streams(self) -> int:
        return len(self._members)

    async def newest(self) -> int:
        """The newest number in the database; another process may have told it before this one."""
        return await run_in_threadpool(newest, self._store)

    async def replay(self, member: Subscription, since: int) -> AsyncIterator[Told]:
        """What this listener has missed: after `since`, and up to the position that he joined at."""
        assert member.position is not None
        if since >= self._forgotten:
            missed = [told for told in self._recent if since < (told.news.id or 0) <= member.position]
            for told in missed:
                if member.job_id in (None, told.news.job_id):
                    yield told
            return
        while since < member.position:
            page = await run_in_threadpool(self._page, member, since)
            for told in page:
                yield told
            if len(page) < PAGE:
                return
            since = page[-1].news.id or 0

    def _page(self, member: Subscription, since: int) -> list[Told]:
        if member.job_id is None:
            return [Told.of(one) for one in after(self._store, since, PAGE, member.position)]
        page = queries.list_events(self._store, member.principal, member.job_id, since, PAGE, member.position)
        return [Told.of(of_event(event, page.owner_id)) for event in page.items]

    async def _run(self) -> None:
        watch = Watch(self._store, self._settings, LIVE_EVERY_S)
        self._position = self._forgotten = await self._patiently(watch.start)
        self._recent.clear()
        self._current = ()
        self._started.set()
        admitted = time.monotonic()
        while True:
            if time.monotonic() >= admitted + ADMIT_EVERY_S:
                await self._end_streams_of_the_dismissed()
                admitted = time.monotonic()
            found = await self._patiently(watch.look)
            self._current = tuple(map(Told.of, watch.current))
            for news in found:
                self._tell(Told.of(news))
            if not any(news.id is not None for news in found):
                await asyncio.sleep(LOOK_EVERY_S)

    async def _end_streams_of_the_dismissed(self) -> None:
        """One query, whoever and however many they are."""
        members = tuple(self._members)
        asked = frozenset(member.principal for member in members)
        admitted = await self._patiently(lambda: recheck.still_in(self._store, asked))
        for member in members:
            if member.principal not in admitted:
                member.end()

    async def _patiently(self, ask: Callable[[], T]) -> T:
        """Its answer, whenever the database gives one: listeners stay, and are told later."""
        while True:
            try:
                return await run_in_threadpool(ask)
            except Exception as error:
                _log.warning("events cannot be read at the moment: %s", error)
            await asyncio.sleep(AWAY_S)

    def _tell(self, told: Told) -> None:
        if told.news.id is not None:
            if len(self._recent) == self._recent.maxlen:
                self._forgotten = self._recent[0].news.id or 0
            self._recent.append(told)
            self._position = told.news.id
        for member in self._members:
            if member.position is not None and member.text(told) is not None:
                member.put(told)
