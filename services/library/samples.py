"""Show single records of a dataset: their boxes, and their images as they are stored."""

import functools
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.datasets import examples, label_map, library, record_index
from services.datasets.checksum import masked_crc32c
from services.datasets.dataset import Dataset
from services.datasets.label_map import LabelMap
from services.datasets.record_index import RecordIndex, Row
from services.domain import tfrecord
from services.domain.sizes import in_mb
from services.domain.suggestions import close_names, shortened
from services.domain.tfrecord import DatasetError
from services.errors import Fault, Invalid, NotFound
from services.safe_files import open_below
from services.settings import Settings

__all__ = ["Choice", "Picture", "list_samples", "read_picture"]

_MOST_BYTES = 64 * 2**20  # of one record that is read
_MOST_BYTES_OF_LIST = 256 * 2**20  # of all records of one answer
_MOST_BOXES = 300  # of one sample
_MOST_READ_BOXES = 20_000  # of one sample; with more, only its image is shown
_SIDES = ("ymin", "xmin", "ymax", "xmax")
_IMAGE = "image/encoded"
_FILE_NAME, _SOURCE_ID = "image/filename", "image/source_id"
_TEXTS, _LABELS = "image/object/class/text", "image/object/class/label"
_SHOWN = (_FILE_NAME, _SOURCE_ID, _TEXTS, _LABELS, *(f"image/object/bbox/{side}" for side in _SIDES))
# The types that a browser shows and never runs, by how their files begin.
_KINDS = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
_TOO_OLD = (
    "this dataset has no index of its records: it was added by an older version; add its files again under another "
    "name to see samples"
)


@dataclass(frozen=True)
class Choice:
    """Which samples, and in which order. `label`: of a class that has an object in them; None: all."""

    split: str = "train"
    label: str | None = None
    sort: str = "stored"
    start: int = 0
    limit: int = 24


@dataclass(frozen=True)
class Picture:
    """`media_type`: of the image; no other type is ever served."""

    content: bytes
    media_type: str


def list_samples(settings: Settings, name: str, choice: Choice) -> dict[str, Any]:
    """`next`: where the next page starts; None on the last one. Raises NotFound, Invalid."""
    try:
        dataset, index = _open(settings, name, choice.split)
        if index is None:
            return _without_samples(_TOO_OLD)
        labels = _labels(dataset)
        count, rows = index.chosen(_class_id(choice.label, labels), choice.sort, choice.start, choice.limit)
    except DatasetError as error:
        return _without_samples(str(error))
    items: list[dict[str, Any]] = []
    read = 0
    for row in rows:
        if items and read + row.length > _MOST_BYTES_OF_LIST:
            break
        read += row.length
        items.append(_sample(dataset, choice.split, row, labels))
    end = choice.start + len(items)
    return {"items": items, "count": count, "next": end if items and end < count else None, "problem": None}


def read_picture(settings: Settings, name: str, sample: str) -> Picture:
    """The bytes as they are stored: decoding and scaling them is the browser's work. Raises NotFound."""
    split, _, number = sample.partition("-")
    try:
        dataset, index = _open(settings, name, split)
        row = index.row(int(number)) if index is not None else None
        if row is None:
            raise NotFound(f"there is no sample {sample!r}")
        content = bytes(next(iter(_features(dataset, split, row, [_IMAGE]).get(_IMAGE, [])), b""))
    except DatasetError as error:
        raise NotFound(str(error)) from None
    kind = next((kind for magic, kind in _KINDS.items() if content.startswith(magic)), None)
    if kind is None:
        raise NotFound(f"sample {sample!r} has no JPEG or PNG image")
    return Picture(content, kind)


def _open(settings: Settings, name: str, split: str) -> tuple[Dataset, RecordIndex | None]:
    if name not in library.names(settings.datasets_dir):
        raise NotFound(f"there is no dataset called {name!r}")
    dataset = Dataset.load(settings.datasets_dir / name)
    return dataset, record_index.read(dataset.folder, split)


def _without_samples(problem: str) -> dict[str, Any]:
    return {"items": [], "count": 0, "next": None, "problem": problem}


def _labels(dataset: Dataset) -> LabelMap:
    return _read_labels(dataset.label_map, dataset.label_map.stat().st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _read_labels(path: Path, _modified: int) -> LabelMap:
    return label_map.read(path)


def _class_id(label: str | None, labels: LabelMap) -> int | None:
    if label is None:
        return None
    if label not in labels.ids:
        close = close_names(label, labels.ids)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise Invalid([Fault("class", f"{shortened(label)!r} is no class of this dataset{hint}")])
    return labels.ids[label]


def _sample(dataset: Dataset, split: str, row: Row, labels: LabelMap) -> dict[str, Any]:
    """A record that cannot be read is shown too, with its problem."""
    shown = {"id": f"{split}-{row.number}", "name": "", "width": row.width, "height": row.height, "problem": None}
    try:
        if row.boxes > _MOST_READ_BOXES:
            raise DatasetError("dataset_refused", f"{row.boxes:,} boxes: too many to show")
        features = _features(dataset, split, row, _SHOWN)
    except DatasetError as error:
        return {**shown, "objects": row.boxes, "boxes": [], "problem": str(error)}
    boxes = list(zip(*(features.get(f"image/object/bbox/{side}", []) for side in _SIDES), strict=False))
    names = _names(features, labels)
    return {
        **shown,
        "name": _text(features, _FILE_NAME) or _text(features, _SOURCE_ID),
        "objects": len(boxes),
        "boxes": [
            {"label": label, **dict(zip(_SIDES, box, strict=True))}
            for label, box in list(zip(names, boxes, strict=False))[:_MOST_BOXES]
        ],
    }


def _names(features: dict[str, Any], labels: LabelMap) -> list[str]:
    """Of the objects, as the label map shows them. The text counts where there are both, as in training."""
    texts = [text.decode(errors="replace") for text in features.get(_TEXTS, [])]
    numbers = [labels.ids.get(text, 0) for text in texts] or features.get(_LABELS, [])
    return [labels.names.get(number, "?") for number in numbers]


def _text(features: dict[str, Any], name: str) -> str:
    values: list[bytes] = features.get(name, [])
    return values[0].decode(errors="replace")[:256] if values else ""


def _features(dataset: Dataset, split: str, row: Row, names: Collection[str]) -> dict[str, Any]:
    """Raises DatasetError if the record is too large, or is not the one that was indexed."""
    if row.length > _MOST_BYTES:
        problem = f"the record has {in_mb(row.length)}, more than the {in_mb(_MOST_BYTES)} that are shown"
        raise DatasetError("dataset_refused", problem)
    files = dataset.train_files if split == "train" else dataset.validation_files
    file = files[row.file] if row.file < len(files) else None
    payload = tfrecord.payload_of(_bytes(file, row), masked_crc32c) if file else None
    if payload is None:
        raise DatasetError("dataset_corrupt", "the record was changed since the dataset was added")
    return dict(examples.decode_some(payload, names))


def _bytes(file: Path, row: Row) -> bytes:
    with open_below(file.parent.parent, f"{file.parent.name}/{file.name}") as opened:
        opened.seek(row.offset)
        return opened.read(row.length)
