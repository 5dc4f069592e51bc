import gzip
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import tfrecord
from services.domain.tfrecord import DatasetError, RecordFile

PAYLOADS = [b"first", b"", b"x" * 1000, bytes(range(256))]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "some.tfrecord"
    tfrecord.write(path, PAYLOADS)
    return path


def damage(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(data)


def test_checksum_is_the_published_one_masked() -> None:
    crc = 0xE3069283  # CRC-32C of "123456789", from its specification
    assert tfrecord.masked_crc32c(b"123456789") == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def test_a_file_is_the_one_tensorflow_writes(tmp_path: Path) -> None:
    path = tmp_path / "one.tfrecord"
    tfrecord.write(path, [b"abc"])
    # tf.io.TFRecordWriter's output for the same record
    assert path.read_bytes().hex() == "0300000000000000" + "b099490e" + "616263" + "6e57f121"


@given(payloads=st.lists(st.binary(max_size=300), max_size=8))
def test_written_records_are_read_and_counted(tmp_path_factory: pytest.TempPathFactory, payloads: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("records") / "some.tfrecord"
    written = tfrecord.write(path, payloads)
    assert list(tfrecord.read(path)) == payloads
    assert written == tfrecord.scan(path, allow_empty=True) == RecordFile(len(payloads), path.stat().st_size)


def test_every_truncation_is_found_and_located(records: Path) -> None:
    whole = records.read_bytes()
    starts = [0, 21, 37, 1053]  # of the four frames
    for length in range(1, len(whole)):
        records.write_bytes(whole[:length])
        if length in starts:  # cut between records: nothing tells that from a shorter file
            assert tfrecord.scan(records).records == starts.index(length)
            continue
        with pytest.raises(DatasetError) as caught:
            tfrecord.scan(records)
        assert caught.value.code == "dataset_truncated"
        assert caught.value.offset == max(start for start in starts if start < length)
        assert caught.value.record == starts.index(caught.value.offset)


def test_the_message_names_file_record_and_byte(records: Path) -> None:
    records.write_bytes(records.read_bytes()[:100])
    with pytest.raises(DatasetError, match=r"some\.tfrecord: record 2 at byte 37: it needs 1016 bytes, .* has 63 more"):
        tfrecord.scan(records)


def test_a_damaged_length_is_found_by_the_scan(records: Path) -> None:
    damage(records, 21)
    with pytest.raises(DatasetError, match="record 1 at byte 21") as caught:
        tfrecord.scan(records)
    assert caught.value.code == "dataset_corrupt"


def test_a_damaged_payload_is_found_by_reading(records: Path) -> None:
    damage(records, 37 + 12 + 500)
    assert tfrecord.scan(records).records == 4
    reader = tfrecord.read(records)
    assert [next(reader), next(reader)] == PAYLOADS[:2]
    with pytest.raises(DatasetError, match="record 2 at byte 37") as caught:
        next(reader)
    assert caught.value.code == "dataset_corrupt"


def test_a_scan_reads_no_payload(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 40)
    path = tmp_path / "sparse.tfrecord"
    with path.open("wb") as file:
        file.write(length + struct.pack("<I", tfrecord.masked_crc32c(length)))
    os.truncate(path, 16 + (1 << 40))  # one record of a terabyte, none of it on disk
    assert tfrecord.scan(path) == RecordFile(1, 16 + (1 << 40))


def test_an_empty_file_is_an_error_unless_allowed(tmp_path: Path) -> None:
    path = tmp_path / "empty.tfrecord"
    path.touch()
    with pytest.raises(DatasetError, match=r"empty\.tfrecord") as caught:
        tfrecord.scan(path)
    assert caught.value.code == "dataset_empty"
    assert tfrecord.scan(path, allow_empty=True) == RecordFile(0, 0)
    assert list(tfrecord.read(path)) == []


@pytest.mark.parametrize(
    ("content", "hint"),
    [(b"\x89PNG\r\n\x1a\n" + bytes(40), "not a TFRecord file"), (gzip.compress(b"abc" * 50), "gzip")],
)
def test_another_format_is_refused(tmp_path: Path, content: bytes, hint: str) -> None:
    path = tmp_path / "other.tfrecord"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=hint) as caught:
        tfrecord.scan(path)
    assert caught.value.code == "dataset_corrupt"


def test_missing_files_folders_and_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "pipe"):
        with pytest.raises(DatasetError, match=path.name) as caught:
            tfrecord.scan(path)
        assert caught.value.code == "dataset_missing"
