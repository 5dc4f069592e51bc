"""Write files that survive a power cut. Standard library only: the trainer uses it too."""

import contextlib
import os
from pathlib import Path

__all__ = ["sync", "write_durably"]


def write_durably(path: Path, text: str, mode: int = 0o666) -> None:
    """A reader sees the old content or all of the new, also after a power cut. `mode`: less what the umask takes away.

    Two processes may write the same path at once: one of them wins.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()  # of a process that had this number before us and died
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Make what was written into this file or folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
