"""Unpack untrusted tar and zip archives within limits that are checked before anything is written.

Archives in them are not opened.
"""

import functools
import unicodedata
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from services.domain.sizes import in_mb
from services.library.archive import ArchiveEntry, ArchiveError, TooLarge, too_many
from services.library.tar_archive import TAR_FAULTS, read_tar
from services.library.zip_archive import ZIP_FAULTS, is_zip, read_zip

__all__ = ["ArchiveError", "TooLarge", "unpack"]

_MOST_ENTRIES = 20_000
_MOST_WITH_FOLDERS = 250_000  # entries, and also folders: a picture and its labels are two
_LONGEST_NAME = 255  # bytes; the limit of the usual file systems
_LONGEST_PATH = 1000  # bytes
_DEEPEST = 20  # folders
_CHUNK = 2**20


def unpack(
    archive: Path, folder: Path, most_bytes: int, is_wanted: Callable[[str], bool], *, keep_folders: bool = False
) -> list[Path]:
    """Unpack the wanted files of a zip or of a tar, gzipped or not, into `folder`. Raises ArchiveError.

    Without `keep_folders`, all files come into `folder` itself. `is_wanted` gets a file's path below it. Links,
    devices, absolute names and `..` are refused even for unwanted files. `most_bytes` limits all unpacked bytes,
    unwanted files included: a small archive may hold gigabytes of zeros.
    """
    most_entries = _MOST_WITH_FOLDERS if keep_folders else _MOST_ENTRIES
    target = _Target(folder, most_entries, most_bytes)
    is_zipped = is_zip(archive)
    read = functools.partial(read_zip if is_zipped else read_tar, archive, most_entries, most_bytes)
    try:
        for entry in read():  # a second reading costs less than to write many files, and to remove them again
            _parts(entry.name)
        for entry in read():
            parts = _parts(entry.name)
            path = "/".join(parts if keep_folders else parts[-1:])
            if not entry.is_folder and path and is_wanted(path):
                target.write(entry, path)
    except ArchiveError:
        raise
    except RecursionError:
        raise ArchiveError("cannot be read as a tar or zip: headers without end") from None
    except (*ZIP_FAULTS, *TAR_FAULTS) as error:
        kind = "zip" if is_zipped else "tar or zip"
        raise ArchiveError(f"cannot be read as a {kind}: {str(error)[:_LONGEST_PATH]}") from None
    return target.files


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a name that stays inside the archive."""
    parts = PurePosixPath(name).parts
    if (
        not all(map(_is_shown, name))
        or any(len(part.encode()) > _LONGEST_NAME for part in parts)
        or len(name.encode()) > _LONGEST_PATH
        or len(parts) > _DEEPEST
    ):
        raise ArchiveError(f"{name[:80]!r}: is not a valid file name on every system")
    if name.startswith("/") or ".." in parts:
        raise ArchiveError(f"{name!r}: paths must stay inside the archive, without / at the start and without ..")
    return parts


def _is_shown(character: str) -> bool:
    """Also spaces of all kinds: macOS writes a narrow one into the names of its screenshots."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


class _Target:
    """The folder that files are written to. It counts what is really written, whatever the archive declares."""

    def __init__(self, folder: Path, most_folders: int, most_bytes: int) -> None:
        self.files: list[Path] = []
        self._folder = folder
        self._made = {folder}
        self._most_folders = most_folders
        self._most_bytes = most_bytes
        self._written = 0

    def write(self, entry: ArchiveEntry, path: str) -> None:
        target = self._folder / path
        try:
            self._make(target.parent)
            self._written += _copy(entry, target, self._most_bytes - self._written)
        except (FileExistsError, NotADirectoryError):
            shown = PurePosixPath(path)
            raise ArchiveError(f"{shown}: the archive has two files of this name") from None
        self.files.append(target)

    def _make(self, folder: Path) -> None:
        if folder not in self._made:
            self._make(folder.parent)
            folder.mkdir()
            self._made.add(folder)
            if len(self._made) > self._most_folders:
                raise too_many(self._most_folders)


def _copy(entry: ArchiveEntry, target: Path, most_bytes: int) -> int:
    """Returns the number of bytes."""
    written = 0
    with entry.open() as source, target.open("xb") as file:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > most_bytes:
                raise TooLarge(f"holds more than {in_mb(most_bytes)}")
            file.write(chunk)
    return written
