"""Kernel locks, and whether a process is alive."""

import ctypes
import fcntl
import os
import signal
import time
from pathlib import Path

__all__ = ["Lock", "boot_id", "die_with_parent", "is_alive", "is_free", "start_time"]

_PR_SET_PDEATHSIG = 1


def boot_id() -> str:
    """Changes at every reboot: processes with another boot id are gone."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None if there is no such process, or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(pid: int, started: int | None) -> bool:
    """Whether the process with this pid and start time lives. The pid alone is not enough: the kernel reuses pids."""
    return started is not None and start_time(pid) == started


class Lock:
    """A kernel lock. It is held until every process that inherited its descriptor has ended or closed it."""

    def __init__(self, path: Path) -> None:
        self.descriptor = _open(path)

    def take(self, timeout_s: float = 0.0, *, shared: bool = False) -> bool:
        """Returns False if another process still holds it after `timeout_s`. `shared`: several may hold it at once."""
        deadline = time.monotonic() + timeout_s
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
    """Call between fork and exec: the kernel will send signal `number` to this process when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number))


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
