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


class _Problem(Exception):
    """What is wrong with an object or the picture, with field and remedy."""


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
        found.remarks += image.remarks
        _check_size(annotation, image)
        drawn = _drawn(annotation, image, ids, found)
    except (_Problem, ValueError) as problem:
        where = f"picture {path.name}: " if not isinstance(problem, _Problem) else ""
        found.problems.append(f"{where}{problem}")
        return Made(b"", found)
    found.objects = len(drawn)
    found.classes = [ids[item.label] for item in drawn]
    found.has_masks = bool(drawn) and all(item.mask is not None for item in drawn)
    if not found.has_masks and any(item.mask is not None for item in drawn):
        found.remarks.append(MIXED)
    digest = hashlib.sha256(image.encoded).digest()
    return Made(_encoded(image, name, digest, drawn, ids, found.has_masks), found, digest)


def _check_size(annotation: Annotation, image: LoadedImage) -> None:
    if annotation.size not in (None, (image.height, image.width)):
        height, width = annotation.size
        has = f"the picture has {image.width}x{image.height}"
        raise _Problem(f"size: is {width}x{height} pixels, but {has}; export the annotations of this picture again")


def _drawn(annotation: Annotation, image: LoadedImage, ids: Mapping[str, int], found: Annotated) -> list[_Drawn]:
    height, width = image.height, image.width
    scale = (height, width) if annotation.is_relative else (1, 1)
    drawn = []
    for item in annotation.objects:
        try:
            if item.label not in ids:
                raise ValueError(f"name: {item.label[:60]!r} is not one of the classes that the folder lists")
            mask, box = None, _scaled(item.box, scale) if item.box else None
            if isinstance(item.outline, Polygons):
                mask, around = _filled(item.outline, scale, height, width)
                box = box or around
            elif item.outline is not None and not isinstance(item.outline, MaskPicture):
                mask = masks.mask_of(item.outline, height, width)
                box = box or masks.box_of(mask)
            if box is None:
                raise ValueError("segmentation: no pixel is in it; draw it again, or remove the object")
            inside = _inside(box, height, width, found)
        except ValueError as problem:
            raise _Problem(f"{item.where}: {problem}") from None
        if mask is not None and not mask.any():
            _touch(mask, inside)
            found.remarks.append(TINY)
        drawn.append(_Drawn(item.label, inside, mask, item.is_crowd, item.is_difficult))
    return _with_instances(annotation.objects, drawn, height, width)


def _with_instances(objects: Sequence[Object], drawn: list[_Drawn], height: int, width: int) -> list[_Drawn]:
    """With the masks of a picture of masks, if there is one."""
    picture = next((item.outline for item in objects if isinstance(item.outline, MaskPicture)), None)
    if picture is None:
        return drawn
    try:
        found = masks.read_instances(picture, [item.box for item in drawn], height, width)
    except Exception as error:  # Pillow raises almost any exception for damaged images
        raise _Problem(f"mask {picture.path.name}: {error}") from None
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
    """The box, rounded and cut at the picture's edges. Raises ValueError if that would change it much."""
    limits = (height, width, height, width)
    rounded = [round(value, _DIGITS) for value in box]
    for low, high in ((0, 2), (1, 3)):
        if not rounded[low] < rounded[high]:
            sides = f"{_SIDES[low]} {rounded[low]:g} is not below {_SIDES[high]} {rounded[high]:g}"
            raise ValueError(f"bbox: {sides}; draw the box again, or remove the object")
    for side, value, limit in zip(_SIDES, rounded, limits, strict=True):
        if not -_TOLERANCE * limit <= value <= (1 + _TOLERANCE) * limit:
            raise ValueError(
                f"bbox: {side} is {value:g}, but the picture is {width}x{height}; fix or remove the object"
            )
    cut = [min(max(value, 0.0), float(limit)) for value, limit in zip(rounded, limits, strict=True)]
    if cut != rounded:
        found.remarks.append(OUTSIDE)
    if not (cut[0] < cut[2] and cut[1] < cut[3]):
        raise ValueError("bbox: lies outside the picture; fix it, or remove the object")
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
    sides = (image.height, image.width, image.height, image.width)
    boxes = {
        f"image/object/bbox/{side}": [item.box[number] / sides[number] for item in drawn]
        for number, side in enumerate(_SIDES)
    }
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


def _area(item: _Drawn, has_masks: bool) -> float:
    if has_masks and item.mask is not None:
        return float(np.count_nonzero(item.mask))
    return (item.box[2] - item.box[0]) * (item.box[3] - item.box[1])
