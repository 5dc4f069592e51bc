"""Numbers about the service for Prometheus. They come from the database, so every process reports the same."""

import datetime
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from services.clock import utc_now
from services.devices import history
from services.devices.capacity import PRESENT_S
from services.domain.jobs.states import State
from services.domain.memory.law import prediction_error
from services.domain.memory.shares import Use
from services.store import listing, service_stats, webhooks
from services.store.engine import Store
from services.store.models import Attempt, Device

__all__ = ["EndedCounts", "ServiceStats", "read"]

_UNSETTLED = datetime.timedelta(hours=1)
_PREDICTIONS = 300  # of the newest attempts


@dataclass(frozen=True)
class DeviceStats:
    id: str
    kind: str
    total_bytes: int
    use: Use
    utilisation: int | None
    temperature: int | None
    is_usable: bool  # its host has reported it lately, and it has no problem
    is_leased: bool


@dataclass(frozen=True)
class ServiceStats:
    jobs: dict[str, int]  # by state
    attempts: dict[str, int]  # ended ones, by diagnosis
    oldest_wait_s: float  # of the job that has waited longest; 0 where none waits
    prediction_errors: Sequence[float]  # (predicted - measured) / measured, of the newest attempts that completed
    devices: Sequence[DeviceStats]
    deliveries: int  # to webhooks, unsent


class EndedCounts:
    """Count the ended jobs and attempts, reading each row once, as ended rows no longer change.

    Only the last hour is read anew each time: a transaction may commit late, and another host's clock may be behind.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: datetime.datetime | None = None
        self._jobs: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()

    def count(self, session: Session, now: datetime.datetime) -> tuple[Counter[str], Counter[str]]:
        """Jobs by state, attempts by diagnosis."""
        until = now - _UNSETTLED
        with self._lock:
            if self._until is None or until > self._until:
                jobs = service_stats.jobs_ended(session, self._until, until)
                attempts = service_stats.attempts_ended(session, self._until, until)
                # Assigned together: if a query fails, nothing has been counted.
                self._jobs, self._attempts, self._until = self._jobs + jobs, self._attempts + attempts, until
            return (
                self._jobs + service_stats.jobs_ended(session, self._until, None),
                self._attempts + service_stats.attempts_ended(session, self._until, None),
            )


def read(store: Store, ended: EndedCounts) -> ServiceStats:
    now = utc_now()
    present_since = now - datetime.timedelta(seconds=PRESENT_S)
    with store.reading() as session:
        oldest = service_stats.oldest_queued(session)
        errors = [prediction_error(*row) for row in service_stats.predictions(session, _PREDICTIONS)]
        jobs, attempts = ended.count(session, now)
        return ServiceStats(
            jobs={**dict.fromkeys(map(str, State), 0), **listing.count_active(session), **jobs},
            attempts=dict(attempts),
            oldest_wait_s=0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
            prediction_errors=[error for error in errors if error is not None],
            devices=[
                _device(session, device, holding.attempt if holding else None, present_since)
                for device, holding in listing.devices(session)
            ],
            deliveries=webhooks.count_waiting(session),
        )


def _device(session: Session, device: Device, attempt: Attempt | None, present_since: datetime.datetime) -> DeviceStats:
    job_id, number = (None, None) if attempt is None else (attempt.job_id, attempt.number)
    return DeviceStats(
        device.id,
        device.kind,
        device.total_bytes,
        history.use_now(session, device, job_id, number),
        device.utilisation,
        device.temperature,
        is_usable=device.seen_at >= present_since and device.problem is None,
        is_leased=attempt is not None,
    )
