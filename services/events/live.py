"""What is new for those who watch: events of jobs, numbered and kept; and what they make of a job, the progress of
those that run, the queue and the devices, as they are now, which nobody keeps.

One `Watch` per process asks for all who listen to it, so what it costs does not depend on how many they are.
"""

import datetime
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import usage
from services.clock import utc_now
from services.devices.capacity import PRESENT_S
from services.devices.listing import device_view
from services.domain.jobs.eta import eta_s
from services.events.tail import EventTail
from services.jobs import queries
from services.settings import Settings
from services.store import accounts, events, listing, queue_order
from services.store.engine import Store
from services.store.models import Event

__all__ = ["News", "Watch", "after", "newest", "of_event"]

_MOST_WAITING = 1000  # of the queue; who waits behind them is told nothing of his place
_AMOUNT = re.compile(r"[\d.]+ [KMG]B")


@dataclass(frozen=True)
class News:
    """`id`: of an event that is kept. `owner_id`: whose job it is about; None: everybody's.

    `masked`: what those see of it who may not see the job; None: nothing.
    """

    kind: str
    data: dict[str, Any]
    at: datetime.datetime
    id: int | None = None
    job_id: int | None = None
    attempt: int | None = None
    owner_id: int | None = None
    masked: dict[str, Any] | None = None


def of_event(event: Event, owner_id: int) -> News:
    return News(event.kind, event.data, event.at, event.id, event.job_id, event.attempt, owner_id)


def newest(store: Store) -> int:
    """The number of the newest event that is kept; 0 where there is none."""
    with store.reading() as session:
        return next(iter(events.newest(session)), 0)


def after(store: Store, since: int, count: int, until: int | None) -> list[News]:
    """The first events of all jobs whose numbers are above `since` and not above `until`."""
    with store.reading() as session:
        return [of_event(event, owner_id) for event, owner_id in events.after(session, since, count, until)]


class Watch:
    """For one thread at a time: `start`, then `look` again and again."""

    def __init__(
        self, store: Store, settings: Settings, live_every_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._settings = settings
        self._tail = EventTail(store, clock)
        self._live_every_s = live_every_s
        self._clock = clock
        self._next_live = 0.0
        self._versions: dict[int, int] = {}  # of the accounts, as they were seen last
        self._reasons: dict[int, str] | None = None  # of jobs that wait, likewise
        self._unsaid: list[News] = []  # read, and not told yet: the database went away in between
        self._known: dict[tuple[str, Any], News] = {}
        self.current: tuple[News, ...] = ()  # progress, queue and devices as they were told last, for who comes now

    def start(self) -> int:
        """From the newest event on; returns its number."""
        self._known.clear()
        self._versions.clear()
        self._unsaid.clear()
        self._reasons, self.current, self._next_live = None, (), 0.0
        return self._tail.start()

    def look(self) -> list[News]:
        """In the order in which it is to be told. One query where nothing is due, five where nothing is new.

        Where the database goes away in the middle of it, the next look tells what this one would have.
        """
        known = dict(self._known)
        try:
            return self._look()
        except BaseException:
            self._known = known
            raise

    def _look(self) -> list[News]:
        self._unsaid += [of_event(event, owner_id) for event, owner_id in self._tail.read()]
        is_due = self._clock() >= self._next_live
        if not self._unsaid and not is_due:
            return []
        found = [*self._unsaid]
        with self._store.reading() as session:
            versions = accounts.versions(session) if is_due else self._versions
            changed = {user for user, version in versions.items() if self._versions.get(user, version) != version}
            # No event tells that somebody was disabled or has other limits; what waits for it does.
            touched = {*listing.waiting_of(session, changed, _MOST_WAITING)} if changed else set()
            touched |= {news.job_id for news in found if news.job_id is not None}
            reasons = self._waiting_for(session) if is_due else self._reasons
            if reasons is not None and self._reasons is not None:
                touched |= {job_id for job_id, reason in reasons.items() if self._reasons.get(job_id, "") != reason}
            found += self._jobs(session, touched)
            if changed or any(news.kind in ("submitted", "edited", "state") for news in found):
                found += self._queue(session)
            if is_due:
                self._next_live = self._clock() + self._live_every_s
                found += [*self._progress(session), *self._devices(session)]
        self._unsaid, self._versions, self._reasons = [], versions, reasons
        self.current = tuple(self._known.values())
        return found

    def _waiting_for(self, session: Session) -> dict[int, str]:
        """No event tells what jobs wait for by now. How much memory others have of a card at this moment does not
        count: it changes all the time, and each time for all who wait."""
        reasons = listing.waiting_reasons(session, _MOST_WAITING)
        return {job_id: _AMOUNT.sub("", reason or "") for job_id, reason in reasons.items()}

    def _jobs(self, session: Session, job_ids: Iterable[int]) -> list[News]:
        """The jobs that something happened to, as they are now."""
        return [
            News("job", view, utc_now(), job_id=job.id, owner_id=job.owner_id)
            for job, view in queries.views_of(session, self._settings, sorted(job_ids))
        ]

    def _queue(self, session: Session) -> list[News]:
        """Where jobs are private, nobody is told the places of all: each owner has those of his own."""
        counts, now = listing.count_active(session), utc_now()
        shares = usage.shares(usage.of_everybody(session, self._settings, now))
        places = dict(queue_order.places(session, shares, now, _MOST_WAITING))
        owners: Mapping[int, int | None] = dict.fromkeys(places)
        if self._settings.private_jobs:
            owners = listing.owners_of(session, places)
        told = {None, *owners.values()}
        self._forget("queue", told)
        found = []
        for owner in told:
            positions = {str(job_id): place for job_id, place in places.items() if owners.get(job_id) == owner}
            found += self._changed(
                "queue", owner, News("queue", {**counts, "positions": positions}, now, owner_id=owner)
            )
        return found

    def _progress(self, session: Session) -> list[News]:
        found, running = [], set()
        for row in listing.running(session):
            running.add(row.job_id)
            data = {
                "step": row.step,
                "steps": row.steps,
                "eta_s": eta_s(row.step, row.steps, row.step_s),
                "phase": row.phase,
                "saved_step": row.saved_step,
                "measured_peak_bytes": row.peak_bytes,
            }
            news = News("progress", data, utc_now(), None, row.job_id, row.attempt, row.owner_id)
            found += self._changed("progress", row.job_id, news)
        self._forget("progress", running)
        return found

    def _devices(self, session: Session) -> list[News]:
        now = utc_now()
        present_since = now - datetime.timedelta(seconds=PRESENT_S)
        found, present = [], set()
        for device, holding in listing.devices(session):
            present.add(device.id)
            view, masked = (
                device_view(device, holding, present_since, is_hidden=is_hidden) for is_hidden in (False, True)
            )
            for seen in (view, masked):
                if seen["is_present"]:  # nothing is told where only this changes
                    seen.pop("seen_at")
                if seen["job"]:  # `progress` tells it
                    seen["job"].pop("progress")
            news = News("device", view, now, owner_id=holding.owner_id if holding else None, masked=masked)
            found += self._changed("device", device.id, news)
        for gone in self._forget("device", present):
            found.append(News("device", {"id": gone, "is_gone": True}, now))
        return found

    def _changed(self, kind: str, key: Any, news: News) -> list[News]:
        known = self._known.get((kind, key))
        if known is not None and known.data == news.data:
            return []
        self._known[kind, key] = news
        return [news]

    def _forget(self, kind: str, there: set[Any]) -> list[Any]:
        gone = [key for of, key in self._known if of == kind and key not in there]
        for key in gone:
            del self._known[kind, key]
        return gone
