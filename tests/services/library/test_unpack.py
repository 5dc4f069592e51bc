"""An archive is unpacked or refused with a reason; nothing is written outside the folder."""

import gzip
import io
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from services.library.unpack import ArchiveError, unpack

MB = 2**20
Entry = tuple[tarfile.TarInfo, bytes]
Mode = Literal["w", "w:gz", "w:bz2", "w:xz"]


def tarred(path: Path, *entries: tuple[tarfile.TarInfo, bytes], mode: Mode = "w") -> Path:
    with tarfile.open(path, mode) as tar:
        for entry, data in entries:
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def file(
    name: str, data: bytes = b"data", kind: bytes = tarfile.REGTYPE, target: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry, data if kind == tarfile.REGTYPE else b""


def everything(name: str) -> bool:
    return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "into"
    made.mkdir()
    return made


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_wanted_files_are_unpacked_without_subfolders(tmp_path: Path, folder: Path, mode: Mode) -> None:
    entries = [file("d", kind=tarfile.DIRTYPE), file("d/one", b"1"), file("./d/e/two", b"22"), file("d/three")]
    archive = tarred(tmp_path / "a.tar", *entries, mode=mode)
    assert [path.name for path in unpack(archive, folder, MB, lambda name: name != "three")] == ["one", "two"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"one": b"1", "two": b"22"}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (file("/etc/passwd"), "paths must stay inside the archive"),
        (file("../up"), "paths must stay inside the archive"),
        (file("d/../../up"), "paths must stay inside the archive"),
        (file("link", kind=tarfile.SYMTYPE, target="/etc/passwd"), "links are not followed"),
        (file("hard", kind=tarfile.LNKTYPE, target="one"), "links are not followed"),
        (file("pipe", kind=tarfile.FIFOTYPE), "links are not followed"),
        (file("null", kind=tarfile.CHRTYPE), "links are not followed"),
        (file("again/one"), "two files of this name"),
    ],
)
def test_entries_that_could_leave_the_folder_are_refused(
    tmp_path: Path, folder: Path, entry: tuple[tarfile.TarInfo, bytes], problem: str
) -> None:
    archive = tarred(tmp_path / "a.tar", file("one"), entry)
    with pytest.raises(ArchiveError, match=problem):
        unpack(archive, folder, MB, everything)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "into"]


def test_a_small_archive_that_unpacks_to_much_is_refused(tmp_path: Path, folder: Path) -> None:
    archive = tarred(tmp_path / "a.tgz", file("unwanted", bytes(5 * MB)), mode="w:gz")
    assert archive.stat().st_size < 100_000
    with pytest.raises(ArchiveError, match="more than 4 MB"):
        unpack(archive, folder, 4 * MB, lambda name: False)


def test_an_archive_of_too_many_files_is_refused(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.library.unpack._MOST_ENTRIES", 3)
    with pytest.raises(ArchiveError, match="more than 3 files"):
        unpack(tarred(tmp_path / "a.tar", *(file(str(number)) for number in range(4))), folder, MB, everything)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: b"no archive at all" * 100,
        lambda data: data[:700],
        lambda data: gzip.compress(data)[:-20],
        lambda data: data[:100] + b"\xff" * 300 + data[400:],
    ],
    ids=["empty", "another kind", "cut", "cut in the gzip", "damaged"],
)
def test_a_damaged_archive_is_refused(tmp_path: Path, folder: Path, spoil: Callable[[bytes], bytes]) -> None:
    archive = tarred(tmp_path / "a.tar", file("one", b"1" * 3000))
    archive.write_bytes(spoil(archive.read_bytes()))
    with pytest.raises(ArchiveError, match="cannot be read as a tar"):
        unpack(archive, folder, MB, everything)


def header(kind: bytes, data: bytes, size: int | None = None, name: str = "h") -> bytes:
    """An extension header for the entry after it."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, len(data) if size is None else size
    return entry.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)


SPARSE = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        (header(tarfile.XHDTYPE, b"1" * 2**20), "has a header of 1,048,576 bytes"),
        (header(tarfile.XGLTYPE, b"", size=2**32), "has a header of 4,294,967,296 bytes"),
        (header(tarfile.GNUTYPE_LONGNAME, b"", size=2**32), "has a header of 4,294,967,296 bytes"),
        (header(tarfile.XHDTYPE, b"12 path=abc\n") * 1000, "headers without end"),
        (header(tarfile.GNUTYPE_LONGNAME, b"abc") * 1000, "headers without end"),
        (header(tarfile.GNUTYPE_SPARSE, b""), "neither a file nor a folder"),
        (header(tarfile.XHDTYPE, SPARSE) + header(tarfile.REGTYPE, b"9999999\n" + b"1\n" * 2**18), "neither a file"),
    ],
    ids=["slow", "large", "long name", "chain", "chain of names", "sparse", "sparse in pax"],
)
def test_a_header_that_is_too_long_is_refused_before_it_is_read(
    tmp_path: Path, folder: Path, blocks: bytes, problem: str
) -> None:
    archive = tmp_path / "a.tgz"
    archive.write_bytes(gzip.compress(blocks + header(tarfile.REGTYPE, b"data") + bytes(1024)))
    before = time.process_time()
    with pytest.raises(ArchiveError, match=problem):
        unpack(archive, folder, MB, everything)
    assert time.process_time() - before < 2  # 1 MB of digits would take an hour


def test_headers_count_as_entries_of_an_archive(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.library.unpack._MOST_ENTRIES", 5)
    pair = header(tarfile.XGLTYPE, b"12 path=abc\n") + header(tarfile.REGTYPE, b"data")
    (tmp_path / "a.tar").write_bytes(pair * 3 + bytes(1024))
    with pytest.raises(ArchiveError, match="more than 5 files"):
        unpack(tmp_path / "a.tar", folder, MB, lambda name: False)


@pytest.mark.parametrize("name", ["\udcff", "a\nb", "a\x1b[31m", "n" * 256])
def test_a_name_that_cannot_be_shown_or_stored_is_refused(tmp_path: Path, folder: Path, name: str) -> None:
    with pytest.raises(ArchiveError, match="is not a valid file name on every system") as refused:
        unpack(tarred(tmp_path / "a.tar", file(name), file(f"again/{name}")), folder, MB, everything)
    assert str(refused.value).isprintable()
    assert str(tmp_path) not in str(refused.value)


def test_only_gzip_is_unpacked(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ArchiveError, match="cannot be read as a tar"):
        unpack(tarred(tmp_path / "a.tar", file("one"), mode="w:xz"), folder, MB, everything)
