"""Quarantine: a GPU whose memory is still held after our job ended gets no job until the memory is free.

At a claim the GPU's *baseline* is noted: what is in use without this job and without processes that the driver names.
The quarantine ends when the device is back at its baseline. Nobody else's process is ever signalled.
"""

from services.domain.contract import DeviceKind
from services.domain.sizes import in_mb
from services.store.models import Device

__all__ = ["note_baseline", "review"]

_TOLERANCE_BYTES = 256 * 2**20


def note_baseline(device: Device) -> None:
    """Call it at a claim, with the device as its host last reported it."""
    if device.kind == DeviceKind.GPU:
        device.baseline_bytes = _held_by_nobody(device)


def review(device: Device) -> None:
    """Begin or end a quarantine. Call it with each report of a device that no job has and that has no other problem."""
    if device.baseline_bytes is None:
        return
    held = _held_by_nobody(device) - device.baseline_bytes
    if held > _TOLERANCE_BYTES:
        device.problem = f"{in_mb(held)} are still in use after the last job ended; no job starts until they are free"
    else:
        device.baseline_bytes = None


def _held_by_nobody(device: Device) -> int:
    """Memory of a GPU that is in use, and by no process that the driver names."""
    if device.kind != DeviceKind.GPU:
        return 0
    others = sum(process.get("used_bytes") or 0 for process in device.processes)
    return device.total_bytes - device.free_bytes - others
