"""Archives from other people, unpacked with care: what is in one is bounded before it is believed."""

import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

__all__ = ["ArchiveError", "unpack"]

_MOST_ENTRIES = 20_000
_CHUNK = 2**20


class ArchiveError(ValueError):
    """An archive that is not taken; the message says why."""


def unpack(archive: Path, folder: Path, most_bytes: int, is_wanted: Callable[[str], bool]) -> list[Path]:
    """The wanted files of a tar, gzipped or not, side by side in `folder` under their last names. Raises ArchiveError.

    Links, devices, absolute names and `..` are refused also where they are not wanted. `most_bytes` bounds what comes
    out, wanted or not: a small archive may hold a great many zeros.
    """
    found: list[Path] = []
    left = most_bytes
    try:
        with tarfile.open(archive, "r|*") as tar:
            for count, entry in enumerate(tar, 1):
                if count > _MOST_ENTRIES:
                    raise ArchiveError(f"has more than {_MOST_ENTRIES:,} files")
                _check(entry)
                left -= entry.size
                if left < 0:
                    raise ArchiveError(f"holds more than {most_bytes // 2**20} MB")
                name = PurePosixPath(entry.name).name
                if entry.isfile() and is_wanted(name):
                    found.append(_copy(tar, entry, folder / name))
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(f"cannot be read as a tar: {error}") from None
    return found


def _check(entry: tarfile.TarInfo) -> None:
    parts = PurePosixPath(entry.name).parts
    if entry.name.startswith("/") or ".." in parts or "\0" in entry.name:
        raise ArchiveError(f"{entry.name!r}: names lead downwards, from where the archive is unpacked")
    if not (entry.isfile() or entry.isdir()) or entry.size < 0 or entry.issparse():
        raise ArchiveError(f"{entry.name!r}: is neither a file nor a folder; links are not followed")


def _copy(tar: tarfile.TarFile, entry: tarfile.TarInfo, place: Path) -> Path:
    source = tar.extractfile(entry)
    assert source is not None  # it is a file
    try:
        with place.open("xb") as file:
            while chunk := source.read(_CHUNK):
                file.write(chunk)
    except FileExistsError:
        raise ArchiveError(f"{place.name}: there are two files of that name") from None
    return place
