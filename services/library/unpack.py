"""Unpack untrusted tar archives within limits that are checked before anything is read or written."""

import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from services.domain.sizes import in_mb

__all__ = ["ArchiveError", "TooLarge", "unpack"]

_MOST_ENTRIES = 20_000
# Until Python 3.11.10, tarfile takes time quadratic in a header's length (CVE-2024-6232).
_LONGEST_HEADER = 2**12  # bytes
_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_LONGEST_NAME = 255  # bytes; the limit of the usual file systems
_CHUNK = 2**20
_GZIP = b"\x1f\x8b"


class ArchiveError(ValueError):
    """The archive is refused; the message says why."""


class TooLarge(ArchiveError):
    """The unpacked files would exceed the limit."""


def unpack(archive: Path, folder: Path, most_bytes: int, is_wanted: Callable[[str], bool]) -> list[Path]:
    """Unpack the wanted files of a tar, gzipped or not, into `folder` without subfolders. Raises ArchiveError.

    Links, devices, absolute names and `..` are refused even for unwanted files. `most_bytes` limits all unpacked bytes,
    unwanted files included: a small archive may hold gigabytes of zeros.
    """
    found: list[Path] = []
    try:
        with _Tar.open(archive, _mode(archive)) as tar:
            for entry in tar:
                _check(entry)
                if entry.offset_data + entry.size > most_bytes:  # counts all headers up to here
                    raise TooLarge(f"holds more than {in_mb(most_bytes)}")
                name = PurePosixPath(entry.name).name
                if entry.isfile() and is_wanted(name):
                    found.append(_copy(tar, entry, folder / name))
    except (tarfile.TarError, EOFError, ValueError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(f"cannot be read as a tar: {error}") from None
    except RecursionError:
        raise ArchiveError("cannot be read as a tar: headers without end") from None
    return found


def _mode(archive: Path) -> Any:
    """Plain or gzip only. `r|*` would also take xz, which allocates as much memory as the archive demands."""
    with archive.open("rb") as file:
        return "r|gz" if file.read(len(_GZIP)) == _GZIP else "r|"


class _Entry(tarfile.TarInfo):
    """Refuses headers that tarfile would expand before it returns the entry: a few KB could become a GB."""

    def _proc_member(self, tar: "_Tar") -> Any:
        tar.seen += 1
        if tar.seen > _MOST_ENTRIES:
            raise ArchiveError(f"has more than {_MOST_ENTRIES:,} files")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise _not_a_file(self.name)
        if self.type in _HEADERS and self.size > _LONGEST_HEADER:
            raise ArchiveError(f"has a header of {self.size:,} bytes; the limit is {_LONGEST_HEADER:,}")
        return super()._proc_member(tar)  # type: ignore[misc]

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise _not_a_file(self.name)


class _Tar(tarfile.TarFile):
    tarinfo = _Entry
    seen = 0  # entries and extension headers


def _check(entry: tarfile.TarInfo) -> None:
    parts = PurePosixPath(entry.name).parts
    if not entry.name.isprintable() or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        raise ArchiveError(f"{entry.name[:80]!r}: is not a valid file name on every system")
    if entry.name.startswith("/") or ".." in parts:
        raise ArchiveError(f"{entry.name!r}: paths must stay inside the archive, without / at the start and without ..")
    if not (entry.isfile() or entry.isdir()) or entry.size < 0 or entry.issparse():
        raise _not_a_file(entry.name)


def _not_a_file(name: str) -> ArchiveError:
    return ArchiveError(f"{name!r}: is neither a file nor a folder; links are not followed")


def _copy(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> Path:
    source = tar.extractfile(entry)
    assert source is not None  # it is a file
    try:
        with target.open("xb") as file:
            while chunk := source.read(_CHUNK):
                file.write(chunk)
    except FileExistsError:
        raise ArchiveError(f"{target.name}: the archive has two files of this name") from None
    return target
