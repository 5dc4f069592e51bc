"""Folders to prepare something in, on the file system where it goes. Those of killed processes are removed.

A process holds the kernel's lock on a file in its folder while it works. Standard library only.
"""

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["LOCK_FILE", "remove_abandoned", "working_folder"]

LOCK_FILE = ".lock"
_NAME = re.compile(r"\.[A-Za-z0-9][A-Za-z0-9._-]*-[a-z0-9_]{8}")
_UPLOAD = ".upload-"
_UNLOCKED = ("new", "old")  # folders of earlier versions have no lock; except those of uploads, they hold only these
_OLD_S = 86_400.0


@contextlib.contextmanager
def working_folder(root: Path, name: str) -> Iterator[Path]:
    """A new hidden folder below `root`, called `.name-…`. It is deleted at the end of the block.

    Removes those that killed processes left below `root` first.
    """
    remove_abandoned(root)
    folder, lock = _locked_folder(root, name)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned(root: Path) -> list[Path]:
    """Delete the working folders below `root` that no living process uses, and return them. Their names must fit."""
    found = [path for path in _folders(root) if _NAME.fullmatch(path.name)]
    return [path for path in found if _removed(path)]


def _folders(root: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _locked_folder(root: Path, name: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root))
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / LOCK_FILE).exists():
            return folder, lock
        os.close(lock)  # it was taken for abandoned between the two lines above


def _removed(folder: Path) -> bool:
    try:
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _is_of_earlier_version(folder) and _remove(folder)
    except OSError:  # not ours
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # in use
        return False
    else:
        return _remove(folder)
    finally:
        os.close(lock)


def _is_of_earlier_version(folder: Path) -> bool:
    """So old that nothing works in it any more. A new one without a lock is being made at this moment."""
    with contextlib.suppress(FileNotFoundError):
        is_old = folder.stat().st_mtime < time.time() - _OLD_S
        is_upload = folder.name.startswith(_UPLOAD)
        return is_old and (is_upload or all(entry.name in _UNLOCKED for entry in folder.iterdir()))
    return False


def _remove(folder: Path) -> bool:
    """The lock's file goes last: if this is interrupted, the next one finds it."""
    with contextlib.suppress(FileNotFoundError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK_FILE:
                path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
