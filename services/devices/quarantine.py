"""Quarantine: a GPU whose memory is still held after our job ended gets no job until the memory is free, and one that
failed under a job gets none until it has passed a check (`Device.qualify_since`).

At a claim the GPU's *baseline* is noted: what is in use without this job and without processes that the driver names.
The quarantine ends when the device is back at its baseline. Nobody else's process is ever signalled.
"""

import datetime

from services.clock import utc_now
from services.domain.contract import DeviceKind
from services.domain.sizes import in_mb
from services.store.devices import devices
from services.store.engine import Store
from services.store.models import Device

__all__ = ["blame", "note_baseline", "review", "set_problem"]

_TOLERANCE_BYTES = 256 * 2**20


def note_baseline(device: Device) -> None:
    """Call it at a claim, with the device as its host last reported it."""
    if device.kind == DeviceKind.GPU:
        device.baseline_bytes = _held_by_nobody(device)


def blame(device: Device, message: str, now: datetime.datetime) -> None:
    """Keep jobs from a GPU that failed under one until it has been qualified again."""
    if device.kind == DeviceKind.GPU:
        device.qualify_since = now
        device.problem = device.problem or f"a job failed on it ({message}); no job starts until it has been checked"
        device.problem_since = device.problem_since or now


def set_problem(store: Store, device_id: str, problem: str) -> None:
    """Keep jobs from a device at once. The host's next report says whether the problem stays."""
    with store.transaction() as session:
        device = devices.get(session, device_id)
        if device is not None:
            device.problem, device.problem_since = problem, device.problem_since or utc_now()


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
