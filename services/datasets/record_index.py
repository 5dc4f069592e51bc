"""An index of a split's records: where each one is, and what samples are chosen by.

A record takes 44 bytes and 2 for each of its classes.
The file `train.index` or `validation.index` holds a header, then a row for each record, then the classes of all records
one after the other. It is written with the dataset and mapped into memory, so that no request reads all records.
"""

import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.datasets.annotations import Annotated
from services.datasets.statistics import smallest_side
from services.domain.tfrecord import DatasetError

__all__ = ["SORTS", "FileIndex", "RecordIndex", "Row", "read", "write"]

SORTS = ("stored", "smallest", "most_boxes")
_MAGIC = b"DSINDEX1"
_HEADER = struct.Struct("<8sQQ")  # magic, rows, classes
_ROW = np.dtype(
    [
        ("file", "<u4"),  # its place among the split's files
        ("boxes", "<u4"),
        ("height", "<u4"),  # of the image
        ("width", "<u4"),
        ("offset", "<u8"),
        ("length", "<u8"),  # of the record with its frame
        ("smallest", "<f4"),  # side of the smallest box in pixels; infinite without boxes
        ("classes_end", "<u8"),  # in the list of classes; they begin where those of the row before end
    ]
)
_MOST_CLASSES = 250  # listed of one record
_Classes = NDArray[np.uint16]


@dataclass(frozen=True)
class Row:
    number: int  # in the split
    file: int
    offset: int
    length: int
    height: int
    width: int
    boxes: int


class FileIndex:
    """The rows of one file, in the order of its records."""

    def __init__(self) -> None:
        self._offset = 0
        self.offsets, self.lengths, self.boxes = array("Q"), array("Q"), array("L")
        self.heights, self.widths = array("L"), array("L")
        self.smallest = array("f")
        self.class_counts, self.classes = array("L"), array("H")

    def add(self, length: int, found: Annotated) -> None:
        """`length`: of the record with its frame."""
        classes = sorted(set(found.classes))[:_MOST_CLASSES]
        self.offsets.append(self._offset)
        self.lengths.append(length)
        self.boxes.append(found.objects)
        height, width = found.size or (0, 0)
        self.heights.append(height)
        self.widths.append(width)
        self.smallest.append(smallest_side(found))
        self.class_counts.append(len(classes))
        self.classes.extend(classes)
        self._offset += length


def write(folder: Path, split: str, files: Sequence[FileIndex]) -> None:
    rows = np.concatenate([np.zeros(len(file.offsets), _ROW) for file in files])
    start = 0
    for number, file in enumerate(files):
        part = rows[start : start + len(file.offsets)]
        part["file"] = number
        for name, values in (
            ("offset", file.offsets),
            ("length", file.lengths),
            ("boxes", file.boxes),
            ("height", file.heights),
            ("width", file.widths),
            ("smallest", file.smallest),
            ("classes_end", file.class_counts),
        ):
            part[name] = values
        start += len(file.offsets)
    rows["classes_end"] = np.cumsum(rows["classes_end"])
    with _path(folder, split).open("wb") as target:
        target.write(_HEADER.pack(_MAGIC, len(rows), int(rows["classes_end"][-1]) if len(rows) else 0))
        target.write(rows.tobytes())
        for file in files:
            target.write(np.asarray(file.classes, "<u2").tobytes())


class RecordIndex:
    """The index of one split."""

    def __init__(self, rows: NDArray[np.void], classes: _Classes) -> None:
        self._rows = rows
        self._classes = classes

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, number: int) -> Row | None:
        if not 0 <= number < len(self._rows):
            return None
        row = self._rows[number]
        place = (int(row[name]) for name in ("file", "offset", "length", "height", "width", "boxes"))
        return Row(number, *place)

    def chosen(self, label: int | None, sort: str, start: int, limit: int) -> tuple[int, Iterator[Row]]:
        """How many records have an object of class `label` (None: of any or none), and those from `start` on."""
        numbers = np.arange(len(self._rows)) if label is None else self._with_class(label)
        if sort == "smallest":
            numbers = numbers[np.argsort(self._rows["smallest"][numbers], kind="stable")]
        elif sort == "most_boxes":
            numbers = numbers[np.argsort(-self._rows["boxes"][numbers].astype(np.int64), kind="stable")]
        found = (self.row(int(number)) for number in numbers[start : start + limit])
        return len(numbers), (row for row in found if row is not None)

    def _with_class(self, label: int) -> NDArray[np.int64]:
        """A record's classes are listed once each, so each record is found once."""
        places = np.flatnonzero(self._classes == label)
        return np.searchsorted(self._rows["classes_end"], places, side="right")


def read(folder: Path, split: str) -> RecordIndex | None:
    """None if there is no index: the dataset was added before there were any. Raises DatasetError."""
    path = _path(folder, split)
    try:
        data: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _damaged(path) from error
    magic, rows, classes = _HEADER.unpack(data[: _HEADER.size].tobytes().ljust(_HEADER.size, b"\0"))
    if magic != _MAGIC or len(data) != _HEADER.size + rows * _ROW.itemsize + 2 * classes:
        raise _damaged(path)
    end = _HEADER.size + rows * _ROW.itemsize
    return RecordIndex(data[_HEADER.size : end].view(_ROW), data[end:].view("<u2"))


def _path(folder: Path, split: str) -> Path:
    return folder / f"{split}.index"


def _damaged(path: Path) -> DatasetError:
    return DatasetError("dataset_corrupt", f"{path.name}: is damaged; add the dataset again")
