"""The events of all jobs in the order of their numbers, each exactly once, as they are committed.

On PostgreSQL a transaction can commit the number 6 while another holds 5 and commits it later, or never. So a number
that is missing is waited for, with all that follow it, until every transaction that may hold it has ended. That is
known from the server's own count of transactions and takes a query more; where no number is missing, it takes none.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from services.store import events
from services.store.engine import Store
from services.store.models import Event

__all__ = ["EventTail"]

_BATCH = 500
_LOOK_BACK = 200  # numbers among which one may still be missing at the start
_LONGEST_WAIT_S = 90.0  # the server ends a transaction of ours that does nothing for a minute (services.store.engine)
_STARTING_S = 0.02


@dataclass(frozen=True)
class _Gap:
    until: int  # all numbers up to this one are final as soon as the transactions before `ticket` are over
    ticket: int
    ends: float


class EventTail:
    """For one thread at a time. `start` first; `position` is the last number that was given out, or passed over."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._gap: _Gap | None = None
        self.position = 0

    def start(self) -> int:
        """Begin after the newest event that there is."""
        with self._store.reading() as session:
            numbers = events.newest(session, _LOOK_BACK)
            newest = numbers[0] if numbers else 0
            is_whole = newest - (numbers[-1] if numbers else 0) < len(numbers) or not numbers
            drawn = None if is_whole or not events.numbers_can_come_late(session) else events.ticket(session)
        if drawn is not None:
            self._gap = _Gap(newest, drawn, self._clock() + _LONGEST_WAIT_S)
            while not self._is_final():
                time.sleep(_STARTING_S)
        self._gap, self.position = None, newest
        return newest

    def _is_final(self) -> bool:
        assert self._gap is not None
        with self._store.reading() as session:
            return events.is_over(session, self._gap.ticket) or self._clock() >= self._gap.ends

    def read(self) -> list[tuple[Event, int]]:
        """What is new, with the id of each job's owner; at most some hundred: read until nothing comes."""
        final = self._gap.until if self._gap is not None and self._is_final() else self.position
        with self._store.reading() as session:
            found = events.after(session, self.position, _BATCH)
            late = events.numbers_can_come_late(session)
        taken, position = [], self.position
        for event, owner_id in found:
            if late and event.id > final and event.id != position + 1:
                break
            taken.append((event, owner_id))
            position = event.id
        if self._gap is not None and position >= self._gap.until:
            self._gap = None
        if len(taken) < len(found) and self._gap is None:
            self._note_gap(found[-1][0].id)
        self.position = position  # last: where the database went away meanwhile, all of it is read again
        return taken

    def _note_gap(self, until: int) -> None:
        with self._store.reading() as session:
            self._gap = _Gap(until, events.ticket(session), self._clock() + _LONGEST_WAIT_S)
