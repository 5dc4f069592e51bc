"""YOLO: a text file of numbers for each picture, and the classes' names in data.yaml, classes.txt or obj.names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from services.datasets.formats.folder import Folder
from services.datasets.formats.numbers import finite
from services.datasets.formats.picture import Annotation, BadAnnotation, Entry, Object, Polygons, split_named
from services.datasets.formats.text_files import lines, text
from services.domain.tfrecord import DatasetError

__all__ = ["YoloSource", "names_file"]

_MOST = 2**20  # bytes of data.yaml
_NAMES = ("obj.names", "classes.txt", "_darknet.labels")


def names_file(folder: Folder) -> str | None:
    """The file that names the classes: a .yaml with `names`, or one of the older kinds."""
    for file in folder.ending(".yaml", ".yml"):
        if "names" in _yaml(folder.path(file), file):
            return file
    older = (file for file in folder.ending(*_NAMES, ".names") if PurePosixPath(file).name != "README.names")
    return next(older, None)


class YoloSource:
    format = "YOLO"

    def __init__(self, folder: Folder, names: str) -> None:
        self._folder = folder
        self._settings = _yaml(folder.path(names), names) if names.endswith((".yaml", ".yml")) else {}
        self._names_file = names
        self.classes: list[str] = _class_names(self._settings, folder.path(names), names)
        self.read = _Reader(folder.root, tuple(self.classes), names)

    def entries(self) -> Iterator[Entry]:
        """Pictures without a label file have no objects; that is how YOLO marks them."""
        known = set(self._folder.ending(".txt"))
        splits = self._listed() if not self._has_folders() else {}
        for picture in self._folder.pictures():
            label = next((file for file in _label_files(picture) if file in known), None)
            split = splits.get(picture) or self._in_folder(picture) or self._folder.split_of(picture)
            yield Entry(picture, split, label)

    def _places(self) -> Iterator[tuple[str, str]]:
        """The split and path of each folder or list that data.yaml names."""
        for name, given in self._settings.items():
            split = split_named(name) if isinstance(name, str) else None
            for place in given if isinstance(given, list) else [given]:
                if split and isinstance(place, str):
                    yield split, place.replace("\\", "/")

    def _has_folders(self) -> bool:
        return any(not place.endswith(".txt") for _, place in self._places())

    def _in_folder(self, picture: str) -> str | None:
        """By the folders of data.yaml. Their first parts are often wrong, so the ends of the paths are compared."""
        near = f"/{PurePosixPath(picture).parent}/"
        for split, place in self._places():
            parts = [part for part in place.split("/") if part not in ("", ".", "..")]
            if parts and f"/{'/'.join(parts[-2:])}/" in near:
                return split
        return None

    def _listed(self) -> Mapping[str, str]:
        """By lists such as train.txt, beside data.yaml or named in it."""
        found: dict[str, str] = {}
        for file in self._folder.ending(".txt"):
            split = split_named(PurePosixPath(file).stem)
            if split:
                for line in lines(self._folder.path(file), file):
                    found[self._folder.picture(line, file)] = split
        return found


class _UnknownClass(ValueError):
    def __init__(self, number: int, known: str) -> None:
        super().__init__(f"{number} has no name; {known}")
        self.number = number


@dataclass(frozen=True)
class _Reader:
    root: Path
    names: tuple[str, ...]
    names_file: str

    def __call__(self, entry: Entry) -> Annotation:
        file = entry.annotation
        if file is None:
            return Annotation(entry.picture, [], is_relative=True)
        objects = []
        for number, line in enumerate(text(self.root / file, file).splitlines(), start=1):
            try:
                if line.strip():
                    objects.append(self._object(f"line {number}", line.split()))
            except _UnknownClass as error:
                raise BadAnnotation(file, f"line {number}", "class", str(error), error.number + 1) from None
            except ValueError as error:
                raise BadAnnotation(file, f"line {number}", "", str(error)) from None
        return Annotation(file, objects, is_relative=True)

    def _object(self, where: str, values: Sequence[str]) -> Object:
        label = self._label(values[0])
        numbers = [finite(value) for value in values[1:]]
        if len(numbers) == 4:
            x, y, width, height = numbers
            return Object(where, label, (y - height / 2, x - width / 2, y + height / 2, x + width / 2))
        if len(numbers) >= 6 and len(numbers) % 2 == 0:
            return Object(where, label, None, Polygons((tuple(numbers),)))
        advice = "write class x y width height, or class and the x y of at least three points"
        raise ValueError(f"{len(values)} values; {advice}")

    def _label(self, value: str) -> str:
        try:
            number = int(value)
        except ValueError:
            raise ValueError(f"class: {value[:40]!r} is not a whole number") from None
        if not 0 <= number < len(self.names):
            known = f"{self.names_file} names 0 to {len(self.names) - 1}"
            raise _UnknownClass(number, known)
        return self.names[number]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def _yaml(path: Path, shown: str) -> Mapping[str, Any]:
    try:
        found = yaml.load(text(path, shown, _MOST), _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DatasetError("dataset_refused", f"{shown}: cannot be read as YAML: {reason}") from None
    return found if isinstance(found, dict) else {}


def _class_names(settings: Mapping[str, Any], path: Path, shown: str) -> list[str]:
    if not settings:
        return lines(path, shown)
    names = settings["names"]
    if isinstance(names, dict):
        if sorted(names, key=str) != sorted(range(len(names)), key=str):
            raise DatasetError("dataset_refused", f"{shown}: names: number the classes from 0 without a gap")
        names = [names[number] for number in range(len(names))]
    if not isinstance(names, list) or not all(isinstance(name, (str, int, float)) for name in names):
        raise DatasetError("dataset_refused", f"{shown}: names: is not a list of names")
    return [str(name) for name in names]


def _label_files(picture: str) -> Iterator[str]:
    """Where YOLO looks: labels instead of the last images of the path, or beside the picture."""
    folder, _, name = picture.rpartition("/")
    stem = name.rpartition(".")[0]
    parts = folder.split("/") if folder else []
    if "images" in parts:
        last = len(parts) - 1 - parts[::-1].index("images")
        yield "/".join((*parts[:last], "labels", *parts[last + 1 :], f"{stem}.txt"))
    yield "/".join((*parts, f"{stem}.txt"))
    yield "/".join((*parts, "labels", f"{stem}.txt"))
