"""The service in numbers, for those who watch it: read from the database, the same from every process."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from services import planning
from services.clock import utc_now
from services.domain.device_use import Use, use_of
from services.domain.states import State
from services.store import figures, listing, webhooks
from services.store.engine import Store
from services.store.models import Device, Lease

__all__ = ["DeviceFigures", "Figures", "device_use", "read"]

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
            devices=[_device(device, lease, present_since) for device, lease in listing.devices(session)],
            deliveries=webhooks.count_waiting(session),
        )


def _device(device: Device, lease: Lease | None, present_since: datetime.datetime) -> DeviceFigures:
    return DeviceFigures(
        device.id,
        device.kind,
        device.total_bytes,
        device_use(device, lease is not None),
        device.utilisation,
        device.temperature,
        is_usable=device.seen_at >= present_since and device.problem is None,
        is_leased=lease is not None,
    )


def device_use(device: Device, is_leased: bool) -> Use:
    return use_of(device.total_bytes, device.free_bytes, device.processes, is_leased, device.baseline_bytes or 0)
