"""Pascal VOC: an XML file for each picture, masks in SegmentationObject, splits in ImageSets.

CVAT, Label Studio, labelImg and Roboflow write it too, with the pictures in JPEGImages, in images or beside the XML.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element

from services.datasets.formats.folder import Folder
from services.datasets.formats.numbers import finite, whole
from services.datasets.formats.picture import (
    Annotation,
    BadAnnotation,
    Entry,
    MaskPicture,
    Object,
    Outline,
    Polygons,
    split_named,
)
from services.datasets.formats.text_files import lines
from services.datasets.formats.xml_tree import parse, text_of
from services.domain.tfrecord import DatasetError

__all__ = ["VocSource"]

_PLACES = ("../JPEGImages", "../images", "..")
_SETS = ("ImageSets/Main/", "ImageSets/Segmentation/")
_MASKS = "SegmentationObject"
_BACKGROUND = "background"


class VocSource:
    format = "Pascal VOC"

    def __init__(self, folder: Folder, files: Sequence[str]) -> None:
        self._folder = folder
        self._files = files
        self.classes = self._listed_classes()
        self.read = _Reader(folder.root)

    def entries(self) -> Iterator[Entry]:
        sets = self._sets()
        masks = {PurePosixPath(file).stem: file for file in self._folder.ending(".png") if f"{_MASKS}/" in f"/{file}"}
        for file in self._files:
            stem = PurePosixPath(file).stem
            split = sets.get(stem) or self._folder.split_of(file)
            picture = self._picture(file)
            yield Entry(picture, split, (file, masks.get(stem)))

    def _picture(self, file: str) -> str:
        """By the XML's own name first: the name inside it is often from before the files were renamed."""
        stem = PurePosixPath(file).stem
        own = self._folder.stem(stem, file, *_PLACES)
        if own is not None:
            return own
        inside = text_of(parse(self._folder.path(file), file), "filename")
        try:
            return self._folder.picture(inside or stem, file, *_PLACES)
        except DatasetError as error:
            raise DatasetError(error.code, f"{file}: filename: {error}") from None

    def _listed_classes(self) -> list[str] | None:
        """Of CVAT's labelmap.txt or a classes.txt, if there is one."""
        for name in ("labelmap.txt", "classes.txt"):
            file = next((file for file in self._folder.ending(name) if PurePosixPath(file).name == name), None)
            if file is not None:
                given = [line.partition(":")[0].strip() for line in lines(self._folder.path(file), file)]
                return [name for name in given if name and not name.startswith("#") and name != _BACKGROUND]
        return None

    def _sets(self) -> Mapping[str, str]:
        """The split of each picture that ImageSets lists: its file, such as train.txt, is named after the split."""
        found: dict[str, str] = {}
        for file in self._folder.ending(".txt"):
            split = split_named(PurePosixPath(file).stem)
            if split and any(place in f"/{file}" for place in _SETS):
                names = (line.split() for line in lines(self._folder.path(file), file))
                found.update({PurePosixPath(name[0]).name: split for name in names if name})
        return found


@dataclass(frozen=True)
class _Reader:
    root: Path

    def __call__(self, entry: Entry) -> Annotation:
        file, mask = entry.annotation
        tree = parse(self.root / file, file)
        outline = MaskPicture(self.root / mask) if mask else None
        size = [text_of(tree, f"size/{side}") for side in ("height", "width")]
        try:
            height, width = (whole(side) if side else 0 for side in size)
        except ValueError as error:
            raise BadAnnotation(file, "", "size", str(error)) from None
        objects = [_object(file, number, item, outline) for number, item in enumerate(tree.iterfind("object"), start=1)]
        return Annotation(file, objects, (height, width) if height and width else None)


def _object(file: str, number: int, item: Element, masks: Outline | None) -> Object:
    where, field = f"object {number}", "name"
    try:
        label = text_of(item, "name")
        if not label:
            raise ValueError("there is none; name the class")
        field = "bndbox"
        outline = masks or _polygon(item)
        sides = {side: text_of(item, f"bndbox/{side}") for side in ("ymin", "xmin", "ymax", "xmax")}
        missing = next((side for side, text in sides.items() if not text), None)
        if missing and not (isinstance(outline, Polygons) and item.find("bndbox") is None):
            raise ValueError(f"{missing}: there is none")
        ymin, xmin, ymax, xmax = (finite(text) for text in sides.values()) if not missing else (0.0,) * 4
    except ValueError as error:
        raise BadAnnotation(file, where, field, str(error)) from None
    box = None if missing else (ymin, xmin, ymax, xmax)
    return Object(where, label, box, outline, is_difficult=text_of(item, "difficult") == "1")


def _polygon(item: Element) -> Polygons | None:
    """As Roboflow writes it: <polygon><x1>…</x1><y1>…</y1><x2>…"""
    polygon = item.find("polygon")
    if polygon is None:
        return None
    sides = {point.tag: point.text or "" for point in polygon}
    ring: list[float] = []
    while (number := len(ring) // 2 + 1) and f"x{number}" in sides and f"y{number}" in sides:
        ring += (finite(sides[f"x{number}"]), finite(sides[f"y{number}"]))
    return Polygons((tuple(ring),)) if ring else None
