"""Read TFRecord files of any size, one record at a time, and verify every checksum."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from services.datasets.checksum import masked_crc32c
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError

__all__ = ["Record", "identity", "read"]

_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")


@dataclass(frozen=True)
class Record:
    number: int  # in its file, from 0
    payload: bytes
    frame: bytes  # the payload with its header and checksums, as in the file


def read(path: Path) -> Iterator[Record]:
    """Every record in order; none for an empty file.

    Raises DatasetError before the first record if the file is not a TFRecord file or is truncated, at a record whose
    data does not match its checksum, and after the last one at the latest if the file changed while it was read.
    """
    before = os.stat(path) if path.exists() else None
    tfrecord.scan(path, allow_empty=True)  # checks all headers, so that they need no check below
    with path.open("rb") as file:
        if before is None or identity(os.fstat(file.fileno())) != identity(before):
            raise _changed(path)
        number = offset = 0
        while offset < before.st_size:
            header = file.read(_HEADER.size)
            length = _HEADER.unpack(header)[0] if len(header) == _HEADER.size else 0
            body = file.read(length + _CRC.size) if offset + length < before.st_size else b""
            if len(body) < length + _CRC.size:
                raise _changed(path)
            if masked_crc32c(body[:length]) != _CRC.unpack(body[length:])[0]:
                problem = "its data does not match its checksum; write the file again"
                where = f"{path}: record {number} at byte {offset}"
                raise DatasetError("dataset_corrupt", f"{where}: {problem}", record=number, offset=offset)
            yield Record(number, body[:length], header + body)
            number += 1
            offset += len(header) + len(body)
        if identity(os.fstat(file.fileno())) != identity(before):
            raise _changed(path)


def identity(about: os.stat_result) -> tuple[int, ...]:
    """Equal for the same file with the same content, as far as the file system tells."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _changed(path: Path) -> DatasetError:
    return DatasetError("dataset_corrupt", f"{path}: changed while it was read; wait until it is written")
