"""Import TFRecord files in the Object Detection API's format as a dataset for jobs."""

import contextlib
import enum
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from services.datasets import label_map, record_index, records
from services.datasets.annotations import Annotated
from services.datasets.dataset import LABEL_MAP_FILE, Dataset, content_version, write_manifest
from services.datasets.findings import Observation, Severity
from services.datasets.record_index import FileIndex
from services.datasets.survey import Survey
from services.domain.tfrecord import DatasetError
from services.durable_file import sync
from services.working_folder import working_folder

__all__ = ["Added", "Keep", "Progress", "add", "check_name", "move_into_place"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_FILES = 10_000
_GENERATOR = "downshift-add"
_SOURCE = "TFRecord"

Progress = Callable[[int, int], None]  # bytes read, total bytes


class Keep(enum.Enum):
    """How the dataset gets its files. A linked file takes no space, but changes with its original."""

    LINK_OR_COPY = enum.auto()  # a hard link if the file system supports it
    LINK = enum.auto()  # a hard link or an error
    COPY = enum.auto()


@dataclass(frozen=True)
class Added:
    dataset: Dataset
    linked: int  # number of files
    warnings: list[str]


def add(
    root: Path,
    name: str,
    *,
    train: Sequence[Path],
    validation: Sequence[Path] = (),
    labels: Path,
    validation_share: float | None = None,
    keep: Keep = Keep.LINK_OR_COPY,
    progress: Progress | None = None,
) -> Added:
    """Check every record and create the dataset `name` below `root`, completely or not at all.

    Without validation files, `validation_share` of the training images is held back, evenly over the files. Raises
    DatasetError, with a line for each problem, if a job could not train on the dataset, or if the name is taken.
    """
    _check_request(root, name, train, validation, validation_share, keep)
    classes = label_map.read(labels)
    root.mkdir(parents=True, exist_ok=True)
    with working_folder(root, name) as temporary:
        building = temporary / "new"
        building.mkdir(mode=0o755)
        survey = Survey(classes)
        total = sum(file.stat().st_size for file in (*train, *validation))
        reader = _Reader(survey, building, keep, progress, total)
        if validation_share is None:
            files = {"train": reader.take("train", train), "validation": reader.take("validation", validation)}
        else:
            files = reader.divide(train, validation_share)
        survey.raise_problems()
        _describe(building, classes, survey, files)
        for split, names in files.items():
            record_index.write(building, split, [reader.indexes[name] for name in names])
        move_into_place(building, root / name)
    return Added(Dataset.load(root / name), reader.linked, survey.warnings())


def _describe(building: Path, classes: label_map.LabelMap, survey: Survey, files: Mapping[str, Sequence[str]]) -> None:
    """Write the label map and the manifest. `files`: names by split."""
    (building / LABEL_MAP_FILE).write_text(classes.text, encoding="utf-8")
    splits = {
        split: survey.numbers(split)
        | {"files": names, "bytes": sum((building / name).stat().st_size for name in names)}
        for split, names in files.items()
    }
    write_manifest(
        building,
        generator=_GENERATOR,
        classes=classes.names.values(),
        splits=splits,
        num_classes=classes.num_classes,
        has_masks=survey.has_masks,
        source=_SOURCE,
        version=content_version(
            classes.text, {name: _digest(building / name) for names in files.values() for name in names}
        ),
        **survey.described(),
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Reader:
    """Reads source files once: checks each record in the survey, and links or copies the file."""

    def __init__(self, survey: Survey, building: Path, keep: Keep, progress: Progress | None, total: int) -> None:
        self.linked = 0
        self.indexes: dict[str, FileIndex] = {}  # by the names of the new files
        self._survey = survey
        self._building = building
        self._keep = keep
        self._progress = progress
        self._total = total
        self._done = 0

    def take(self, split: str, sources: Sequence[Path]) -> list[str]:
        """Link or copy whole files. Returns their names in the new folder."""
        names = [f"{split}-{number:05d}-of-{len(sources):05d}.tfrecord" for number in range(len(sources))]
        for source, name in zip(sources, names, strict=True):
            target = self._building / name
            linked = self._keep is not Keep.COPY and self._link(source, target)
            self.indexes[name] = FileIndex()
            with contextlib.nullcontext() if linked else target.open("xb") as copy:
                for record in self._records(source):
                    found = self._survey.check(split, source, record)
                    self._write(name, copy, record, found)
            if linked and records.identity(source.stat()) != records.identity(target.stat()):
                raise DatasetError("dataset_corrupt", f"{source}: was replaced while it was read; try again")
            self.linked += linked
        return names

    def divide(self, sources: Sequence[Path], share: float) -> dict[str, list[str]]:
        """Hold back every n-th record for validation. Returns the names of both splits' files."""
        names = {
            "train": [f"train-{number:05d}-of-{len(sources):05d}.tfrecord" for number in range(len(sources))],
            "validation": ["validation-00000-of-00001.tfrecord"],
        }
        self.indexes = {name: FileIndex() for files in names.values() for name in files}
        count = 0
        with (self._building / names["validation"][0]).open("xb") as held_back:
            for source, name in zip(sources, names["train"], strict=True):
                with (self._building / name).open("xb") as rest:
                    for record in self._records(source):
                        is_held_back = int((count + 1) * share) > int(count * share)
                        count += 1
                        found = self._survey.check("validation" if is_held_back else "train", source, record)
                        if is_held_back:
                            self._write(names["validation"][0], held_back, record, found)
                        else:
                            self._write(name, rest, record, found)
        return names

    def _records(self, source: Path) -> Iterator[records.Record]:
        """A damaged file is one more problem; the other files are still read."""
        try:
            for record in records.read(source):
                if self._survey.is_full:
                    return
                yield record
                self._done += len(record.frame)
                if self._progress:
                    self._progress(self._done, self._total)
        except DatasetError as error:
            self._survey.findings.add(*_damage(source, error))

    def _write(self, name: str, copy: BinaryIO | None, record: records.Record, found: Annotated) -> None:
        if self._survey.is_refused:  # with problems, the dataset is not added
            return
        self.indexes[name].add(len(record.frame), found)
        if copy is not None:
            copy.write(record.frame)

    def _link(self, source: Path, target: Path) -> bool:
        try:
            os.link(source.resolve(), target)
        except OSError as error:
            if self._keep is Keep.LINK:
                problem = f"{source}: cannot be linked into {self._building.parents[1]}: {error.strerror}; copy it"
                raise DatasetError("dataset_refused", problem) from None
            return False
        return True


def _damage(source: Path, error: DatasetError) -> tuple[Observation, str, str]:
    """As `Findings.add` takes it. The message begins with the file and the record, where there is one."""
    place, problem = str(error).removeprefix(f"{source}: "), ""
    if error.record is not None:
        place, _, problem = place.partition(": ")
    return Observation("file_damaged", Severity.ERROR, problem or place), str(source), place if problem else ""


def check_name(root: Path, name: str) -> None:
    """Raises DatasetError if no dataset of this name can be added below `root`."""
    if not NAME.fullmatch(name):
        raise _refused(f"name: use at most 64 letters, digits and - _ ., starting with a letter or digit; got {name!r}")
    if os.path.lexists(root / name):
        raise _refused(f"name: a dataset called {name!r} already exists and cannot be changed; choose another name")


def _check_request(
    root: Path, name: str, train: Sequence[Path], validation: Sequence[Path], share: float | None, keep: Keep
) -> None:
    check_name(root, name)
    if not train:
        raise _refused("train: name the files with the training images")
    if not validation and share is None:
        raise _refused("validation: name validation files, or hold back a share of the training images, e.g. 0.1")
    if share is not None:
        if validation:
            raise _refused("validation: either files or a share of the training images, not both")
        if not 0 < share < 1:
            raise _refused(f"validation share: above 0 and below 1, got {share}")
        if keep is Keep.LINK:
            raise _refused("link: files that are split cannot be linked; leave it out")
    if len(train) + len(validation) > MAX_FILES:
        raise _refused(f"train: at most {MAX_FILES:,} files; write larger ones")
    seen: dict[tuple[int, int], Path] = {}
    for file in (*train, *validation):
        try:
            about = file.stat()
        except (OSError, ValueError) as error:
            raise DatasetError("dataset_missing", f"{file}: {getattr(error, 'strerror', None) or error}") from None
        first = seen.setdefault((about.st_dev, about.st_ino), file)
        if first is not file:
            raise _refused(f"{file}: is given twice, also as {first}; name each file once")


def move_into_place(building: Path, folder: Path) -> None:
    """Rename durably. The content is flushed first, so that a crash leaves the whole dataset or none."""
    for path in (*building.iterdir(), building):
        sync(path)
    try:
        os.rename(building, folder)
    except OSError:
        if os.path.lexists(folder):
            raise _refused(f"name: {folder.name!r} was added by somebody else meanwhile") from None
        raise
    sync(folder.parent)


def _refused(problem: str) -> DatasetError:
    return DatasetError("dataset_refused", problem)
