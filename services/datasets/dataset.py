"""A dataset: a folder of TFRecord files and a label map, described by its manifest `dataset.json`.

The sample's generator or the importer writes the manifest with the files. Afterwards it is trusted, so that loading a
dataset reads no record.
"""

import hashlib
import json
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from services.domain.tfrecord import DatasetError

__all__ = ["LABEL_MAP_FILE", "MANIFEST_FILE", "Dataset", "content_version", "read_manifest", "write_manifest"]

_FORMAT_VERSION = 1
MANIFEST_FILE = "dataset.json"
LABEL_MAP_FILE = "label_map.pbtxt"


@dataclass(frozen=True)
class Dataset:
    """The files of a dataset and numbers about them. `records` and `record_bytes` count the training files only."""

    folder: Path
    train_files: tuple[Path, ...]
    validation_files: tuple[Path, ...]
    label_map: Path
    num_classes: int  # the highest id in the label map
    has_masks: bool  # of every object
    records: int
    record_bytes: int  # of one record, on average
    validation_records: int
    most_boxes: int  # in any one image

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The dataset in `folder`, as its manifest describes it; reads no record.

        Raises DatasetError if there is none, if it is damaged, or if the files' sizes are not those in the manifest.
        """
        manifest = read_manifest(folder)
        try:
            if manifest["format_version"] != _FORMAT_VERSION:
                raise KeyError("format_version")
            described = cls._described(folder, manifest)
            sizes = {split: manifest[split]["bytes"] for split in ("train", "validation")}
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            problem = f"{MANIFEST_FILE} is damaged, or not of version {_FORMAT_VERSION}"
            raise _damaged(folder, problem) from None
        _check_files(folder, described.train_files, sizes["train"])
        _check_files(folder, described.validation_files, sizes["validation"])
        _size(folder, described.label_map)
        return described

    @classmethod
    def _described(cls, folder: Path, manifest: Mapping[str, Any]) -> Self:
        train, validation = manifest["train"], manifest["validation"]
        return cls(
            folder=folder,
            train_files=_below(folder, train["files"]),
            validation_files=_below(folder, validation["files"]),
            label_map=folder / LABEL_MAP_FILE,
            num_classes=manifest.get("num_classes") or len(manifest["classes"]),
            # The first version of the sample has masks, but not this field.
            has_masks=bool(manifest.get("has_masks", True)),
            records=train["images"],
            record_bytes=round(train["bytes"] / train["images"]),
            validation_records=validation["images"],
            most_boxes=max(train["most_objects"], validation["most_objects"]),
        )


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """The contents of `dataset.json` in `folder`, of any version. Raises DatasetError."""
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except OSError as error:
        problem = f"dataset {folder.name!r}: no {MANIFEST_FILE} can be read: {error.strerror}"
        raise DatasetError("dataset_missing", problem) from None
    except (ValueError, RecursionError):
        raise _damaged(folder, f"{MANIFEST_FILE} is damaged") from None
    if not isinstance(manifest, dict):
        raise _damaged(folder, f"{MANIFEST_FILE} is damaged")
    return manifest


def write_manifest(
    folder: Path, *, generator: str, classes: Iterable[str], splits: Mapping[str, Mapping[str, Any]], **more: Any
) -> None:
    """Describe the files in `folder`. `splits`: by train and validation, as `Dataset.load` reads them."""
    manifest = {
        "generator": generator,
        "format_version": _FORMAT_VERSION,
        **more,
        "classes": list(classes),
        "bytes": sum(split["bytes"] for split in splits.values()),
        **splits,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (folder / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")


def content_version(label_map: str, digests: Mapping[str, str]) -> str:
    """A hash of all that jobs read. `digests`: the SHA-256 of each file of records, by its name."""
    content = hashlib.sha256(label_map.encode())
    for name, digest in sorted(digests.items()):
        content.update(f"{name} {digest}\n".encode())
    return f"sha256:{content.hexdigest()}"


def _below(folder: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """Accepts plain file names only, no paths. Raises ValueError."""
    files = tuple(folder / name for name in names)
    if not files or any(file.parent != folder or file.name in ("", "..") for file in files):
        raise ValueError("files")
    return files


def _check_files(folder: Path, files: Iterable[Path], described: int) -> None:
    found = sum(_size(folder, file) for file in files)
    if found != described:
        names = ", ".join(file.name for file in files)
        raise _damaged(folder, f"{names}: {found} bytes instead of {described}: changed since the dataset was added")


def _size(folder: Path, file: Path) -> int:
    try:
        about = file.lstat()
    except OSError as error:
        raise _damaged(folder, f"{file.name}: {error.strerror}") from None
    if not stat.S_ISREG(about.st_mode):
        raise _damaged(folder, f"{file.name}: is not a regular file")
    return about.st_size


def _damaged(folder: Path, problem: str) -> DatasetError:
    return DatasetError("dataset_corrupt", f"dataset {folder.name!r}: {problem}; generate or add the dataset again")
