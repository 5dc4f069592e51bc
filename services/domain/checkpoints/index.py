"""Reads the names and shapes of the variables in a TensorFlow checkpoint from its index, without TensorFlow.

The index is a sorted table in LevelDB's format: blocks of entries whose keys share prefixes, an index block, and a
footer with its position. Each value is a BundleEntryProto. Any damage or other format raises UnreadableIndex.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

__all__ = ["UnreadableIndex", "read_shapes"]

Shape = tuple[int, ...]

_LARGEST = 4 * 2**20  # bytes; the largest of the model zoo has 0.3 MB
_MOST_ENTRIES = 50_000
_LONGEST_KEY = 4096
_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = 5  # after a block: its compression and its checksum
_VARIABLE = b"/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT = b"/.OPTIMIZER_SLOT/"


class UnreadableIndex(ValueError):
    """Not the index of a checkpoint, or damaged, or larger than any that is known."""


def read_shapes(path: Path) -> dict[str, Shape]:
    """The shape of each variable by its name, without those of the optimizer. Raises UnreadableIndex and OSError."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if not _FOOTER <= len(data) <= _LARGEST:
        raise UnreadableIndex("its size is not that of an index")
    try:
        return _shapes(data)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise UnreadableIndex("it is damaged") from None


def _shapes(data: bytes) -> dict[str, Shape]:
    footer = data[-_FOOTER:]
    if struct.unpack_from("<Q", footer, 40)[0] != _MAGIC:
        raise UnreadableIndex("it is not the index of a checkpoint")
    _, at = _varint(footer, 0)  # offset of the meta-index
    _, at = _varint(footer, at)  # and its size
    found: dict[str, Shape] = {}
    count = read = 0
    for _, handle in _entries(_block(data, footer, at)):
        block = _block(data, handle, 0)
        read += len(block) + _TRAILER
        if read > len(data):
            raise UnreadableIndex("its blocks overlap")
        for key, value in _entries(block):
            count += 1
            if count > _MOST_ENTRIES:
                raise UnreadableIndex("it has more variables than any model")
            if key.endswith(_VARIABLE) and _SLOT not in key:
                found[key.removesuffix(_VARIABLE).decode()] = _shape(value)
    return found


def _block(data: bytes, handle: bytes, at: int) -> bytes:
    """The block at the offset and of the size that a handle holds."""
    offset, at = _varint(handle, at)
    size, _ = _varint(handle, at)
    end = offset + size
    if end + _TRAILER > len(data):
        raise UnreadableIndex("it is damaged")
    if data[end] != 0:
        raise UnreadableIndex("it is compressed")
    return data[offset:end]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 * (restarts + 1)
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        unshared, at = _varint(block, at)
        size, at = _varint(block, at)
        if shared > len(key) or shared + unshared > _LONGEST_KEY or at + unshared + size > end:
            raise UnreadableIndex("it is damaged")
        key = key[:shared] + block[at : at + unshared]
        yield key, block[at + unshared : at + unshared + size]
        at += unshared + size


def _shape(entry: bytes) -> Shape:
    """The shape in a BundleEntryProto: field 2 is a TensorShapeProto, its fields 2 are dimensions, sized by field 1."""
    dimensions = [dim for number, shape in _fields(entry) if number == 2 for no, dim in _fields(shape) if no == 2]
    sizes = [dict(_numbers(dim)).get(1, 0) for dim in dimensions]
    return tuple(sizes)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protobuf message that hold bytes, by number."""
    return ((number, value) for number, value in _all_fields(message) if isinstance(value, bytes))


def _numbers(message: bytes) -> Iterator[tuple[int, int]]:
    return ((number, value) for number, value in _all_fields(message) if isinstance(value, int))


def _all_fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise UnreadableIndex("it is damaged")
            size, at = _varint(message, at)
        if at + size > len(message):
            raise UnreadableIndex("it is damaged")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at an offset, and the offset after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise UnreadableIndex("it is damaged")
