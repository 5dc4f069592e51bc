"""Who is on a device: names of processes, and which of them are not ours. Nothing here signals anybody."""

import os
from collections.abc import Iterable, Set
from pathlib import Path

from worker.devices.readings import DeviceReading, HeldBy

PROC = Path("/proc")
_LARGE = 256 * 2**20  # bytes of a host's memory, from which a process is worth a name
_MOST = 8


def others(reading: DeviceReading, ours: Set[int]) -> list[HeldBy]:
    """Processes on the GPU that are not among `ours`, the trainers with their children (see `family`).

    One without a name may be ours all the same: in a container the driver reports the host's pids. Where it matters
    how much can be had, `free_bytes` is the word, not this list.
    """
    return [process for process in reading.processes if process.pid not in ours]


def family(pids: Iterable[int], proc: Path = PROC) -> set[int]:
    """`pids` and all their descendants at this moment."""
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


def large(proc: Path = PROC) -> tuple[HeldBy, ...]:
    """The processes that have most of the host's memory resident, the largest first."""
    found = [(held, int(folder.name)) for folder in proc.iterdir() if (held := _resident(folder)) >= _LARGE]
    return tuple(HeldBy(pid, held, name_of(pid, proc)) for held, pid in sorted(found, reverse=True)[:_MOST])


def name_of(pid: int, proc: Path = PROC) -> str | None:
    """The short name only: a command line may hold somebody's password."""
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
        # The name stands in brackets and may hold spaces and brackets itself; the state and the parent follow it.
        return int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None
