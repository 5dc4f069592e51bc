"""Check one image and its objects as the Object Detection API reads them from a tf.train.Example.

That API does not check its input: it drops boxes of unknown classes, pads lists that are too short, and crashes on a
field of the wrong type. This module finds all of these, and names the field and the remedy.
"""

import io
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from services.datasets.examples import Feature
from services.datasets.findings import Observation, Severity
from services.datasets.label_map import LabelMap
from services.domain.suggestions import close_names, shortened

__all__ = ["MAX_PIXELS", "Annotated", "Box", "examine", "opened_size"]

Box = tuple[float, float, float, float]  # ymin, xmin, ymax, xmax

MAX_PIXELS = 80_000_000  # decoded to floats they take about 1 GB of host memory
_MANY_PIXELS = 50_000_000
_SMALL_SIDE = 8  # pixels: below, it is a placeholder or a mistake
_TOLERANCE = 0.01  # of the image's side, as annotation tools round outwards

_ONE_VALUE = {
    "image/encoded": bytes,
    "image/format": bytes,
    "image/filename": bytes,
    "image/key/sha256": bytes,
    "image/source_id": bytes,
    "image/height": int,
    "image/width": int,
}
_SIDES = ("ymin", "xmin", "ymax", "xmax")
_ONE_PER_OBJECT = {
    "image/object/class/text": bytes,
    "image/object/class/label": int,
    "image/object/mask": bytes,
    "image/object/area": float,
    "image/object/is_crowd": int,
    "image/object/difficult": int,
    "image/object/group_of": int,
    "image/object/weight": float,
}
_KINDS = {bytes: "bytes", int: "whole numbers (int64)", float: "floats"}
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_SIZE = struct.Struct(">II")

OUTSIDE = "a box extends slightly beyond the image's edge"
DISAGREES = "class/label and class/text disagree with the label map; the text counts"
LARGE = f"an image has more than {_MANY_PIXELS // 10**6} megapixels; decoding it slows training down, scale it down"
SMALL = f"an image is less than {_SMALL_SIDE} pixels wide or high; is it a placeholder?"


@dataclass
class Annotated:
    """The contents of one example. If there are problems, the other fields are what could still be read."""

    encoded: bytes = b""
    name: bytes = b""  # what evaluation tells images apart by
    size: tuple[int, int] | None = None  # height, width
    objects: int = 0
    boxes: list[Box] = field(default_factory=list)  # in parts of the image's sides
    classes: list[int] = field(default_factory=list)
    written_ids: set[int] = field(default_factory=set)  # where ids decide, also those that no class has
    has_masks: bool = False  # every object has one; False without objects
    observed: list[Observation] = field(default_factory=list)

    def refuse(self, code: str, message: str, *, field: str = "", item: str = "") -> None:
        """It cannot be trained on."""
        self.observed.append(Observation(code, Severity.ERROR, message, field, item))

    def remark(self, code: str, message: str) -> None:
        """It can be trained on, but may not be as intended."""
        self.observed.append(Observation(code, Severity.WARNING, message))

    def check_size(self, height: int, width: int) -> None:
        self.size = (height, width)
        if height * width > _MANY_PIXELS:
            self.remark("image_large", LARGE)
        if min(height, width) < _SMALL_SIDE:
            self.remark("image_small", SMALL)

    @property
    def problems(self) -> list[str]:
        return [one.text for one in self.observed if one.severity is Severity.ERROR]

    @property
    def remarks(self) -> list[str]:
        return [one.text for one in self.observed if one.severity is Severity.WARNING]


def examine(features: Mapping[str, Feature], labels: LabelMap) -> Annotated:
    found = Annotated()
    values = _well_typed(features, found)
    found.encoded = _first(values, "image/encoded", b"")
    found.name = _first(values, "image/source_id", b"") or _first(values, "image/filename", b"")
    _image_size(values, found)
    _boxes(values, found)
    _classes(values, labels, found)
    _masks(values, found)
    return found


def _well_typed(features: Mapping[str, Feature], found: Annotated) -> dict[str, list[Any]]:
    """The features of the right type and count. The others become problems and are left out."""
    sides = {f"image/object/bbox/{side}": float for side in _SIDES}
    values: dict[str, list[Any]] = {}
    for name, kind in (_ONE_VALUE | sides | _ONE_PER_OBJECT).items():
        given = features.get(name)
        if given is None:
            continue
        if not all(isinstance(value, kind) for value in given):
            found.refuse("field_type", f"holds {_KINDS[type(given[0])]}; write {_KINDS[kind]}", field=name)
        elif name in _ONE_VALUE and len(given) != 1:
            found.refuse("field_count", f"holds {len(given)} values; write one, or leave the field out", field=name)
        else:
            values[name] = given
    return values


def _first(values: Mapping[str, list[Any]], name: str, default: Any) -> Any:
    return values[name][0] if values.get(name) else default


def _image_size(values: Mapping[str, list[Any]], found: Annotated) -> None:
    """Take height and width from the image's header; the pixels are not decoded."""
    field = "image/encoded"
    if not found.encoded:
        if not any(one.field == field for one in found.observed):
            found.refuse("image_missing", "there is no image; write the JPEG or PNG file's bytes", field=field)
        return
    if _first(values, "image/format", b"jpeg").lower() == b"raw":
        found.refuse("image_raw", "is raw; write JPEG or PNG images, and jpeg or png here", field="image/format")
        return
    try:
        width, height = opened_size(found.encoded)
    except Exception as error:  # Pillow raises almost any exception for damaged images
        problem = f"is not a whole JPEG or PNG image ({error}); write the file's bytes"
        found.refuse("image_unreadable", problem, field=field)
        return
    if height * width > MAX_PIXELS:
        problem = f"{width}x{height} pixels; scale it down, {MAX_PIXELS:,} are the most"
        found.refuse("image_too_large", problem, field=field)
    for name, actual in (("image/height", height), ("image/width", width)):
        described = _first(values, name, actual)
        if described != actual:
            problem = f"is {described}, but the image has {actual}; write the image's own"
            found.refuse("image_size_differs", problem, field=name)
    found.check_size(height, width)


def opened_size(encoded: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(encoded), formats=("JPEG", "PNG")) as image:
        size = image.size
        if image.format == "PNG":
            image.verify()  # checks the checksums without decoding pixels
        # In a JPEG's data 0xFF is always escaped, so an end marker after the last scan is a real one.
        elif encoded.rfind(b"\xff\xd9") < encoded.rfind(b"\xff\xda"):
            raise ValueError("its end is missing")
    return size


def _boxes(values: Mapping[str, list[Any]], found: Annotated) -> None:
    sides = [values.get(f"image/object/bbox/{side}", []) for side in _SIDES]
    field = "image/object/bbox"
    found.objects = len(sides[0])
    if any(len(side) != found.objects for side in sides):
        counts = ", ".join(f"{len(side)} {name}" for name, side in zip(_SIDES, sides, strict=True))
        found.refuse("boxes_unequal", f"{counts}; write one of each for every object", field=field)
        found.objects = min(len(side) for side in sides)
        return
    for number, box in enumerate(zip(*sides, strict=True)):
        problem = _box_problem(box)
        if problem:
            found.refuse("box_bad", problem, field=field, item=f"object {number}")
            return
    found.boxes = list(zip(*sides, strict=True))
    if any(not 0 <= value <= 1 for side in sides for value in side):
        found.remark("box_over_edge", OUTSIDE)


def _box_problem(box: Sequence[float]) -> str | None:
    for side, value in zip(_SIDES, box, strict=True):
        if not math.isfinite(value):
            return f"{side} is {value}; fix it, or remove the object"
        if not -_TOLERANCE <= value <= 1 + _TOLERANCE:
            return f"{side} is {value:g}; write 0 to 1: pixels divided by the image's height or width"
    for low, high in ((0, 2), (1, 3)):
        if not box[low] < box[high]:
            return f"{_SIDES[low]} {box[low]:g} is not below {_SIDES[high]} {box[high]:g}; fix it, or remove the object"
    return None


def _classes(values: Mapping[str, list[Any]], labels: LabelMap, found: Annotated) -> None:
    for name in _ONE_PER_OBJECT:
        count = len(values.get(name, ()))
        if count not in (0, found.objects):
            problem = f"{count} values for {found.objects} boxes; write one for every object"
            found.refuse("values_unequal", problem, field=name)
            return
    texts = [text.decode(errors="replace") for text in values.get("image/object/class/text", ())]
    numbers = values.get("image/object/class/label", [])
    unknown = next((text for text in texts if text not in labels.ids), None)
    unnamed = next((number for number in numbers if number not in labels.names), None)
    by_text, by_number = "image/object/class/text", "image/object/class/label"
    if not texts:
        found.written_ids = set(numbers)
    if unknown is not None:
        problem = f"{shortened(unknown)!r} is not in the label map; {_remedy(unknown, labels)}"
        found.refuse("class_unknown", problem, field=by_text)
    elif not texts and unnamed is not None:
        known = f"1 to {labels.num_classes}" if len(labels.names) == labels.num_classes else "those it names"
        problem = f"{unnamed} is not in the label map, the classes are {known}"
        found.refuse("class_unknown", problem, field=by_number)
    elif found.objects and not texts and not numbers:
        found.refuse("class_missing", "the boxes have no class; write one for every object", field=by_text)
    else:
        found.classes = [labels.ids[text] for text in texts] or numbers
        if texts and numbers and numbers != found.classes:
            found.remark("class_disagrees", DISAGREES)


def _remedy(unknown: str, labels: LabelMap) -> str:
    close = close_names(unknown, labels.ids)
    return f"did you mean {close[0]!r}?" if close else "add it there, or remove these objects"


def _masks(values: Mapping[str, list[Any]], found: Annotated) -> None:
    field = "image/object/mask"
    masks = values.get(field, [])
    found.has_masks = 0 < len(masks) == found.objects
    for number, mask in enumerate(masks):
        if not mask.startswith(_PNG) or b"IEND" not in mask[-64:] or len(mask) < 57:
            problem = "is not a whole PNG image; write each mask as PNG"
            found.refuse("mask_unreadable", problem, field=field, item=f"object {number}")
            return
        width, height = _PNG_SIZE.unpack_from(mask, 16)
        if found.size and (height, width) != found.size:
            sizes = f"{width}x{height} pixels, its image {found.size[1]}x{found.size[0]}"
            problem = f"{sizes}; write masks as large as the image"
            found.refuse("mask_size", problem, field=field, item=f"object {number}")
            return
