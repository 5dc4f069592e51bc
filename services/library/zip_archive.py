"""Read untrusted zip archives entry by entry. Nothing is unpacked before the whole directory has been checked."""

import contextlib
import functools
import io
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

from services.domain.sizes import in_mb
from services.library.archive import ArchiveEntry, ArchiveError, TooLarge, not_a_file, too_many

__all__ = ["ZIP_FAULTS", "is_zip", "read_zip"]

ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OverflowError, ValueError)
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # the second is that of an empty one
_DIRECTORY_ENTRY = b"PK\x01\x02"
_LARGEST_DIRECTORY = 48 * 2**20  # bytes; 300,000 entries with long names
_SMALLEST_HEADER = 30  # bytes, before each file's content
_ENCRYPTED = 0x1 | 0x40  # flags
_UTF8 = 0x800
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)  # 0: not made on Unix


def is_zip(archive: Path) -> bool:
    with archive.open("rb") as file:
        return file.read(4) in _MAGIC


def read_zip(archive: Path, most_entries: int, most_bytes: int) -> Iterator[ArchiveEntry]:
    """Each file and folder. Raises ArchiveError or, as reading a content does, one of ZIP_FAULTS.

    `most_bytes`: of the declared sizes.
    """
    with _Bounded(archive, most_entries) as file, zipfile.ZipFile(file) as opened:
        entries = sorted(opened.infolist(), key=lambda entry: entry.header_offset)
        _check(entries, most_entries, most_bytes, opened.start_dir)
        for entry in entries:
            name = _name(entry)
            yield ArchiveEntry(name, name.endswith("/"), functools.partial(_content, opened, entry))


class _Bounded(io.FileIO):
    """Refuses a large directory. zipfile reads it at once, and makes an object of each entry."""

    def __init__(self, path: Path, most_entries: int) -> None:
        super().__init__(path)
        self._most_entries = most_entries

    def read(self, size: int | None = -1, /) -> bytes:
        asked = _LARGEST_DIRECTORY + 1 if size is None or size < 0 else size
        if asked > _LARGEST_DIRECTORY + 1:
            raise ArchiveError(f"has a directory of {asked:,} bytes; the limit is {_LARGEST_DIRECTORY:,}")
        data = super().read(asked) or b""
        if data.count(_DIRECTORY_ENTRY) > self._most_entries:
            raise too_many(self._most_entries)
        return data


def _check(entries: Sequence[zipfile.ZipInfo], most_entries: int, most_bytes: int, end: int) -> None:
    if len(entries) > most_entries:
        raise too_many(most_entries)
    for entry in entries:
        name = _name(entry)
        if entry.flag_bits & _ENCRYPTED:
            raise ArchiveError(f"{name[:200]!r}: is encrypted; send it without a password")
        if stat.S_IFMT(entry.external_attr >> 16) not in _KINDS:
            raise not_a_file(name)
        if entry.compress_type not in _METHODS:
            raise ArchiveError(f"{name[:200]!r}: is compressed in an unusual way; use the usual one (deflate)")
    if sum(entry.file_size for entry in entries) > most_bytes:
        raise TooLarge(f"holds more than {in_mb(most_bytes)}")
    starts = [*(entry.header_offset for entry in entries), end]
    for entry, (start, following) in zip(entries, pairwise(starts), strict=True):
        # The same bytes for many entries: some KB could become any number of GB.
        if start < 0 or start + _SMALLEST_HEADER + entry.compress_size > following:
            raise ArchiveError(f"{_name(entry)[:200]!r}: overlaps with what follows it; pack it again")


def _name(entry: zipfile.ZipInfo) -> str:
    """As it was meant: some tools write UTF-8 without the flag that says so, or a backslash instead of a slash."""
    name = entry.orig_filename
    if not entry.flag_bits & _UTF8:
        with contextlib.suppress(UnicodeError):  # an old archive, whose names are really in that code page
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _content(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> IO[bytes]:
    return opened.open(entry)
