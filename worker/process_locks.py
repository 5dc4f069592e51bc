"""This host and its processes: who is alive, who holds a lock."""

import ctypes
import fcntl
import os
import signal
import time
from pathlib import Path

__all__ = ["Lock", "boot_id", "die_with_parent", "is_alive", "is_free", "start_time"]

_PR_SET_PDEATHSIG = 1


def boot_id() -> str:
    """Differs after a reboot: every process of before is gone."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None where there is none, or only its remains."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(pid: int, started: int | None) -> bool:
    """A pid is used again; together with the start time it is not."""
    return started is not None and start_time(pid) == started


class Lock:
    """A kernel lock, held as long as one process of those that inherit its descriptor lives."""

    def __init__(self, path: Path) -> None:
        self.descriptor = _open(path)

    def take(self, patience_s: float = 0.0, *, shared: bool = False) -> bool:
        """False where somebody else holds it, and goes on holding it. `shared`: with others who want only to look."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(self.descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.02)

    def close(self) -> None:
        os.close(self.descriptor)


def is_free(path: Path) -> bool:
    lock = Lock(path)
    try:
        return lock.take(shared=True)
    finally:
        lock.close()


def die_with_parent(number: signal.Signals) -> None:
    """Between fork and exec: the kernel sends this process `number` when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number))


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
