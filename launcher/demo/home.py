"""The demo's own HOME: emptied at every start, and never a folder that the demo did not create."""

import fcntl
import os
import shutil
import time
from pathlib import Path

__all__ = ["DemoHomeError", "make_fresh", "wait_until_unused"]

_MARK = ".made-by-downshift-demo"
_ANOTHER = "choose another folder: .venv/bin/python -m launcher demo --home DIR"


class DemoHomeError(Exception):
    """The folder cannot be used; the message says why and what to do."""


def make_fresh(home: Path) -> None:
    """Create `home` as an empty folder that only its owner can read. An earlier demo's folder is deleted.

    Raises DemoHomeError if it exists and is not the demo's, is in use, or cannot be created.
    """
    try:
        if home.exists():
            _check_reusable(home)
            shutil.rmtree(home)
        home.mkdir(mode=0o700, parents=True)
        (home / _MARK).touch()
    except OSError as error:
        raise DemoHomeError(f"{home} cannot be created: {error.strerror}; {_ANOTHER}") from None


def _check_reusable(home: Path) -> None:
    if not (home / _MARK).is_file():
        raise DemoHomeError(f"{home} exists and was not made by the demo; {_ANOTHER}")
    if _is_used(home):
        raise DemoHomeError(
            f"{home} is in use: another demo, or the training of one that was killed, is running there; "
            f"wait for its end, or {_ANOTHER}"
        )


def _is_used(home: Path) -> bool:
    """Whether a process (launcher, supervisor or trainer) holds a kernel lock in the folder."""
    return any(_is_held(path) for path in (home / "launcher.lock", *home.glob("locks/*.lock")))


def wait_until_unused(home: Path, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while _is_used(home):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.1)
    return True


def _is_held(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
