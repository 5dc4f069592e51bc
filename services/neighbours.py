"""Other people's processes on a device, in words."""

from services.domain.memory import gigabytes
from services.store.models import Device

__all__ = ["neighbours"]

_NAMED = 3  # the largest first


def neighbours(device: Device | None) -> str:
    """Who holds the device's memory, by its host's last report: "python (process 4711) holds 10.0 GB of GPU 0"."""
    if device is None or not device.processes:
        return ""
    found = sorted(device.processes, key=lambda process: process.get("used_bytes") or 0, reverse=True)
    named = [
        f"{process.get('name') or 'a process'} (process {process.get('pid')})"
        + (f" holds {gigabytes(process['used_bytes'])}" if process.get("used_bytes") else "")
        for process in found[:_NAMED]
    ]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{', '.join(named)}{more} of {device.name}"
