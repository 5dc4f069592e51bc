"""The service in numbers, for those who watch it: read from the database, the same from every process."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from services import device_history, planning
from services.clock import utc_now
from services.domain.device_use import Use
from services.domain.states import State
from services.store import figures, listing, webhooks
from services.store.engine import Store
from services.store.models import Attempt, Device

__all__ = ["DeviceFigures", "Figures", "read"]

_PREDICTIONS = 200  # the newest attempts that completed


@dataclass(frozen=True)
class DeviceFigures:
    id: str
    kind: str
    total_bytes: int
    use: Use
    utilisation: int | None
    temperature: int | None
    is_usable: bool  # its host has reported it lately, and nothing is wrong with it
    is_leased: bool


@dataclass(frozen=True)
class Figures:
    jobs: dict[str, int]  # by state
    attempts: dict[str, int]  # that have ended, by diagnosis
    oldest_wait_s: float  # since the job that waits longest was queued; 0: nobody waits
    prediction_errors: Sequence[float]  # (predicted - measured) / measured, of the newest attempts that completed
    devices: Sequence[DeviceFigures]
    deliveries: int  # to webhooks, that wait or are tried again


def read(store: Store) -> Figures:
    now = utc_now()
    present_since = now - datetime.timedelta(seconds=planning.PRESENT_S)
    with store.reading() as session:
        oldest = figures.oldest_queued(session)
        predictions = figures.predictions(session, _PREDICTIONS)
        return Figures(
            jobs={**dict.fromkeys(map(str, State), 0), **listing.count_by_state(session)},
            attempts=figures.attempts_by_diagnosis(session),
            oldest_wait_s=0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
            prediction_errors=[(predicted - measured) / measured for predicted, measured in predictions],
            devices=[
                _device(session, device, holding.attempt if holding else None, present_since)
                for device, holding in listing.devices(session)
            ],
            deliveries=webhooks.count_waiting(session),
        )


def _device(
    session: Session, device: Device, attempt: Attempt | None, present_since: datetime.datetime
) -> DeviceFigures:
    job_id, number = (None, None) if attempt is None else (attempt.job_id, attempt.number)
    return DeviceFigures(
        device.id,
        device.kind,
        device.total_bytes,
        device_history.use_now(session, device, job_id, number),
        device.utilisation,
        device.temperature,
        is_usable=device.seen_at >= present_since and device.problem is None,
        is_leased=attempt is not None,
    )
