"""Zip archives are unpacked like tars, with or without their folders, and refused for what zips can do beyond that."""

import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from services.library.unpack import ArchiveError, TooLarge, unpack

MB = 2**20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "into"
    made.mkdir()
    return made


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, **attributes: int) -> bytes:
    """`attributes`: of every entry, such as external_attr."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            for attribute, value in attributes.items():
                setattr(entry, attribute, value)
            archive.writestr(entry, data)
    return made.getvalue()


def unpacked(tmp_path: Path, folder: Path, data: bytes, most: int = MB, keep: bool = True) -> dict[str, bytes]:
    (tmp_path / "archive").write_bytes(data)
    files = unpack(tmp_path / "archive", folder, most, lambda path: not path.startswith("__MACOSX/"), keep_folders=keep)
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert sorted(found) == sorted(path.relative_to(folder).as_posix() for path in files)
    return found


def refused(tmp_path: Path, folder: Path, data: bytes, most: int = MB) -> str:
    with pytest.raises(ArchiveError) as raised:
        unpacked(tmp_path, folder, data, most)
    assert str(tmp_path) not in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"archive", "into"}
    return str(raised.value)


FILES = {"d/one": b"1", "d/e/one": b"22", "three": b"3" * 5000, "__MACOSX/d/._one": b"x"}
KEPT = {name: data for name, data in FILES.items() if not name.startswith("__MACOSX")}


def test_backslashes_of_old_tools_are_slashes(tmp_path: Path, folder: Path) -> None:
    assert unpacked(tmp_path, folder, zipped({"d\\": b"", "d\\one": b"1"})) == {"d/one": b"1"}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_keeps_its_folders(tmp_path: Path, folder: Path, method: int) -> None:
    assert unpacked(tmp_path, folder, zipped({"d/": b"", **FILES}, method)) == KEPT


def test_a_tar_keeps_its_folders(tmp_path: Path, folder: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, data in FILES.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    assert unpacked(tmp_path, folder, made.getvalue()) == KEPT


def test_a_zip_is_unpacked_without_folders_too(tmp_path: Path, folder: Path) -> None:
    assert unpacked(tmp_path, folder, zipped({"d/one": b"1", "e/two": b"2"}), keep=False) == {"one": b"1", "two": b"2"}
    with pytest.raises(ArchiveError, match="two files of this name"):
        unpacked(tmp_path, folder, zipped({"d/one": b"1", "e/one": b"2"}), keep=False)


@pytest.mark.parametrize("name", ["Größe/猫.jpg", "Bild\u202f1.png"])
def test_names_are_read_as_they_were_meant(tmp_path: Path, folder: Path, name: str) -> None:
    data = zipped({name: b"1"})
    unmarked = without_flag(data, 0x800)
    assert unmarked != data
    assert unpacked(tmp_path, folder, data) == {name: b"1"}
    other = tmp_path / "other"
    other.mkdir()
    assert unpacked(tmp_path, other, unmarked) == {name: b"1"}


def test_a_backslash_separates_folders(tmp_path: Path, folder: Path) -> None:
    assert unpacked(tmp_path, folder, zipped({"d\\one": b"1"})) == {"d/one": b"1"}
    assert "paths must stay inside" in refused(tmp_path, folder, zipped({"d\\..\\..\\up": b"1"}))


def without_flag(data: bytes, flag: int) -> bytes:
    return with_flag(data, 0, flag)


def with_flag(data: bytes, flag: int, cleared: int = 0) -> bytes:
    """Changes the flags of every entry, in its header and in the directory."""
    changed = bytearray(data)
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := data.find(signature, at + 1)) >= 0:
            (flags,) = struct.unpack_from("<H", data, at + place)
            struct.pack_into("<H", changed, at + place, flags & ~cleared | flag)
    return bytes(changed)


def with_declared(data: bytes, size: int) -> bytes:
    """The entry says that it unpacks to `size` bytes."""
    changed = bytearray(data)
    struct.pack_into("<L", changed, data.index(b"PK\x03\x04") + 22, size)
    struct.pack_into("<L", changed, data.index(b"PK\x01\x02") + 24, size)
    return bytes(changed)


def overlapping() -> bytes:
    """Every entry of the directory has the same header and content."""
    data = bytearray(zipped({f"{number}": bytes(10_000) for number in range(20)}))
    at = -1
    while (at := data.find(b"PK\x01\x02", at + 1)) >= 0:
        struct.pack_into("<L", data, at + 42, 0)
    return bytes(data)


def with_end(data: bytes, **fields: int) -> bytes:
    changed = bytearray(data)
    at = data.rindex(b"PK\x05\x06")
    for name, value in fields.items():
        struct.pack_into("<L", changed, at + {"size": 12, "offset": 16}[name], value)
    return bytes(changed)


def with_zip64_end(data: bytes, size: int, offset: int) -> bytes:
    at = data.rindex(b"PK\x05\x06")
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, offset)
    return data[:at] + end + struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1) + data[at:]


LINK = (stat.S_IFLNK | 0o777) << 16


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (zipped({"../up": b""}), "paths must stay inside"),
        (zipped({"d/../../up": b""}), "paths must stay inside"),
        (zipped({"/etc/passwd": b""}), "paths must stay inside"),
        (zipped({"one": b"", "link": b"/etc/passwd"}, external_attr=LINK), "links are not followed"),
        (zipped({"pipe": b""}, external_attr=stat.S_IFIFO << 16), "links are not followed"),
        (zipped({"d/one": b"", "./d/one": b""}), "d/one: the archive has two files of this name"),
        (zipped({"one": b"", "one/two": b""}), "two files of this name"),
        (zipped({"one/two": b"", "one": b""}), "two files of this name"),
        (zipped({"d/" * 30 + "one": b""}), "not a valid file name"),
        (zipped({"n" * 256: b""}), "not a valid file name"),
        (zipped({"a\nb": b""}), "not a valid file name"),
        (zipped({"one": b"1"}, zipfile.ZIP_BZIP2), "compressed in an unusual way"),
        (zipped({"one": b"1"}, zipfile.ZIP_LZMA), "compressed in an unusual way"),
        (with_flag(zipped({"one": b"1"}), 0x1), "'one': is encrypted"),
        (with_flag(zipped({"one": b"1"}), 0x41), "'one': is encrypted"),
        (overlapping(), "overlaps with what follows"),
        (with_declared(zipped({"one": bytes(5000)}), 10), "cannot be read as a zip"),
        (zipped({"one": b"1" * 3000}, zipfile.ZIP_STORED)[:2000], "cannot be read as a zip"),
        (zipped({"one": b"1" * 3000}, zipfile.ZIP_STORED).replace(b"111", b"121", 1), "cannot be read as a zip"),
        (with_end(zipped({"one": b"1"}), size=2**31), "cannot be read as a zip"),
        (with_end(zipped({"one": b"1"}), offset=2**31), "overlaps with what follows"),
        (with_zip64_end(zipped({"one": b"1"}), 2**62, 0), "cannot be read as a zip"),
        (with_zip64_end(zipped({"one": b"1"}), 2**32, 2**63), "cannot be read as a zip"),
        (b"PK\x03\x04", "cannot be read as a zip"),
    ],
)
def test_a_hostile_or_damaged_zip_is_refused(tmp_path: Path, folder: Path, data: bytes, problem: str) -> None:
    assert problem in refused(tmp_path, folder, data)


def test_a_zip_that_unpacks_to_much_is_refused_before_anything_is_written(tmp_path: Path, folder: Path) -> None:
    data = zipped({f"{number}": bytes(MB) for number in range(5)})
    assert len(data) < 50_000
    (tmp_path / "archive").write_bytes(data)
    with pytest.raises(TooLarge, match="more than 4 MB"):
        unpack(tmp_path / "archive", folder, 4 * MB, lambda _: True, keep_folders=True)
    assert not list(folder.iterdir())


def many_in_zip(count: int) -> bytes:
    """A directory of so many empty files. Python's own writer would take half a minute for a million."""
    entry = struct.Struct("<4s6H3L5H2L")
    head = zipped({"0": b""})
    names = (f"{number:07}".encode() for number in range(count))
    directory = b"".join(entry.pack(b"PK\x01\x02", *[0] * 9, 7, *[0] * 6) + name for name in names)
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(directory), len(head))
    at = len(head) + len(directory)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    return head + directory + end + locator + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, *[2**16 - 1] * 2, 0, 0, 0)


def many_in_tar(count: int) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as tar:
        assert tar.fileobj is not None
        for number in range(count):
            tar.fileobj.write(tarfile.TarInfo(f"{number:07}").tobuf(tarfile.USTAR_FORMAT))
    return made.getvalue()


@pytest.mark.parametrize(("make", "count"), [(many_in_zip, 1_000_000), (many_in_zip, 6000), (many_in_tar, 6000)])
def test_too_many_entries_are_refused_before_anything_is_written(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[int], bytes], count: int
) -> None:
    if count < 1_000_000:
        monkeypatch.setattr("services.library.unpack._MOST_WITH_FOLDERS", 5000)
    data = make(count)
    said = refused(tmp_path, folder, data, 64 * MB)
    assert "files" in said or "directory of" in said
    assert not list(folder.iterdir())


def test_no_more_folders_than_files_are_made(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.library.unpack._MOST_WITH_FOLDERS", 50)
    deep = {"/".join([f"{number}", *"abcdefgh", "one"]): b"" for number in range(10)}
    assert "more than 50 files" in refused(tmp_path, folder, zipped(deep))


def test_an_archive_in_an_archive_is_a_file(tmp_path: Path, folder: Path) -> None:
    inner = zipped({"../up": bytes(MB)})
    assert unpacked(tmp_path, folder, zipped({"inner.zip": inner})) == {"inner.zip": inner}
