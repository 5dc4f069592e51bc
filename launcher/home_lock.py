"""One launcher per HOME, by a kernel lock on a file. The kernel releases it after a crash."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["AlreadyRunning", "hold"]

_FILE = "launcher.lock"


class AlreadyRunning(Exception):
    def __init__(self, home: Path) -> None:
        super().__init__(f"Downshift is already running in {home}{_holder(home)}")


class HomeLock:
    """The lock of a HOME, held by this process."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.publish("")

    def publish(self, url: str) -> None:
        """Write our pid and URL into the file, for the error message of a second launcher."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)


@contextmanager
def hold(home: Path) -> Iterator[HomeLock]:
    """Hold the lock of `home` inside the block. Raises AlreadyRunning."""
    file = os.open(home / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(file, home)
        yield HomeLock(file)
    finally:
        os.close(file)


def _take(file: int, home: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise AlreadyRunning(home) from None


def _holder(home: Path) -> str:
    """The holder's pid and URL in brackets; empty if the holder has not written them yet."""
    try:
        values = json.loads((home / _FILE).read_text())
        return f" (pid {values['pid']}{values['url'] and ', ' + values['url']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
