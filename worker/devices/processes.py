"""The processes on a device: their names, and which of them are not ours. Nothing here signals a process."""

import os
from collections.abc import Iterable, Set
from pathlib import Path

from worker.devices.readings import MB, DeviceReading, MemoryHolder

__all__ = ["largest_processes", "name_of", "processes_of_others", "with_descendants"]

PROC = Path("/proc")
_LEAST = 256 * MB  # bytes: smaller processes are not listed
_MOST = 8


def processes_of_others(reading: DeviceReading, ours: Set[int]) -> list[MemoryHolder]:
    """The processes on the device that are not among `ours`: our trainers and their descendants.

    A process without a name may still be ours: in a container the driver reports the host's pids. To find out how
    much memory is free, use `free_bytes`, not this list.
    """
    return [process for process in reading.processes if process.pid not in ours]


def with_descendants(pids: Iterable[int], proc: Path = PROC) -> set[int]:
    """`pids` and the pids of all their present descendants."""
    children: dict[int, list[int]] = {}
    for folder in proc.iterdir():
        if folder.name.isdecimal() and (parent := _parent(folder)) is not None:
            children.setdefault(parent, []).append(int(folder.name))
    found: set[int] = set()
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found


def largest_processes(proc: Path = PROC) -> tuple[MemoryHolder, ...]:
    """The processes with most resident memory, the largest first."""
    found = [(held, int(folder.name)) for folder in proc.iterdir() if (held := _resident(folder)) >= _LEAST]
    return tuple(MemoryHolder(pid, held, name_of(pid, proc)) for held, pid in sorted(found, reverse=True)[:_MOST])


def name_of(pid: int, proc: Path = PROC) -> str | None:
    """The short name, not the command line, which may contain a password. None if there is no such process."""
    try:
        return (proc / str(pid) / "comm").read_text(errors="replace").strip() or None
    except OSError:
        return None


def _resident(folder: Path) -> int:
    if not folder.name.isdecimal():
        return 0
    try:
        return int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _parent(folder: Path) -> int | None:
    try:
        # The name is in brackets and may contain spaces and brackets. The state and the parent follow it.
        return int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None
