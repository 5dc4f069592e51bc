"""Whom the kernel killed for want of memory: the counters of control groups, and how far they went up."""

from collections.abc import Mapping
from pathlib import Path

from services.safe_files import open_regular
from worker.devices.host_memory import groups

__all__ = ["OomKills", "kills_since"]

_LARGEST = 2**20  # bytes: the names of the files come from a note that a trainer could have written


class OomKills:
    """The counters that tell of a process, each as it was when the process was first seen under it.

    A group counts its own processes that are killed, whichever limit above was hit; those above count other people's
    too, and are asked only where a container does not show the process's own. Without groups, the host's counter.
    """

    def __init__(self, process: int, root: Path = Path("/")) -> None:
        self._process = process
        self._root = root
        self.before: dict[str, int] = {}
        self.look()

    def look(self) -> None:
        """Where is it now? To be asked from time to time while it lives: it may have been moved."""
        for file in self._counters():
            count = _count(file)
            if count is not None:
                self.before.setdefault(str(file), count)

    def _counters(self) -> list[Path]:
        found = [
            counter
            for version, folders in groups(self._process, self._root)
            if (counter := next((f / version.kills for f in folders if _count(f / version.kills) is not None), None))
        ]
        return found or [self._root / "proc/vmstat"]


def kills_since(before: Mapping[str, int]) -> int | None:
    """By how much the counters went up; None where there is none any more."""
    now = {file: count for file in before if (count := _count(Path(file))) is not None}
    return max((max(0, count - before[file]) for file, count in now.items()), default=None)


def _count(file: Path) -> int | None:
    try:
        with open_regular(file) as opened:
            lines = opened.read(_LARGEST).decode(errors="replace").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)
    except (OSError, ValueError, IndexError):
        return None
