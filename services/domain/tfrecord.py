"""TFRecord files without TensorFlow: write them, read them with all checksums verified, or count records cheaply.

A record is a length (uint64), the checksum of the length, the payload and its checksum, all little-endian. Checksums
are CRC-32C, "masked" because a payload may hold checksums itself.
"""

import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DatasetError", "RecordFile", "framed", "masked_crc32c", "payload_of", "read", "scan", "write"]

_HEADER = struct.Struct("<QI")
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_OVERHEAD = _HEADER.size + _CRC.size
_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_GZIP_MAGIC = b"\x1f\x8b"


class DatasetError(ValueError):
    """A dataset file that cannot be used. `code` is one of these; the message names file, record and byte offset.

    dataset_missing      no such file, or it cannot be read
    dataset_empty        the file holds no record
    dataset_truncated    the file ends inside a record
    dataset_corrupt      a checksum does not match, or the file is of another format
    dataset_bad_example  a record is intact, but not the tf.train.Example it should be
    dataset_refused      the request makes no sense, for example a sample dataset without images
    """

    def __init__(self, code: str, message: str, *, record: int | None = None, offset: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.record = record
        self.offset = offset


@dataclass(frozen=True)
class RecordFile:
    """The number of records in a file, and its size in bytes."""

    records: int
    bytes: int


def write(path: Path, payloads: Iterable[bytes], checksum: Callable[[bytes], int] | None = None) -> RecordFile:
    """Write the payloads in order, one record each. Replaces the content of the file.

    `checksum`: a faster `masked_crc32c`.
    """
    checksum = checksum or masked_crc32c
    records = size = 0
    with path.open("wb") as file:
        for payload in payloads:
            length = _LENGTH.pack(len(payload))
            file.write(length + _CRC.pack(masked_crc32c(length)))
            file.write(payload)
            file.write(_CRC.pack(checksum(payload)))
            records += 1
            size += len(payload) + _OVERHEAD
    return RecordFile(records, size)


def read(path: Path) -> Iterator[bytes]:
    """Every payload in order, with its checksum verified. Slow, about 0.1 s per MB: for samples and tests.

    Raises DatasetError at the first damaged record. An empty file yields nothing.
    """
    with _opened(path) as descriptor:
        for record, offset, length in _frames(path, descriptor):
            body = os.pread(descriptor, length + _CRC.size, offset + _HEADER.size)
            payload, (checksum,) = body[:length], _CRC.unpack(body[length:])
            if masked_crc32c(payload) != checksum:
                raise _error("dataset_corrupt", path, record, offset, "its data does not match its checksum")
            yield payload


def scan(path: Path, *, allow_empty: bool = False) -> RecordFile:
    """Count the records by their frames: reads 12 bytes of each, whatever its size.

    Raises DatasetError for a file that is missing, truncated, no TFRecord file or (without `allow_empty`, which is for
    one shard of several) empty. Damage inside a payload is found by `read` only.
    """
    with _opened(path) as descriptor:
        records = sum(1 for _ in _frames(path, descriptor))
        size = os.fstat(descriptor).st_size
    if not records and not allow_empty:
        raise _error("dataset_empty", path, 0, 0, "the file is empty")
    return RecordFile(records, size)


def framed(length: int) -> int:
    """The bytes that a payload of this length takes in a file."""
    return length + _OVERHEAD


def payload_of(frame: bytes, checksum: Callable[[bytes], int] | None = None) -> bytes | None:
    """The payload of exactly one whole record with its frame; None if this is none. `checksum`: as of `write`."""
    checksum = checksum or masked_crc32c
    if len(frame) < _OVERHEAD:
        return None
    length, header_sum = _HEADER.unpack_from(frame)
    payload = frame[_HEADER.size : -_CRC.size]
    if length != len(payload) or masked_crc32c(frame[: _LENGTH.size]) != header_sum:
        return None
    return payload if checksum(payload) == _CRC.unpack(frame[-_CRC.size :])[0] else None


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return masked(crc ^ 0xFFFFFFFF)


def masked(crc: int) -> int:
    """TFRecord stores CRCs like this, as data may contain CRCs too."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A plain descriptor: `pread` reads 12 bytes where a buffered file would read 8 KB at every seek."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # O_NONBLOCK: opening a pipe must not wait for a writer
    except OSError as error:
        raise _error("dataset_missing", path, None, None, error.strerror or str(error)) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _error("dataset_missing", path, None, None, "is not a file")
        yield descriptor
    finally:
        os.close(descriptor)


def _frames(path: Path, descriptor: int) -> Iterator[tuple[int, int, int]]:
    """(record number, offset of its frame, length of its payload) of each frame. All lie inside the file."""
    size = os.fstat(descriptor).st_size
    record = offset = 0
    while offset < size:
        header = os.pread(descriptor, _HEADER.size, offset)
        if record == 0 and header.startswith(_GZIP_MAGIC):
            raise _error("dataset_corrupt", path, 0, 0, "it is gzip-compressed; decompress it first")
        if len(header) < _HEADER.size:
            raise _truncated(path, record, offset, _HEADER.size, len(header))
        length, checksum = _HEADER.unpack(header)
        if masked_crc32c(header[: _LENGTH.size]) != checksum:
            problem = "its length does not match its checksum" if record else "this is not a TFRecord file"
            raise _error("dataset_corrupt", path, record, offset, problem)
        if offset + _OVERHEAD + length > size:
            raise _truncated(path, record, offset, _OVERHEAD + length, size - offset)
        yield record, offset, length
        record += 1
        offset += _OVERHEAD + length


def _truncated(path: Path, record: int, offset: int, needed: int, left: int) -> DatasetError:
    return _error("dataset_truncated", path, record, offset, f"it needs {needed} bytes, the file has {left} more")


def _error(code: str, path: Path, record: int | None, offset: int | None, problem: str) -> DatasetError:
    where = "" if record is None else f": record {record} at byte {offset}"
    return DatasetError(code, f"{path}{where}: {problem}", record=record, offset=offset)


def _crc_table() -> tuple[int, ...]:
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_TABLE = _crc_table()
