"""Find out in which format people's folder is, by what is in its files."""

from pathlib import Path

from services.datasets.formats.coco import CocoSource, is_coco
from services.datasets.formats.cvat import CvatSource
from services.datasets.formats.folder import Folder
from services.datasets.formats.picture import Source
from services.datasets.formats.voc import VocSource
from services.datasets.formats.xml_tree import root_name
from services.datasets.formats.yolo import YoloSource, names_file
from services.domain.tfrecord import DatasetError

__all__ = ["FORMATS", "recognise"]

FORMATS = ("coco", "voc", "yolo", "cvat")
_KNOWN = (
    "COCO (JSON with images, annotations and categories), Pascal VOC (an XML file for each picture), YOLO (labels as "
    ".txt, and data.yaml or classes.txt) and CVAT for images (one XML file)"
)


def recognise(root: Path, wanted: str | None = None) -> Source:
    """The source in the folder. `wanted`: one of FORMATS, for a folder that holds several. Raises DatasetError."""
    folder = Folder(root)
    if next(folder.pictures(), None) is None:
        raise DatasetError("dataset_refused", f"{root}: there is no picture in it; name the folder with the pictures")
    roots = {file: root_name(folder.path(file)) for file in folder.ending(".xml")}
    coco, unreadable = _coco_files(folder)
    found = {
        "coco": coco,
        "voc": [file for file, name in roots.items() if name == "annotation"],
        "cvat": [file for file, name in roots.items() if name == "annotations"],
    }
    names = names_file(folder)
    if names is not None and _has_labels(folder):
        found["yolo"] = [names]
    if unreadable and (coco or wanted == "coco" or not any(found.values())):
        raise unreadable[0]
    kinds = [kind for kind in FORMATS if found.get(kind) and wanted in (None, kind)]
    if not kinds:
        raise DatasetError("dataset_refused", f"{root}: {_nothing(folder, wanted)}; known are {_KNOWN}")
    if len(kinds) > 1:
        examples = ", ".join(f"{kind} ({found[kind][0]})" for kind in kinds)
        raise DatasetError("dataset_refused", f"{root}: holds more than one format: {examples}; say which to import")
    [kind] = kinds
    if kind == "coco":
        return CocoSource(folder, found[kind])
    if kind == "voc":
        return VocSource(folder, found[kind])
    return CvatSource(folder, found[kind]) if kind == "cvat" else YoloSource(folder, found[kind][0])


def _coco_files(folder: Folder) -> tuple[list[str], list[DatasetError]]:
    """The files, and what is wrong with those that are no JSON: they count if nothing else is in the folder."""
    files, unreadable = [], []
    for file in folder.ending(".json"):
        try:
            if is_coco(folder.path(file), file):
                files.append(file)
        except DatasetError as error:
            unreadable.append(error)
    return files, unreadable


def _has_labels(folder: Folder) -> bool:
    """A .txt with the name of a picture. A folder without any object would have none, and nothing to learn."""
    stems = {file.rpartition("/")[2].rpartition(".")[0] for file in folder.ending(".txt")}
    return any(file.rpartition("/")[2].rpartition(".")[0] in stems for file in folder.pictures())


def _nothing(folder: Folder, wanted: str | None) -> str:
    if wanted is not None:
        return f"holds no annotations in the format {wanted}"
    if _has_labels(folder):
        return "has YOLO labels but no names of the classes; add data.yaml or classes.txt"
    return "no annotations were recognised"
