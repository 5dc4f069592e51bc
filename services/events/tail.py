"""Read new events of all jobs in the order of their numbers, each exactly once.

On PostgreSQL a transaction can commit the number 6 while another one holds 5 and commits it later, or never. So the
reader waits at a missing number until every transaction that may hold it has ended. PostgreSQL's transaction ids tell
when that is. This takes one more query, and only if a number is missing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from services.store import events
from services.store.engine import Store
from services.store.models import Event

__all__ = ["EventTail"]

_BATCH = 500
_LOOK_BACK = 200  # events that are checked for missing numbers at the start
_LONGEST_WAIT_S = 90.0  # the server ends our idle transactions after a minute (services.store.engine)
_STARTING_S = 0.02


@dataclass(frozen=True)
class _Gap:
    until: int  # numbers up to this one are final when all transactions before `transaction` have ended
    transaction: int
    deadline: float


class EventTail:
    """For one thread at a time; call `start` first. `position`: the last number that was returned or skipped."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._gap: _Gap | None = None
        self.position = 0

    def start(self) -> int:
        """Set the position to the newest event."""
        with self._store.reading() as session:
            numbers = events.newest(session, _LOOK_BACK)
            newest = numbers[0] if numbers else 0
            is_whole = newest - (numbers[-1] if numbers else 0) < len(numbers) or not numbers
            waits = not is_whole and events.numbers_can_come_late(session)
            transaction = events.transaction_id(session) if waits else None
        if transaction is not None:
            self._gap = _Gap(newest, transaction, self._clock() + _LONGEST_WAIT_S)
            while not self._is_final():
                time.sleep(_STARTING_S)
        self._gap, self.position = None, newest
        return newest

    def _is_final(self) -> bool:
        assert self._gap is not None
        with self._store.reading() as session:
            has_ended = events.have_ended_before(session, self._gap.transaction)
            return has_ended or self._clock() >= self._gap.deadline

    def read(self) -> list[tuple[Event, int]]:
        """The next events, with the id of each job's owner, at most 500. Call again until nothing is left."""
        final = self._gap.until if self._gap is not None and self._is_final() else self.position
        with self._store.reading() as session:
            found = events.after(session, self.position, _BATCH)
            late = events.numbers_can_come_late(session)
        returned, position = [], self.position
        for event, owner_id in found:
            if late and event.id > final and event.id != position + 1:
                break
            returned.append((event, owner_id))
            position = event.id
        if self._gap is not None and position >= self._gap.until:
            self._gap = None
        if len(returned) < len(found) and self._gap is None:
            self._start_waiting(found[-1][0].id)
        self.position = position  # set last: if the database fails before, these events are read again
        return returned

    def _start_waiting(self, until: int) -> None:
        with self._store.reading() as session:
            self._gap = _Gap(until, events.transaction_id(session), self._clock() + _LONGEST_WAIT_S)
