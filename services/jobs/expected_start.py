"""When queued jobs are expected to start. Two queries, however many jobs wait."""

import datetime
from collections.abc import Sequence

from sqlalchemy.orm import Session

from services.devices.capacity import PRESENT_S, capacities_of
from services.domain.jobs.eta import eta_s
from services.domain.jobs.expected_start import Opening, Turn, expected_starts
from services.domain.jobs.waiting import WaitKind
from services.store import listing
from services.store.queue_order import Place

__all__ = ["HEAD", "starts_in"]

HEAD = 100  # jobs of the queue that have an estimate


def starts_in(session: Session, head: Sequence[Place], now: datetime.datetime) -> dict[int, float]:
    """Seconds until each of the first jobs of the queue starts; without those for which that cannot be told."""
    turns = sorted((place.turn, place.job_id) for place in head if place.turn is not None)
    may_start = [job_id for _, job_id in turns[:HEAD]]
    rows = {row.job_id: row for row in listing.needs(session, may_start)} if may_start else {}
    if not rows:
        return {}
    # A job that waits for anything but a device that another job has would not start then either.
    queue = [_turn(rows[job_id]) for job_id in may_start if rows[job_id].waits_for in (None, WaitKind.BUSY_DEVICE)]
    return expected_starts(_openings(session, now), queue)


def _openings(session: Session, now: datetime.datetime) -> list[Opening]:
    since = now - datetime.timedelta(seconds=PRESENT_S)
    return [
        Opening(
            capacity.size_bytes,
            capacity.usable_bytes,
            eta_s(row.step, row.steps, row.step_s) if row.is_leased else 0.0,
        )
        for row in listing.openings(session, since)
        for capacity in capacities_of([row.device])
    ]


def _turn(row: listing.Need) -> Turn:
    """A job that starts as asked takes any device. A plan that only may fit counts as the size of its device."""
    predicted = row.predicted_bytes or 0.0
    if row.starts_as_asked:
        needed = 0.0
    else:
        needed = min(predicted, row.planned_for_bytes) if row.planned_for_bytes else predicted
    runs_s = eta_s(row.step, row.steps, row.step_s)
    return Turn(row.job_id, needed, row.min_bytes, runs_s, takes_largest=row.starts_as_asked)
