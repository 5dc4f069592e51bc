"""The devices of a host, as it reports them."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.clock import utc_now
from services.devices import history, qualification, quarantine
from services.domain.gpus import health
from services.store.devices import devices, leases
from services.store.engine import Store
from services.store.models import Device

__all__ = ["Reported", "report"]

_AS_REPORTED = (
    "kind",
    "index",
    "name",
    "total_bytes",
    "free_bytes",
    "bfloat16",
    "utilisation",
    "temperature",
    "uuid",
    "driver",
    "capability",
    "health",
)


@dataclass(frozen=True)
class Reported:
    """One device. `processes` are other people's: {"pid", "name", "used_bytes"}."""

    key: str
    kind: str
    index: int
    name: str
    total_bytes: int
    free_bytes: int
    bfloat16: bool
    utilisation: int | None
    temperature: int | None
    processes: tuple[dict[str, Any], ...]
    problem: str | None
    uuid: str | None = None
    driver: str | None = None
    capability: str | None = None  # compute capability of a GPU, "8.6"
    health: dict[str, Any] | None = None  # of a GPU, as the driver reports it
    fingerprint: str | None = None  # what its qualification depends on; None: it needs none


def report(store: Store, host: str, seen: Sequence[Reported]) -> None:
    """Remember what `host` sees now. A device that it no longer sees goes, unless a job is on it."""
    now = utc_now()
    with store.transaction() as session:
        known = {device.key: device for device in devices.of_host(session, host)}
        held = leases.of_host(session, host)
        leased = {lease.device_id for lease in held}
        there = []
        for reading in seen:
            device = known.pop(reading.key, None)
            if device is None:
                device = Device(id=f"{host}/{reading.key}", host=host, key=reading.key, baseline_bytes=None)
                session.add(device)
            had_problem = device.problem is not None
            _update(device, reading, device.id in leased, now)
            _keep_time(device, had_problem, now)
            there.append(device)
        history.write_down(session, there, held, now)
        for gone in known.values():
            if gone.id not in leased:
                devices.remove(session, gone)
            else:
                had_problem = gone.problem is not None
                gone.problem = "its host no longer detects it"
                _keep_time(gone, had_problem, now)


def _update(device: Device, reading: Reported, leased: bool, now: datetime.datetime) -> None:
    if health.needs_check(device.health, reading.health):
        device.qualify_since = now
    # A new connection to the driver has not seen an earlier Xid. Another card in the same place never had it.
    kept = (device.health or {}).get("xid") if device.uuid == reading.uuid else None
    for name in _AS_REPORTED:
        setattr(device, name, getattr(reading, name))
    if kept is not None and (reading.health or {}).get("xid") is None:
        device.health = {**(reading.health or {}), "xid": kept}
    device.processes = [*reading.processes]
    device.seen_at = now
    device.problem = reading.problem
    if not leased and reading.problem is None:
        quarantine.review(device)
        device.problem = qualification.problem_of(device, reading.fingerprint) or device.problem


def _keep_time(device: Device, had_problem: bool, now: datetime.datetime) -> None:
    """Keep since when there is a problem. Its text does not count: it changes with the figures in it."""
    if device.problem is None:
        device.problem_since = None
    elif not had_problem:
        device.problem_since = now
