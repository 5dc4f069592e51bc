"""How much memory devices have for a job: those that are present, and those that are expected back."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from services.domain.contract import DeviceKind
from services.store import devices
from services.store.models import Device

__all__ = [
    "KNOWN_S",
    "PRESENT_S",
    "Capacity",
    "absent_devices",
    "capacities_of",
    "largest_device",
    "present_devices",
    "usable_bytes",
]

PRESENT_S = 30.0  # a device that was not reported for this long is not there
KNOWN_S = 24 * 3600.0  # for this long, a host that went away, or a device with a problem, is expected back
# CUDA's context, cuDNN's handles and what the display takes: the allocator never gets these.
_GPU_RESERVE_BYTES = 600 * 2**20


def usable_bytes(kind: str, size: int) -> int:
    """What the allocator can have of a device, or of its free memory."""
    return size if kind == DeviceKind.CPU else max(0, size - _GPU_RESERVE_BYTES)


@dataclass(frozen=True)
class Capacity:
    """What a device could hold, and what it could hold now; `size_bytes` is what is printed on it."""

    device_id: str
    name: str
    kind: str
    total_bytes: int
    free_bytes: int
    bfloat16: bool
    size_bytes: int
    problem: str | None = None


def capacities_of(found: Iterable[Device]) -> list[Capacity]:
    return [
        Capacity(
            device.id,
            device.name,
            device.kind,
            usable_bytes(device.kind, device.total_bytes),
            min(usable_bytes(device.kind, device.free_bytes), usable_bytes(device.kind, device.total_bytes)),
            device.bfloat16,
            device.total_bytes,
            device.problem,
        )
        for device in found
    ]


def present_devices(session: Session, now: datetime.datetime) -> Sequence[Device]:
    return devices.seen_since(session, now - datetime.timedelta(seconds=PRESENT_S))


def absent_devices(session: Session, now: datetime.datetime) -> list[Device]:
    """Devices of hosts that have not reported lately, but within a day."""
    present = {device.id for device in present_devices(session, now)}
    known = devices.seen_since(session, now - datetime.timedelta(seconds=KNOWN_S))
    return [device for device in known if device.id not in present]


def largest_device(found: Sequence[Capacity], min_bytes: int = 0) -> Capacity | None:
    """The device with the most memory that the job may use. One whose memory is not known does not count."""
    fitting = [device for device in found if device.size_bytes >= max(min_bytes, 1)]
    return max(fitting, key=lambda device: device.total_bytes, default=None)
