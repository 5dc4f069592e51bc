"""Read untrusted tar archives, gzipped or not, entry by entry in bounded memory."""

import functools
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from services.domain.sizes import in_mb
from services.library.archive import ArchiveEntry, ArchiveError, TooLarge, not_a_file, too_many

__all__ = ["TAR_FAULTS", "read_tar"]

TAR_FAULTS = (tarfile.TarError, EOFError, ValueError)
# Until Python 3.11.10, tarfile takes time quadratic in a header's length (CVE-2024-6232).
_LONGEST_HEADER = 2**12  # bytes
_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_GZIP = b"\x1f\x8b"


def read_tar(archive: Path, most_entries: int, most_bytes: int) -> Iterator[ArchiveEntry]:
    """Each file and folder, in order. Raises ArchiveError or, as reading a content does, one of TAR_FAULTS.

    `most_bytes`: of all content and headers, unpacked.
    """
    with _Tar.open(archive, _mode(archive), most_entries=most_entries) as tar:  # type: ignore[call-overload]
        while (entry := tar.next()) is not None:
            tar.members.clear()  # tarfile keeps them all
            if not (entry.isfile() or entry.isdir()) or entry.size < 0 or entry.issparse():
                raise not_a_file(entry.name)
            if entry.offset_data + entry.size > most_bytes:  # counts all headers up to here
                raise TooLarge(f"holds more than {in_mb(most_bytes)}")
            yield ArchiveEntry(entry.name, entry.isdir(), functools.partial(_content, tar, entry))


def _mode(archive: Path) -> Any:
    """Plain or gzip only. `r|*` would also take xz, which allocates as much memory as the archive demands."""
    with archive.open("rb") as file:
        return "r|gz" if file.read(len(_GZIP)) == _GZIP else "r|"


def _content(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(entry)
    assert content is not None  # it is a file
    return content


class _Entry(tarfile.TarInfo):
    """Refuses headers that tarfile would expand before it returns the entry: a few KB could become a GB."""

    def _proc_member(self, tar: "_Tar") -> Any:
        tar.seen += 1
        if tar.seen > tar.most_entries:
            raise too_many(tar.most_entries)
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise not_a_file(self.name)
        if self.type in _HEADERS and self.size > _LONGEST_HEADER:
            raise ArchiveError(f"has a header of {self.size:,} bytes; the limit is {_LONGEST_HEADER:,}")
        return super()._proc_member(tar)  # type: ignore[misc]

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise not_a_file(self.name)


class _Tar(tarfile.TarFile):
    tarinfo = _Entry

    def __init__(self, *arguments: Any, most_entries: int, **options: Any) -> None:
        self.seen = 0  # entries and extension headers
        self.most_entries = most_entries
        super().__init__(*arguments, **options)
