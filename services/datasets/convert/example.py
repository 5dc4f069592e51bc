"""Make the record of one picture: check its objects against it, and encode both for the Object Detection API."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from services.datasets import examples
from services.datasets.annotations import OUTSIDE, Annotated
from services.datasets.convert import masks
from services.datasets.convert.image_file import LoadedImage, load
from services.datasets.convert.masks import Mask
from services.datasets.formats.picture import Annotation, Box, MaskPicture, Object, Polygons

__all__ = ["Made", "make"]

_TOLERANCE = 0.01  # of the picture's side, as annotation tools round outwards
_DIGITS = 2  # of a pixel: YOLO's six decimals of a side tell no more
_SIDES = ("ymin", "xmin", "ymax", "xmax")

MIXED = "some objects of a picture have outlines and others only boxes; its masks were left out"
TINY = "an outline has no pixel's centre in it; the nearest pixel was taken"


@dataclass(frozen=True)
class Made:
    """`payload`: empty if there are problems. `digest`: of the picture's content."""

    payload: bytes
    found: Annotated
    digest: bytes = b""


class _Problem(ValueError):
    """What is wrong with an object or the picture, with remedy."""

    def __init__(self, code: str, message: str, *, field: str = "", item: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.field, self.item = code, message, field, item


@dataclass(frozen=True)
class _Drawn:
    """An object as it is stored: the box in pixels, inside the picture."""

    label: str
    box: Box
    mask: Mask | None
    is_crowd: bool
    is_difficult: bool


def make(path: Path, name: str, annotation: Annotation, ids: Mapping[str, int]) -> Made:
    """`name`: the picture's, in the record. `ids`: of the classes."""
    found = Annotated()
    try:
        image = load(path, annotation.size)
        for code, message in image.remarks:
            found.remark(code, message)
        _check_size(annotation, image)
        drawn = _drawn(annotation, image, ids, found)
    except _Problem as problem:
        found.refuse(problem.code, problem.message, field=problem.field, item=problem.item)
        return Made(b"", found)
    except ValueError as problem:
        found.refuse("image_unreadable", str(problem), item=f"picture {path.name}")
        return Made(b"", found)
    found.check_size(image.height, image.width)
    found.objects = len(drawn)
    found.boxes = [_in_parts(item.box, image) for item in drawn]
    found.classes = [ids[item.label] for item in drawn]
    found.has_masks = bool(drawn) and all(item.mask is not None for item in drawn)
    if not found.has_masks and any(item.mask is not None for item in drawn):
        found.remark("masks_left_out", MIXED)
    digest = hashlib.sha256(image.encoded).digest()
    return Made(_encoded(image, name, digest, drawn, ids, found.has_masks), found, digest)


def _check_size(annotation: Annotation, image: LoadedImage) -> None:
    if annotation.size not in (None, (image.height, image.width)):
        height, width = annotation.size
        has = f"the picture has {image.width}x{image.height}"
        problem = f"is {width}x{height} pixels, but {has}; export the annotations of this picture again"
        raise _Problem("image_size_differs", problem, field="size")


def _drawn(annotation: Annotation, image: LoadedImage, ids: Mapping[str, int], found: Annotated) -> list[_Drawn]:
    height, width = image.height, image.width
    scale = (height, width) if annotation.is_relative else (1, 1)
    drawn = []
    for item in annotation.objects:
        try:
            if item.label not in ids:
                problem = f"{item.label[:60]!r} is not one of the classes that the folder lists"
                raise _Problem("class_unknown", problem, field="name")
            mask, box = None, _scaled(item.box, scale) if item.box else None
            if isinstance(item.outline, Polygons):
                mask, around = _filled(item.outline, scale, height, width)
                box = box or around
            elif item.outline is not None and not isinstance(item.outline, MaskPicture):
                mask = masks.mask_of(item.outline, height, width)
                box = box or masks.box_of(mask)
            if box is None:
                problem = "no pixel is in it; draw it again, or remove the object"
                raise _Problem("outline_bad", problem, field="segmentation")
            inside = _inside(box, height, width, found)
        except _Problem as problem:
            raise _Problem(problem.code, problem.message, field=problem.field, item=item.where) from None
        except ValueError as problem:
            raise _Problem("outline_bad", str(problem), field="segmentation", item=item.where) from None
        if mask is not None and not mask.any():
            _touch(mask, inside)
            found.remark("outline_tiny", TINY)
        drawn.append(_Drawn(item.label, inside, mask, item.is_crowd, item.is_difficult))
    return _with_instances(annotation.objects, drawn, height, width)


def _with_instances(objects: Sequence[Object], drawn: list[_Drawn], height: int, width: int) -> list[_Drawn]:
    """With the masks of a picture of masks, if there is one."""
    picture = next((item.outline for item in objects if isinstance(item.outline, MaskPicture)), None)
    if picture is None:
        return drawn
    try:
        found = masks.read_instances(picture, [item.box for item in drawn], height, width)
    except MemoryError:
        raise
    except Exception as error:  # Pillow raises almost any exception for damaged images
        raise _Problem("mask_bad", str(error), item=f"mask {picture.path.name}") from None
    return [
        _Drawn(item.label, item.box, mask, item.is_crowd, item.is_difficult)
        for item, mask in zip(drawn, found, strict=True)
    ]


def _filled(outline: Polygons, scale: tuple[int, int], height: int, width: int) -> tuple[Mask, Box]:
    """The mask, and the box around the points."""
    rings = tuple(
        tuple(round(value * scale[1 - number % 2], _DIGITS) for number, value in enumerate(ring))
        for ring in outline.rings
    )
    mask = masks.mask_of(Polygons(rings), height, width)
    x = [value for ring in rings for value in ring[::2]]
    y = [value for ring in rings for value in ring[1::2]]
    return mask, (min(y), min(x), max(y), max(x))


def _scaled(box: Box, scale: tuple[int, int]) -> Box:
    return box[0] * scale[0], box[1] * scale[1], box[2] * scale[0], box[3] * scale[1]


def _inside(box: Box, height: int, width: int, found: Annotated) -> Box:
    """The box, rounded and cut at the picture's edges. Raises _Problem if that would change it much."""
    limits = (height, width, height, width)
    rounded = [round(value, _DIGITS) for value in box]
    for low, high in ((0, 2), (1, 3)):
        if not rounded[low] < rounded[high]:
            sides = f"{_SIDES[low]} {rounded[low]:g} is not below {_SIDES[high]} {rounded[high]:g}"
            raise _Problem("box_bad", f"{sides}; draw the box again, or remove the object", field="bbox")
    for side, value, limit in zip(_SIDES, rounded, limits, strict=True):
        if not -_TOLERANCE * limit <= value <= (1 + _TOLERANCE) * limit:
            problem = f"{side} is {value:g}, but the picture is {width}x{height}; fix or remove the object"
            raise _Problem("box_bad", problem, field="bbox")
    cut = [min(max(value, 0.0), float(limit)) for value, limit in zip(rounded, limits, strict=True)]
    if cut != rounded:
        found.remark("box_over_edge", OUTSIDE)
    if not (cut[0] < cut[2] and cut[1] < cut[3]):
        raise _Problem("box_bad", "lies outside the picture; fix it, or remove the object", field="bbox")
    return cut[0], cut[1], cut[2], cut[3]


def _touch(mask: Mask, box: Box) -> None:
    row, column = int((box[0] + box[2]) / 2), int((box[1] + box[3]) / 2)
    mask[min(row, mask.shape[0] - 1), min(column, mask.shape[1] - 1)] = True


def _encoded(
    image: LoadedImage, name: str, digest: bytes, drawn: Sequence[_Drawn], ids: Mapping[str, int], has_masks: bool
) -> bytes:
    byte_lists = {
        "image/encoded": [image.encoded],
        "image/format": [image.format.encode()],
        "image/filename": [name.encode()],
        "image/source_id": [name.encode()],
        "image/key/sha256": [digest.hex().encode()],
        "image/object/class/text": [item.label.encode() for item in drawn],
    }
    if has_masks:
        byte_lists["image/object/mask"] = [masks.encode(item.mask) for item in drawn if item.mask is not None]
    parts = [_in_parts(item.box, image) for item in drawn]
    boxes = {f"image/object/bbox/{side}": [box[number] for box in parts] for number, side in enumerate(_SIDES)}
    return examples.encode(
        byte_lists=byte_lists,
        floats={**boxes, "image/object/area": [_area(item, has_masks) for item in drawn]},
        ints={
            "image/height": [image.height],
            "image/width": [image.width],
            "image/object/class/label": [ids[item.label] for item in drawn],
            "image/object/is_crowd": [int(item.is_crowd) for item in drawn],
            "image/object/difficult": [int(item.is_difficult) for item in drawn],
        },
    )


def _in_parts(box: Box, image: LoadedImage) -> Box:
    return box[0] / image.height, box[1] / image.width, box[2] / image.height, box[3] / image.width


def _area(item: _Drawn, has_masks: bool) -> float:
    if has_masks and item.mask is not None:
        return float(np.count_nonzero(item.mask))
    return (item.box[2] - item.box[0]) * (item.box[3] - item.box[1])
