"""What the readers of untrusted archives have in common: their entries, and the reasons to refuse one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

__all__ = ["ArchiveEntry", "ArchiveError", "TooLarge", "not_a_file", "too_many"]


class ArchiveError(ValueError):
    """The archive is refused; the message says why."""


class TooLarge(ArchiveError):
    """The unpacked files would exceed the limit."""


@dataclass(frozen=True)
class ArchiveEntry:
    """A file or folder in an archive, by its name there. `open` gives the file's content, until the next entry."""

    name: str
    is_folder: bool
    open: Callable[[], IO[bytes]]


def not_a_file(name: str) -> ArchiveError:
    return ArchiveError(f"{name[:200]!r}: is neither a file nor a folder; links are not followed")


def too_many(most_entries: int) -> ArchiveError:
    return ArchiveError(f"has more than {most_entries:,} files")
