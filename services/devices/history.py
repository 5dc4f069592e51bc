"""The last day of each device: memory by holder, utilisation, temperature.

A row is written with every few reports of a host, and with the peak of each attempt as it ends: memory may run out
between two reports. Rows older than a day are deleted, so the table does not grow.
"""

import datetime
import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy.orm import Session

from services.clock import utc_now
from services.domain.contract import DeviceKind
from services.domain.memory.shares import Use, use_of
from services.errors import NotFound
from services.sanitize import count
from services.store import listing, training_series
from services.store.devices import devices
from services.store.devices import history as device_history
from services.store.engine import Store
from services.store.models import Attempt, Device, DevicePast, Lease
from services.users.principal import Principal, Scope

__all__ = ["KEPT_HOURS", "show", "use_now", "write_down", "write_down_peak"]

KEPT_HOURS = 24
_EVERY = datetime.timedelta(seconds=20)


def use_now(
    session: Session, device: Device, job_id: int | None, attempt: int | None, metric: str = "device_memory"
) -> Use:
    """Split its memory into free, ours and others'. Of a slot, only the trainer knows what it uses: `metric`."""
    sampled = None
    if device.kind != DeviceKind.GPU and job_id is not None and attempt is not None:
        sampled = training_series.newest_value(session, job_id, attempt, metric)
    return use_of(
        device.total_bytes,
        device.free_bytes,
        device.processes,
        job_id is not None,
        device.baseline_bytes or 0,
        sampled,
    )


def write_down(session: Session, seen: Collection[Device], leases: Iterable[Lease], now: datetime.datetime) -> None:
    """Write a row for each device whose last one is old enough. Call it in the transaction of a host's report."""
    if not seen:
        return
    written = device_history.newest(session, [device.id for device in seen])
    due = [device for device in seen if device.id not in written or written[device.id] <= now - _EVERY]
    if not due:
        return
    held = {lease.device_id: (lease.job_id, lease.attempt) for lease in leases}
    device_history.add_many(session, [_row(session, device, held.get(device.id), now) for device in due])
    device_history.forget_before(session, now - datetime.timedelta(hours=KEPT_HOURS))


def write_down_peak(session: Session, attempt: Attempt, now: datetime.datetime) -> None:
    """Write the peak of an attempt as it ends, from its own reports or from its log."""
    device = devices.get(session, attempt.device_id)
    figures = (attempt.finding or {}).get("figures") or {}
    peak = max(attempt.peak_bytes or 0, count(figures.get("in_use")) or 0)
    if device is None or not peak:
        return
    row = _row(session, device, (attempt.job_id, attempt.number), now)
    available = max(0, device.total_bytes - row["others_bytes"])
    device_history.add_many(session, [{**row, "ours_bytes": max(row["ours_bytes"], min(peak, available))}])


def _row(session: Session, device: Device, held: tuple[int, int] | None, now: datetime.datetime) -> dict[str, Any]:
    """`held`: the number of the job that holds it, and of its attempt."""
    job_id, attempt = held or (None, None)
    # A slot's allocator keeps what it once had, as a GPU's does: the driver counts that as used too.
    use = use_now(session, device, job_id, attempt, "device_memory_peak")
    return {
        "device_id": device.id,
        "at": now,
        "total_bytes": device.total_bytes,
        "ours_bytes": use.ours,
        "others_bytes": use.others,
        "utilisation": device.utilisation,
        "temperature": device.temperature,
        "job_id": job_id,
    }


def show(store: Store, principal: Principal, device_id: str, hours: int, max_points: int) -> dict[str, Any]:
    """Columns of equal length, oldest first. Raises NotFound.

    Of several rows in one point, the one with the most memory in use is shown: people look for peaks.
    """
    principal.require(Scope.READ)
    now = utc_now()
    with store.reading() as session:
        device = devices.get(session, device_id)
        if device is None:
            raise NotFound(f"there is no device {device_id}")
        found = _thinned(device_history.since(session, device_id, now - datetime.timedelta(hours=hours)), max_points)
        owners = listing.owners_of(session, {past.job_id for past in found if past.job_id is not None})
    seen = {job_id for job_id, owner_id in owners.items() if principal.sees(owner_id)}
    return {
        "device": device_id,
        "total_bytes": device.total_bytes,
        "at": [past.at for past in found],
        "ours_bytes": [past.ours_bytes for past in found],
        "others_bytes": [past.others_bytes for past in found],
        "utilisation": [past.utilisation for past in found],
        "temperature": [past.temperature for past in found],
        "job": [past.job_id if past.job_id in seen else None for past in found],
    }


def _thinned(found: Sequence[DevicePast], most: int) -> list[DevicePast]:
    if len(found) <= most:
        return list(found)
    bounds = [len(found) * place // most for place in range(most + 1)]
    return [
        max(found[start:end], key=lambda past: past.ours_bytes + past.others_bytes)
        for start, end in itertools.pairwise(bounds)
    ]
