"""Other processes on a device, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from services.domain.sizes import in_mb

__all__ = ["held_by"]

_NAMED = 3  # the largest first


def held_by(processes: Sequence[Mapping[str, Any]], device: str) -> str:
    """Say who holds the device's memory: "python (process 4711) holds 10,240 MB of GPU 0"; "" where nobody does."""
    if not processes:
        return ""
    found = sorted(processes, key=lambda process: process.get("used_bytes") or 0, reverse=True)
    named = [
        f"{process.get('name') or 'a process'} (process {process.get('pid')})"
        + (f" holds {in_mb(process['used_bytes'])}" if process.get("used_bytes") else "")
        for process in found[:_NAMED]
    ]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{', '.join(named)}{more} of {device}"
