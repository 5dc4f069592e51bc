"""COCO: JSON files with images, annotations and categories. Label Studio, Roboflow and CVAT write it too.

An annotation file may be larger than memory, and its annotations come in any order. They are sorted by picture in a
database on disk.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.datasets.formats.folder import Folder
from services.datasets.formats.json_stream import members
from services.datasets.formats.numbers import finite, whole
from services.datasets.formats.picture import Annotation, BadAnnotation, Entry, Object, Outline, Polygons, Rle
from services.datasets.formats.scratch import Scratch, rows
from services.domain.tfrecord import DatasetError

__all__ = ["CocoSource", "is_coco"]

_LISTS = ("images", "annotations", "categories")
_PLACES = ("images", "../images", "data", "../data", "JPEGImages", "..")
_IMAGES = """
CREATE TABLE images (file INTEGER, id TEXT, place INTEGER, name TEXT, height, width, PRIMARY KEY (file, id))
    WITHOUT ROWID
"""


def is_coco(path: Path, shown: str) -> bool:
    """Is this the JSON of an object with one of COCO's lists? Raises DatasetError if it is no JSON object."""
    return any(name in _LISTS and isinstance(item, dict) for name, item in members(path, shown))


class CocoSource:
    format = "COCO"

    def __init__(self, folder: Folder, files: Sequence[str]) -> None:
        self._folder = folder
        self._files = [file for file in files if not _is_of_other_kind(file)] or list(files)
        self._scratch = Scratch()
        self._scratch.database.execute(_IMAGES)
        categories: dict[int, str] = {}
        used: set[int] = set()
        parents: set[str] = set()
        for number, file in enumerate(self._files):
            _Loader(self._scratch, number, file, categories, used, parents).load(folder.path(file))
        self._scratch.finish()
        names = {
            number: name
            for number, name in sorted(categories.items())
            # Roboflow writes the project itself as category 0.
            if number != 0 or number in used or name not in parents
        }
        self.classes: Sequence[str] = list(names.values())
        self.read = _Reader(names, self._scratch.path)

    def entries(self) -> Iterator[Entry]:
        for number, file in enumerate(self._files):
            split = self._folder.split_of(file)
            for image, name, size in self._images(number):
                try:
                    picture = self._folder.picture(name, file, *_PLACES, Path(file).stem.rpartition("_")[2])
                except DatasetError as error:
                    raise DatasetError(error.code, f"{file}: image {image}: file_name: {error}") from None
                yield Entry(picture, split, (number, file, image, size))

    def _images(self, number: int) -> Iterator[tuple[str, str, Any]]:
        rows = self._scratch.database.execute(
            "SELECT id, name, height, width FROM images WHERE file = ? ORDER BY place", (number,)
        )
        for image, name, height, width in rows:
            yield image, name, (height, width) if height and width else None


@dataclass(frozen=True)
class _Reader:
    """`names`: the categories by their ids."""

    names: Mapping[int, str]
    scratch: Path

    def __call__(self, entry: Entry) -> Annotation:
        number, file, image, size = entry.annotation
        found = rows(self.scratch, number, image)
        objects = [self._object(file, place, json.loads(text)) for place, text in found]
        return Annotation(file, objects, size)

    def _object(self, file: str, place: int, item: Mapping[str, Any]) -> Object:
        where = f"annotation {item.get('id', f'number {place}')}"
        field = "category_id"
        try:
            label = self.names.get(whole(item.get(field)))
            if label is None:
                problem = f"{item[field]} is not in categories; add it there"
                raise BadAnnotation(file, where, field, problem, self._beyond(item[field]))
            field = "segmentation"
            outline = _outline(item.get(field))
            field = "bbox"
            box = _box(item.get(field))
            if box is None and outline is None:
                raise ValueError("there is none; write [x, y, width, height]")
        except BadAnnotation:
            raise
        except (TypeError, ValueError) as error:
            raise BadAnnotation(file, where, field, str(error)) from None
        return Object(where, label, box, outline, is_crowd=item.get("iscrowd") in (1, True))

    def _beyond(self, category: int) -> int | None:
        """The class that a category beside the first or the last one would be; None for any other."""
        return {min(self.names) - 1: 0, max(self.names) + 1: len(self.names) + 1}.get(category)


class _Loader:
    """Brings one file into the database, unread but for the ids."""

    def __init__(
        self,
        scratch: Scratch,
        number: int,
        file: str,
        categories: dict[int, str],
        used: set[int],
        parents: set[str],
    ) -> None:
        self._scratch = scratch
        self._number = number
        self._file = file
        self._categories = categories
        self._used = used
        self._parents = parents

    def load(self, path: Path) -> None:
        counts = dict.fromkeys(_LISTS, 0)
        take = {"images": self._image, "annotations": self._annotation, "categories": self._category}
        for name, item in members(path, self._file):
            if name not in take:
                continue
            where = f"{self._file}: {name}[{counts[name]}]"
            if not isinstance(item, dict):
                raise DatasetError("dataset_bad_example", f"{where}: is not an object")
            try:
                take[name](item, counts[name])
            except (TypeError, ValueError) as error:
                raise DatasetError("dataset_bad_example", f"{where}: {error}") from None
            counts[name] += 1
        missing = next((name for name in ("images", "categories") if not counts[name]), None)
        if missing:
            raise DatasetError("dataset_refused", f"{self._file}: {missing}: there are none; is it a COCO file?")
        self._check_images()

    def _image(self, item: Mapping[str, Any], place: int) -> None:
        name = item.get("file_name")
        if not isinstance(name, str) or not name:
            raise ValueError("file_name: there is none; name the picture's file")
        size = [whole(item[side]) if item.get(side) is not None else None for side in ("height", "width")]
        row = (self._number, _key(item, "id"), place, name, *size)
        try:
            self._scratch.database.execute("INSERT INTO images VALUES (?, ?, ?, ?, ?, ?)", row)
        except sqlite3.IntegrityError:
            raise ValueError(f"id: {item['id']!r} is used twice; give each image its own") from None

    def _annotation(self, item: Mapping[str, Any], place: int) -> None:
        category = item.get("category_id")
        if isinstance(category, int):
            self._used.add(category)
        text = json.dumps(item, separators=(",", ":"))
        self._scratch.add(self._number, _key(item, "image_id"), place, text)

    def _category(self, item: Mapping[str, Any], _: int) -> None:
        number, name = whole(item.get("id")), item.get("name")
        if not isinstance(name, str) or not name.strip():
            raise ValueError("name: there is none; name the class")
        if isinstance(item.get("supercategory"), str):
            self._parents.add(item["supercategory"])
        known = self._categories.setdefault(number, name)
        if known != name:
            raise ValueError(f"id: {number} is {name!r} here and {known!r} elsewhere; give each class its own")

    def _check_images(self) -> None:
        lost = self._scratch.database.execute(
            "SELECT image, place FROM annotations WHERE file = ? AND image NOT IN (SELECT id FROM images "
            "WHERE file = ?) ORDER BY place LIMIT 1",
            (self._number, self._number),
        ).fetchone()
        if lost:
            where = f"{self._file}: annotations[{lost[1]}]: image_id"
            raise DatasetError("dataset_bad_example", f"{where}: {lost[0]} is not the id of an image")


def _key(item: Mapping[str, Any], name: str) -> str:
    """Ids are numbers, but some tools write text."""
    value = item.get(name)
    if not isinstance(value, (int, str)) or isinstance(value, bool):
        raise ValueError(f"{name}: {value!r} is not an id; write a whole number")
    return str(value)


def _box(given: Any) -> tuple[float, float, float, float] | None:
    if given is None or given == []:
        return None
    if not isinstance(given, list) or len(given) != 4:
        raise ValueError("is not [x, y, width, height]")
    x, y, width, height = map(finite, given)
    return y, x, y + height, x + width


def _outline(given: Any) -> Outline | None:
    if not given:
        return None
    if isinstance(given, list):
        rings = given if isinstance(given[0], list) else [given]
        return Polygons(tuple(tuple(map(finite, ring)) for ring in rings))
    if isinstance(given, dict):
        height, width = map(whole, given["size"]) if len(given.get("size") or ()) == 2 else (0, 0)
        counts = given.get("counts")
        if height and width and isinstance(counts, str):
            return Rle(counts, height, width)
        if height and width and isinstance(counts, list):
            return Rle(tuple(map(whole, counts)), height, width)
    raise ValueError("is neither polygons nor run lengths with size and counts")


def _is_of_other_kind(file: str) -> bool:
    """COCO ships captions and key points beside the instances."""
    return file.rpartition("/")[2].startswith(("captions_", "person_keypoints_", "stuff_", "panoptic_", "image_info_"))
