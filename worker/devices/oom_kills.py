"""Count the processes that the kernel killed because memory ran out, by the counters of control groups."""

from collections.abc import Mapping
from pathlib import Path

from services.safe_files import open_regular
from worker.devices.host_memory import memory_groups

__all__ = ["OomKills", "kills_since"]

_LARGEST = 2**20  # bytes read: the file names come from a note, which a trainer could have written


class OomKills:
    """The kill counters that apply to a process, each with its value when the process was first seen in that group.

    A group counts kills of its own processes, whichever limit was hit. Groups above it also count processes of others,
    so they are read only where a container does not show the process's own group. Without groups, the host's counter
    is read.
    """

    def __init__(self, process: int, root: Path = Path("/")) -> None:
        self._process = process
        self._root = root
        self.before: dict[str, int] = {}
        self.update()

    def update(self) -> None:
        """Add the counters of the groups that the process is in now. Call regularly: it may be moved."""
        for file in self._counters():
            count = _count(file)
            if count is not None:
                self.before.setdefault(str(file), count)

    def _counters(self) -> list[Path]:
        found = [
            counter
            for version, folders in memory_groups(self._process, self._root)
            if (counter := next((f / version.kills for f in folders if _count(f / version.kills) is not None), None))
        ]
        return found or [self._root / "proc/vmstat"]


def kills_since(before: Mapping[str, int]) -> int | None:
    """The largest increase of any counter; None if none can be read any more."""
    now = {file: count for file in before if (count := _count(Path(file))) is not None}
    return max((max(0, count - before[file]) for file, count in now.items()), default=None)


def _count(file: Path) -> int | None:
    try:
        with open_regular(file) as opened:
            lines = opened.read(_LARGEST).decode(errors="replace").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)
    except (OSError, ValueError, IndexError):
        return None
