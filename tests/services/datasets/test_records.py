"""Records are read one at a time, and damaged ones are refused."""

import os
import random
import tracemalloc
from pathlib import Path

import pytest

from services.datasets import checksum, records
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError


@pytest.mark.parametrize("length", [0, 1, 1023, 1024, 1025, 1279, 1280, 1281, 2048, 65537, 100_000])
def test_the_fast_checksum_equals_the_slow_one(length: int) -> None:
    data = random.Random(length).randbytes(length)
    assert checksum.masked_crc32c(data) == tfrecord.masked_crc32c(data)
    assert checksum.masked_crc32c(bytes(length)) == tfrecord.masked_crc32c(bytes(length))


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    payloads = [b"", b"a", bytes(5000), os.urandom(2000)]
    path = tmp_path / "file"
    tfrecord.write(path, payloads)
    found = list(records.read(path))
    assert [record.payload for record in found] == payloads
    assert [record.number for record in found] == [0, 1, 2, 3]
    assert b"".join(record.frame for record in found) == path.read_bytes()


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert list(records.read(tmp_path / "file")) == []


@pytest.mark.parametrize("position", [40, 2000, -1])
def test_a_changed_byte_is_found(tmp_path: Path, position: int) -> None:
    path = tmp_path / "file"
    tfrecord.write(path, [bytes(10), os.urandom(3000)])
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"file: record 1 at byte 26: .*checksum") as caught:
        list(records.read(path))
    assert (caught.value.code, caught.value.record) == ("dataset_corrupt", 1)


@pytest.mark.parametrize("content", [b"\x1f\x8b" + bytes(20), b"no records at all", None])
def test_a_file_that_is_not_a_tfrecord_file_is_refused_before_the_first_record(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    with pytest.raises(DatasetError, match="file"):
        next(records.read(tmp_path / "file"))


@pytest.mark.parametrize("change", ["append", "truncate", "rewrite"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "file"
    tfrecord.write(path, [os.urandom(300_000)] * 3)
    reading = records.read(path)
    next(reading)
    if change == "append":
        with path.open("ab") as file:
            file.write(b"more")
    elif change == "truncate":
        os.truncate(path, 400_000)
    else:
        os.utime(path, (1, 1))
    with pytest.raises(DatasetError, match="changed while it was read"):
        list(reading)


def test_only_a_few_records_are_in_memory_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    frame = tmp_path / "frame"
    tfrecord.write(frame, [random.Random(0).randbytes(200_000)])
    path.write_bytes(frame.read_bytes() * 100)  # 20 MB
    tracemalloc.start()
    assert sum(1 for _ in records.read(path)) == 100
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * 200_000 + 3_000_000  # including the checksum's tables
