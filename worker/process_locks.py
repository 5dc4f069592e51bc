"""Kernel locks, and whether a process is alive, or will never run again."""

import ctypes
import fcntl
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["Lock", "boot_id", "die_with_parent", "is_alive", "is_doomed", "is_free", "start_time"]

PROC = Path("/proc")
_PR_SET_PDEATHSIG = 1
_PF_EXITING = 0x4  # in the flags of /proc/PID/stat
_SIGKILL_BIT = 1 << (signal.SIGKILL - 1)
_REPLACE_TIMEOUT_S = 5.0


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


def is_doomed(pid: int, proc: Path = PROC) -> bool:
    """Whether the process is still there, but will never run its own code again.

    The kernel holds each of its threads: it waits (state D) with SIGKILL pending, or is already exiting. It may stay so
    until a reboot. SIGKILL cannot be caught, so such a thread does not return from the kernel.
    """
    found = []
    for thread in (proc / str(pid) / "task").glob("[0-9]*"):
        try:
            fields = (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()
            pending = [
                int(line.split()[1], 16) for line in (thread / "status").read_text().splitlines() if "Pnd:" in line
            ]
        except (OSError, IndexError, ValueError):  # it has just ended
            continue
        if fields[0] not in "ZX":
            found.append(bool(int(fields[6]) & _PF_EXITING) or any(mask & _SIGKILL_BIT for mask in pending))
    return bool(found) and all(found)


class Lock:
    """A kernel lock. It is held until every process that inherited its descriptor has ended or closed it.

    Its file may be replaced. A lock on a file that is no longer at the path counts for nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = _open(path)

    def take(self, timeout_s: float = 0.0, *, shared: bool = False) -> bool:
        """Returns False if another process still holds it after `timeout_s`. `shared`: several may hold it at once."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(self.descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                if self._is_current():
                    return True
            except BlockingIOError:
                if self._is_current():
                    if time.monotonic() >= deadline:
                        return False
                    time.sleep(0.02)
                    continue
            self.close()
            self.descriptor = _open(self._path)

    def replace(self, may: Callable[[], bool]) -> None:
        """Put a free lock in place of this one if `may` returns True: if no process that holds it will ever run again.

        Of several processes that call it at once, one replaces the lock. The others find the new one in its place.
        """
        guard = Lock(self._path.with_name(f"{self._path.name}.replacing"))
        try:
            if guard.take(_REPLACE_TIMEOUT_S) and self._is_current() and may():
                self._path.unlink()
        finally:
            guard.close()

    def close(self) -> None:
        os.close(self.descriptor)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.descriptor), self._path.stat())
        except FileNotFoundError:
            return False


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
