"""How much memory devices have for a job: those that are present, and those that are expected back."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from services.domain.contract import DeviceKind
from services.domain.memory.gpu_limit import hardware_name, limit_of_free, limit_of_whole, parse_capability
from services.domain.precision import Precision, half_precision
from services.store.devices import devices
from services.store.models import Device

__all__ = [
    "KNOWN_S",
    "PRESENT_S",
    "Capacity",
    "absent_devices",
    "capacities_of",
    "half_precision_of",
    "hardware_of",
    "largest_device",
    "present_devices",
]

PRESENT_S = 30.0  # a device that was not reported for this long is not there
KNOWN_S = 24 * 3600.0  # for this long, a host that went away, or a device with a problem, is expected back


def half_precision_of(device: Device) -> Precision | None:
    """The two-byte format that a device computes fast. Rows of earlier versions know only whether it is bfloat16."""
    capability = parse_capability(device.capability)
    if capability is None:
        return Precision.BFLOAT16 if device.bfloat16 else None
    return half_precision(capability)


@dataclass(frozen=True)
class Capacity:
    """What a job could have of a device alone, and what it could have now; `size_bytes` is what is printed on it."""

    device_id: str
    name: str
    kind: str
    usable_bytes: int
    free_bytes: int
    half: Precision | None  # what it computes fast in two bytes
    size_bytes: int
    problem: str | None = None
    hardware: str | None = None  # the kind of a GPU and its libraries, for the memory law


def capacities_of(found: Iterable[Device]) -> list[Capacity]:
    return [_capacity(device) for device in found]


def _capacity(device: Device) -> Capacity:
    usable, free = device.total_bytes, device.free_bytes
    if device.kind == DeviceKind.GPU:
        capability, overhead = parse_capability(device.capability), _measured_overhead(device)
        display = sum(one.get("used_bytes") or 0 for one in device.processes if one.get("is_display"))
        usable = limit_of_whole(usable, capability, display=display, measured_overhead=overhead)
        free = limit_of_free(free, capability, overhead)
    return Capacity(
        device.id,
        device.name,
        device.kind,
        usable,
        min(free, usable),
        half_precision_of(device),
        device.total_bytes,
        device.problem,
        hardware_of(device),
    )


def _measured_overhead(device: Device) -> int | None:
    """What the last check saw TensorFlow keep back; None where there is no such figure."""
    checked = device.qualification or {}
    free, limit = checked.get("free_bytes"), checked.get("limit_bytes")
    return free - limit if isinstance(free, int) and isinstance(limit, int) and 0 < limit <= free else None


def hardware_of(device: Device) -> str | None:
    versions = (device.qualification or {}).get("versions") or {}
    return hardware_name(device.capability, versions.get("cudnn"))


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
    return max(fitting, key=lambda device: device.usable_bytes, default=None)
