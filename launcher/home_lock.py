"""One launcher per HOME: the kernel's lock on a file, which no crash can leave behind."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["AlreadyRunning", "Lock", "hold"]

_FILE = "launcher.lock"


class AlreadyRunning(Exception):
    def __init__(self, home: Path) -> None:
        super().__init__(f"Downshift is already running in {home}{_holder(home)}")


class Lock:
    """HOME's lock, held."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.tell("")

    def tell(self, url: str) -> None:
        """Let others know by whom it is held, and where that one answers."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)


@contextmanager
def hold(home: Path) -> Iterator[Lock]:
    """Raises AlreadyRunning."""
    file = os.open(home / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(file, home)
        yield Lock(file)
    finally:
        os.close(file)


def _take(file: int, home: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise AlreadyRunning(home) from None


def _holder(home: Path) -> str:
    """Who holds it, for people; nothing in the moment between the lock and the writing."""
    try:
        values = json.loads((home / _FILE).read_text())
        return f" (pid {values['pid']}{values['url'] and ', ' + values['url']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
