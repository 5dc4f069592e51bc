"""Open files below a root folder without following links out of it.

Names come from requests. Between a check and the opening, a link could be put in place. So each folder of a path is
opened relative to the one above it, and a link anywhere is refused.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from services.errors import NotFound

__all__ = ["Entry", "open_below", "open_regular", "read_exactly", "walk_below"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a named pipe would block the thread until a process writes to it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
CHUNK = 256 * 1024


@dataclass(frozen=True)
class Entry:
    name: str  # relative to the root, with slashes
    bytes: int
    modified: float


def open_below(root: Path, name: str) -> BinaryIO:
    """Open the regular file `name` (a path with slashes) below `root` for reading. Raises NotFound."""
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise NotFound(f"there is no file {name!r}")
    try:
        descriptor = _walk(root, parts)
    except (OSError, ValueError):
        raise NotFound(f"there is no file {name!r}") from None
    return os.fdopen(descriptor, "rb", buffering=0)


def open_regular(path: Path) -> BinaryIO:
    """Open a file that a trainer wrote. Raises OSError unless it is a regular one.

    Reading a named pipe could block for ever, and a device file may have no end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def _walk(root: Path, parts: list[str]) -> int:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        file = os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError("not a regular file")
    return file


def walk_below(root: Path, name: str, limit: int) -> Iterator[Entry]:
    """The regular files in the folder `name` below `root`, or the file `name` itself; sorted, at most `limit`."""
    left = limit
    with suppress(OSError):
        top = root / name
        if top.is_symlink():
            return
        if top.is_file():
            yield _entry(root, top)
            return
        for folder, folders, files in os.walk(top, followlinks=False):
            folders.sort()
            for file in sorted(files):
                path = Path(folder, file)
                with suppress(OSError, UnicodeEncodeError):  # the trainer may delete checkpoints meanwhile
                    if stat.S_ISREG(path.lstat().st_mode):
                        if left == 0:
                            return
                        left -= 1
                        yield _entry(root, path)


def _entry(root: Path, path: Path) -> Entry:
    """Raises UnicodeEncodeError for a name that is not UTF-8: no request could name it."""
    about, name = path.lstat(), path.relative_to(root).as_posix()
    name.encode()
    return Entry(name, about.st_size, about.st_mtime)


def read_exactly(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes: a file that grows meanwhile is cut off, one that shrinks is filled up with zeros."""
    left = size
    while left:
        chunk = file.read(min(CHUNK, left)) or bytes(min(CHUNK, left))
        left -= len(chunk)
        yield chunk
