"""What every format is read as: pictures, and the objects that people drew on them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from services.domain.tfrecord import DatasetError

__all__ = [
    "Annotation",
    "BadAnnotation",
    "Box",
    "Entry",
    "MaskPicture",
    "Object",
    "Outline",
    "Polygons",
    "Rle",
    "Source",
    "split_named",
]

Box = tuple[float, float, float, float]  # ymin, xmin, ymax, xmax

_SPLITS = {
    "train": ("train", "training", "trn"),
    "validation": ("val", "valid", "validation", "dev", "eval"),
    "test": ("test", "testing"),
}
_BY_NAME = {name: split for split, names in _SPLITS.items() for name in names}


@dataclass(frozen=True)
class Entry:
    """A picture of a source: its path below the folder. `split`: train, validation, test, or None if nothing says it.

    `annotation`: what the source's `read` needs to find its objects.
    """

    picture: str
    split: str | None
    annotation: Any


@dataclass(frozen=True)
class Polygons:
    """Their union, without holes. Each is x, y, x, y, …"""

    rings: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Rle:
    """Run lengths, zeros first: down the columns as COCO writes them, or, with `part`, along the rows as CVAT does.

    Text is COCO's compressed form. `part`: top, left, height and width of the part of the picture that they are for.
    """

    counts: tuple[int, ...] | str
    height: int
    width: int
    part: tuple[int, int, int, int] | None = None


@dataclass(frozen=True)
class MaskPicture:
    """A picture with one colour for each object, as Pascal VOC's folder SegmentationObject has them."""

    path: Path


Outline = Polygons | Rle | MaskPicture


@dataclass(frozen=True)
class Object:
    """`where`: how people find it in the file, such as "line 3". No box: the outline has it."""

    where: str
    label: str
    box: Box | None
    outline: Outline | None = None
    is_crowd: bool = False
    is_difficult: bool = False


@dataclass(frozen=True)
class Annotation:
    """`file`: as problems name it. `size`: height and width as written. `is_relative`: not in pixels, but in parts."""

    file: str
    objects: Sequence[Object]
    size: tuple[int, int] | None = None
    is_relative: bool = False


class BadAnnotation(DatasetError):
    """What is wrong with the annotation of one picture: in `file`, at `item`, in its `field`.

    `label_id`: of an unknown class, counted as the label map would count it.
    """

    def __init__(self, file: str, item: str, field: str, problem: str, label_id: int | None = None) -> None:
        super().__init__("dataset_bad_example", ": ".join(part for part in (file, item, field, problem) if part))
        self.file, self.item, self.field, self.problem, self.label_id = file, item, field, problem, label_id


class Source(Protocol):
    """A folder in one format. `classes`: in the order of their ids; None if only the annotations name them.

    `read` raises BadAnnotation or another DatasetError. It is sent to other processes.
    """

    @property
    def format(self) -> str: ...

    @property
    def classes(self) -> Sequence[str] | None: ...

    @property
    def read(self) -> Callable[[Entry], Annotation]: ...

    def entries(self) -> Iterator[Entry]:
        """Every picture. Raises DatasetError."""
        ...


def split_named(name: str) -> str | None:
    """The split that a folder or file of this name holds: train, validation, test, or None."""
    return _BY_NAME.get(name.lower())
