"""What changed since the last poll, for open event streams.

Two sorts: events of jobs, which are numbered and kept; and the current state of jobs, progress, queue and devices,
which is sent when it changes and not kept. One `Watch` per process polls for all streams, so its cost does not depend
on how many there are.
"""

import datetime
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
from services.domain.jobs.waiting import Waiting
from services.events.tail import EventTail
from services.jobs import expected_start, queries
from services.jobs.views import input_wait_view
from services.settings import Settings
from services.store import events, listing, queue_order
from services.store.engine import Store
from services.store.models import Event
from services.store.users import accounts

__all__ = ["LiveEvent", "Watch", "after", "newest", "of_event"]

_MAX_QUEUED = 1000  # jobs of the queue whose positions are sent
_QUEUE_EVERY_S = 15.0  # expected starts change with the progress of running jobs
_QUEUE_KINDS = ("submitted", "edited", "state")  # events that move jobs in the queue


@dataclass(frozen=True)
class LiveEvent:
    """`id`: of an event that is kept. `owner_id`: whose job it is about; None: everybody's.

    `masked`: the data for callers who may not see the job; None: they get nothing.
    """

    kind: str
    data: dict[str, Any]
    at: datetime.datetime
    id: int | None = None
    job_id: int | None = None
    attempt: int | None = None
    owner_id: int | None = None
    masked: dict[str, Any] | None = None


def of_event(event: Event, owner_id: int) -> LiveEvent:
    return LiveEvent(event.kind, event.data, event.at, event.id, event.job_id, event.attempt, owner_id)


def newest(store: Store) -> int:
    """The number of the newest event that is kept; 0 where there is none."""
    with store.reading() as session:
        return next(iter(events.newest(session)), 0)


def after(store: Store, since: int, count: int, until: int | None) -> list[LiveEvent]:
    """The first events of all jobs whose numbers are above `since` and not above `until`."""
    with store.reading() as session:
        return [of_event(event, owner_id) for event, owner_id in events.after(session, since, count, until)]


@dataclass(frozen=True)
class _Unannounced:
    """What the queue depends on and no event announces."""

    versions: Mapping[int, int]  # of accounts
    waiting: Mapping[int, Waiting | None]  # of queued jobs
    timed: frozenset[int]  # running jobs whose remaining time is known

    def changed_users(self, before: "_Unannounced | None") -> set[int]:
        """The users who were disabled, enabled or given other limits."""
        if before is None:
            return set()
        return {user for user, version in self.versions.items() if before.versions.get(user, version) != version}

    def changed_jobs(self, before: "_Unannounced | None") -> set[int]:
        """The queued jobs that wait for something else now."""
        if before is None:
            return set()
        return {job for job, waiting in self.waiting.items() if not _is_same(waiting, before.waiting.get(job))}


def _is_same(waiting: Waiting | None, before: Waiting | None) -> bool:
    return before is None if waiting is None else waiting.is_same(before)


class Watch:
    """For one thread at a time: `start`, then `poll` again and again."""

    def __init__(
        self, store: Store, settings: Settings, live_every_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._settings = settings
        self._tail = EventTail(store, clock)
        self._live_every_s = live_every_s
        self._clock = clock
        self._next_live = 0.0
        self._next_queue = 0.0
        self._unannounced: _Unannounced | None = None  # as of the last poll
        self._unsent: list[LiveEvent] = []  # read before the database failed in the middle of a poll
        self._known: dict[tuple[str, Any], LiveEvent] = {}
        self.current: tuple[LiveEvent, ...] = ()  # progress, queue and devices as last sent, for new streams

    def start(self) -> int:
        """From the newest event on; returns its number."""
        self._known.clear()
        self._unsent.clear()
        self._unannounced, self.current, self._next_live = None, (), 0.0
        self._next_queue = self._clock() + _QUEUE_EVERY_S
        return self._tail.start()

    def poll(self) -> list[LiveEvent]:
        """What is new, in the order to send it.

        Costs one query until the next live update is due, and five where it is due and nothing changed.

        If the database fails in the middle, the next poll returns what this one would have.
        """
        known = dict(self._known)
        try:
            return self._poll()
        except BaseException:
            self._known = known
            raise

    def _poll(self) -> list[LiveEvent]:
        self._unsent += [of_event(event, owner_id) for event, owner_id in self._tail.read()]
        now = self._clock()
        is_due = now >= self._next_live
        if not self._unsent and not is_due:
            return []
        with self._store.reading() as session:
            running = listing.running(session) if is_due else []
            unannounced = self._read_unannounced(session, running) if is_due else self._unannounced
            found = self._changes(session, unannounced)
            if is_due:
                found += [*self._progress(running), *self._devices(session)]
        if is_due:
            self._next_live = now + self._live_every_s
        if now >= self._next_queue:
            self._next_queue = now + _QUEUE_EVERY_S
        self._unsent, self._unannounced = [], unannounced
        self.current = tuple(self._known.values())
        return found

    def _read_unannounced(self, session: Session, running: Iterable[listing.Running]) -> _Unannounced:
        waiting = listing.waiting_for(session, _MAX_QUEUED)
        return _Unannounced(
            accounts.versions(session),
            {job_id: Waiting.from_dict(values) if values else None for job_id, values in waiting.items()},
            frozenset(row.job_id for row in running if row.step_s is not None),
        )

    def _changes(self, session: Session, unannounced: _Unannounced | None) -> list[LiveEvent]:
        """The events that are kept, the jobs that they or others changed, and the queue where jobs moved in it."""
        users = unannounced.changed_users(self._unannounced) if unannounced else set()
        jobs = unannounced.changed_jobs(self._unannounced) if unannounced else set()
        jobs |= {event.job_id for event in self._unsent if event.job_id is not None}
        if users:
            jobs |= {*listing.waiting_of(session, users, _MAX_QUEUED)}
        found = [*self._unsent, *self._jobs(session, jobs)]
        has_moved = users or any(event.kind in _QUEUE_KINDS for event in self._unsent)
        is_timed = unannounced and self._unannounced and unannounced.timed - self._unannounced.timed
        if has_moved or is_timed or self._clock() >= self._next_queue:
            found += self._queue(session)
        return found

    def _jobs(self, session: Session, job_ids: Iterable[int]) -> list[LiveEvent]:
        """These jobs, as they are now."""
        return [
            LiveEvent("job", view, utc_now(), job_id=job.id, owner_id=job.owner_id)
            for job, view in queries.views_of(session, self._settings, sorted(job_ids))
        ]

    def _queue(self, session: Session) -> list[LiveEvent]:
        """Counts, positions and expected starts. Where jobs are private, positions and starts go to the owner only."""
        counts, now = listing.count_active(session), utc_now()
        shares = usage.shares(usage.of_everybody(session, self._settings, now))
        head = queue_order.head(session, shares, now, _MAX_QUEUED)
        positions = {place.job_id: place.position for place in head}
        starts = expected_start.starts_in(session, head, now)
        owners: Mapping[int, int | None] = dict.fromkeys(positions)
        if self._settings.private_jobs:
            owners = listing.owners_of(session, positions)
        receivers = {None, *owners.values()}
        self._forget("queue", receivers)
        found = []
        for owner in receivers:
            theirs = [job_id for job_id in positions if owners.get(job_id) == owner]
            data = {
                **counts,
                "positions": {str(job_id): positions[job_id] for job_id in theirs},
                "expected_start_s": {str(job_id): _rounded(starts[job_id]) for job_id in theirs if job_id in starts},
            }
            found += self._changed("queue", owner, LiveEvent("queue", data, now, owner_id=owner))
        return found

    def _progress(self, running: Iterable[listing.Running]) -> list[LiveEvent]:
        found, known = [], set()
        for row in running:
            known.add(row.job_id)
            data = {
                "step": row.step,
                "steps": row.steps,
                "eta_s": eta_s(row.step, row.steps, row.step_s),
                "phase": row.phase,
                "saved_step": row.saved_step,
                "measured_peak_bytes": row.peak_bytes,
                "input_wait": input_wait_view(row),
            }
            event = LiveEvent("progress", data, utc_now(), None, row.job_id, row.attempt, row.owner_id)
            found += self._changed("progress", row.job_id, event)
        self._forget("progress", known)
        return found

    def _devices(self, session: Session) -> list[LiveEvent]:
        now = utc_now()
        present_since = now - datetime.timedelta(seconds=PRESENT_S)
        found, present = [], set()
        for device, holding in listing.devices(session):
            present.add(device.id)
            view, masked = (
                device_view(device, holding, present_since, is_hidden=is_hidden) for is_hidden in (False, True)
            )
            for shown in (view, masked):
                if shown["is_present"]:  # a change of this alone is not sent
                    shown.pop("seen_at")
                if shown["job"]:  # `progress` has it
                    shown["job"].pop("progress")
            event = LiveEvent("device", view, now, owner_id=holding.owner_id if holding else None, masked=masked)
            found += self._changed("device", device.id, event)
        for gone in self._forget("device", present):
            found.append(LiveEvent("device", {"id": gone, "is_gone": True}, now))
        return found

    def _changed(self, kind: str, key: Any, event: LiveEvent) -> list[LiveEvent]:
        known = self._known.get((kind, key))
        if known is not None and known.data == event.data:
            return []
        self._known[kind, key] = event
        return [event]

    def _forget(self, kind: str, there: set[Any]) -> list[Any]:
        gone = [key for of, key in self._known if of == kind and key not in there]
        for key in gone:
            del self._known[kind, key]
        return gone


def _rounded(seconds: float) -> float:
    """Rounded to minutes from two minutes on, so that it changes rarely."""
    return round(seconds, 0) if seconds < 120 else 60.0 * round(seconds / 60)
