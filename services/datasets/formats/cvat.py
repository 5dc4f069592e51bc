"""CVAT for images: one XML file with an element for each picture."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from services.datasets.formats.folder import Folder
from services.datasets.formats.numbers import finite, whole
from services.datasets.formats.picture import (
    Annotation,
    BadAnnotation,
    Entry,
    Object,
    Outline,
    Polygons,
    Rle,
    split_named,
)
from services.datasets.formats.scratch import Scratch, rows
from services.datasets.formats.xml_tree import children, text_of
from services.domain.tfrecord import DatasetError

__all__ = ["CvatSource"]

_SHAPES = ("box", "polygon", "mask")
_PLACES = ("images", "../images")


class CvatSource:
    format = "CVAT for images"

    def __init__(self, folder: Folder, files: Sequence[str]) -> None:
        self._folder = folder
        self._files = files
        self._scratch = Scratch()
        self.classes: list[str] | None = self._listed_classes() or None
        self.read = _Reader(self._scratch.path)

    def entries(self) -> Iterator[Entry]:
        found = [entry for number, file in enumerate(self._files) for entry in self._read_file(number, file)]
        self._scratch.finish()
        yield from found

    def _read_file(self, number: int, file: str) -> Iterator[Entry]:
        for place, element in enumerate(children(self._folder.path(file), file)):
            if element.tag == "track":
                advice = "export the task as CVAT for images"
                raise DatasetError("dataset_refused", f"{file}: track: this is CVAT for video; {advice}")
            if element.tag == "image":
                yield self._entry(number, file, place, element)

    def _entry(self, number: int, file: str, place: int, element: Element) -> Entry:
        name = element.get("name", "")
        try:
            picture = self._folder.picture(name, file, *_PLACES)
        except DatasetError as error:
            raise DatasetError(error.code, f"{file}: image {element.get('id')}: name: {error}") from None
        split = split_named(element.get("subset", "")) or self._folder.split_of(file) or self._folder.split_of(picture)
        shapes = [(shape.tag, shape.attrib) for shape in element if shape.tag in _SHAPES]
        self._scratch.add(number, str(place), 0, json.dumps(shapes))
        size = element.get("height", ""), element.get("width", "")
        return Entry(picture, split, (number, file, str(place), element.get("id", "?"), size))

    def _listed_classes(self) -> list[str]:
        """Of the task or project in <meta>, in its order."""
        found: dict[str, None] = {}
        for file in self._files:
            for element in children(self._folder.path(file), file):
                if element.tag == "meta":
                    found.update(dict.fromkeys(text_of(label, "name") for label in element.iter("label")))
                    break
        return [name for name in found if name]


@dataclass(frozen=True)
class _Reader:
    scratch: Path

    def __call__(self, entry: Entry) -> Annotation:
        number, file, place, image, size = entry.annotation
        [(_, text)] = rows(self.scratch, number, place)
        try:
            height, width = (whole(side) if side else 0 for side in size)
        except ValueError as error:
            raise BadAnnotation(file, f"image {image}", "size", str(error)) from None
        objects = []
        for count, (kind, values) in enumerate(json.loads(text), start=1):
            where = f"image {image}: {kind} {count}"
            try:
                objects.append(_object(where, kind, values, height, width))
            except (KeyError, ValueError) as error:
                why = f"there is no {error}" if isinstance(error, KeyError) else error
                raise BadAnnotation(file, where, "", str(why)) from None
        return Annotation(file, objects, (height, width) if height and width else None)


def _object(where: str, kind: str, values: dict[str, str], height: int, width: int) -> Object:
    label = values.get("label", "").strip()
    if not label:
        raise ValueError("label: there is none; name the class")
    if kind == "box":
        if finite(values.get("rotation") or 0):
            raise ValueError("rotation: turned boxes are not supported; draw a polygon")
        top, left, bottom, right = (finite(values[side]) for side in ("ytl", "xtl", "ybr", "xbr"))
        return Object(where, label, (top, left, bottom, right))
    if kind == "polygon":
        points = [point.split(",") for point in values["points"].split(";")]
        if any(len(point) != 2 for point in points):
            raise ValueError("points: write x,y;x,y;…")
        return Object(where, label, None, Polygons((tuple(finite(side) for point in points for side in point),)))
    return Object(where, label, None, _mask(values, height, width))


def _mask(values: dict[str, str], height: int, width: int) -> Outline:
    """Run lengths along the rows of a part of the picture."""
    top, left, tall, wide = (whole(values[name]) for name in ("top", "left", "height", "width"))
    counts = tuple(whole(count) for count in values["rle"].split(","))
    return Rle(counts, height, width, part=(top, left, tall, wide))
