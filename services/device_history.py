"""What devices were like in the last hours: whose memory was whose, how busy and how warm they were.

Written down with what a host reports, every so often; a day is kept, so the table stays as large as it is.
"""

import datetime
import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy.orm import Session

from services.accounts import Principal, Scope
from services.clock import utc_now
from services.domain.contract import DeviceKind
from services.domain.device_use import Use, use_of
from services.errors import NotFound
from services.store import device_history, devices, listing, metrics
from services.store.engine import Store
from services.store.models import Device, DevicePast, Lease

__all__ = ["KEPT_HOURS", "show", "use_now", "write_down"]

KEPT_HOURS = 24
_EVERY = datetime.timedelta(seconds=20)


def use_now(session: Session, device: Device, job_id: int | None, attempt: int | None) -> Use:
    """Whose memory of it is whose. Of a slot, only the trainer knows what it uses."""
    sampled = None
    if device.kind != DeviceKind.GPU and job_id is not None and attempt is not None:
        sampled = metrics.newest_value(session, job_id, attempt, "device_memory")
    return use_of(
        device.total_bytes,
        device.free_bytes,
        device.processes,
        job_id is not None,
        device.baseline_bytes or 0,
        sampled,
    )


def write_down(session: Session, seen: Collection[Device], leases: Iterable[Lease], now: datetime.datetime) -> None:
    """In the transaction that has what a host reports; most of the time there is nothing to do."""
    if not seen:
        return
    written = device_history.newest(session, [device.id for device in seen])
    due = [device for device in seen if device.id not in written or written[device.id] <= now - _EVERY]
    if not due:
        return
    held = {lease.device_id: lease for lease in leases}
    device_history.add_many(session, [_row(session, device, held.get(device.id), now) for device in due])
    device_history.forget_before(session, now - datetime.timedelta(hours=KEPT_HOURS))


def _row(session: Session, device: Device, lease: Lease | None, now: datetime.datetime) -> dict[str, Any]:
    use = use_now(session, device, lease.job_id if lease else None, lease.attempt if lease else None)
    return {
        "device_id": device.id,
        "at": now,
        "total_bytes": device.total_bytes,
        "ours_bytes": use.ours,
        "others_bytes": use.others,
        "utilisation": device.utilisation,
        "temperature": device.temperature,
        "job_id": lease.job_id if lease else None,
    }


def show(store: Store, principal: Principal, device_id: str, hours: int, max_points: int) -> dict[str, Any]:
    """Columns of equal length, the oldest first. Of moments that share a point, the one with most memory held is shown:
    a peak is what people look for. Raises NotFound."""
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
