"""Write the index of a checkpoint as TensorFlow would for variables of given shapes."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path

from services.domain.catalogue import Model
from services.domain.checkpoints import fit

_MAGIC = 0xDB4775248B80FB57


def shapes_of(model: Model) -> dict[str, tuple[int, ...]]:
    """The model's feature extractor variables, by made-up names, and two other variables."""
    table = json.loads(Path(fit.__file__).with_name("checkpoint_shapes.json").read_text())
    shapes = [shape for shape, count in table[fit.network_name(model)].items() for _ in range(count)]
    found = {
        f"model/_feature_extractor/layer-{number:05}": tuple(int(side) for side in shape.split("x") if side)
        for number, shape in enumerate(shapes)
    }
    return {**found, "model/_box_predictor/kernel": (3, 3, 7, 7), "step": ()}


def write_index(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(index_of(shapes))


def index_of(shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    """Two blocks of entries. A block's first key is complete; later keys omit the prefix shared with the one before."""
    keys = sorted([*(f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in shapes), "model/w/.OPTIMIZER_SLOT/o/m"])
    values = {f"{name}/.ATTRIBUTES/VARIABLE_VALUE": _entry(shape) for name, shape in shapes.items()}
    half = len(keys) // 2
    data, handles = b"", []
    for part in (keys[:half], keys[half:]):
        block = _block([(key.encode(), values.get(key, _entry((9, 9)))) for key in part])
        handles.append((part[-1].encode() if part else b"", _varint(len(data)) + _varint(len(block))))
        data += block + b"\0" * 5
    index = _block(handles)
    footer = b"\0\0" + _varint(len(data)) + _varint(len(index))
    return data + index + b"\0" * 5 + footer.ljust(40, b"\0") + struct.pack("<Q", _MAGIC)


def _block(entries: list[tuple[bytes, bytes]]) -> bytes:
    written, before = b"", b""
    for key, value in entries:
        shared = next((at for at in range(min(len(before), len(key))) if before[at] != key[at]), 0)
        written += _varint(shared) + _varint(len(key) - shared) + _varint(len(value)) + key[shared:] + value
        before = key
    return written + struct.pack("<II", 0, 1)


def _entry(shape: tuple[int, ...]) -> bytes:
    dimensions = b"".join(_field(2, b"\x08" + _varint(side)) for side in shape)
    return b"\x08\x01" + _field(2, dimensions) + b"\x28\x10" + b"\x35abcd"


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    written = b""
    while value > 0x7F:
        written += bytes([value & 0x7F | 0x80])
        value >>= 7
    return written + bytes([value])
