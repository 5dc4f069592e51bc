"""Write files that survive a power cut. Standard library only: the trainer uses it too."""

import contextlib
import os
from pathlib import Path

__all__ = ["sync", "write_durably"]


def write_durably(path: Path, text: str, mode: int = 0o666) -> None:
    """Replace a file: readers see the old or the new content, never a part, also after a power cut.

    The umask applies to `mode`. Two processes may write the same path at once; one of them wins.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()  # left by a dead process with the same process id
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush the writes to this file or folder to disk, so that they survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
