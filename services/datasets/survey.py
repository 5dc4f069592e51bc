"""Survey a dataset's records: count its images and objects, and collect its problems."""

from collections import Counter
from pathlib import Path
from typing import Any

from services.datasets import examples
from services.datasets.annotations import Annotated, examine
from services.datasets.label_map import LabelMap
from services.datasets.records import Record
from services.domain.tfrecord import DatasetError

__all__ = ["MOST_PROBLEMS", "Survey"]

_SPLITS = ("train", "validation")
MOST_PROBLEMS = 20  # reported; a systematic mistake is in every record


class Survey:
    """`check` every record once, in any order. Only a hash of each image is kept in memory."""

    def __init__(self, labels: LabelMap) -> None:
        self.problems: list[str] = []
        self._labels = labels
        self._remarks: Counter[str] = Counter()
        self._first: dict[str, str] = {}  # where a remark was first made
        self._images: Counter[str] = Counter()
        self._objects: dict[str, Counter[int]] = {split: Counter() for split in _SPLITS}
        self._most_objects: Counter[str] = Counter()
        self._masked: Counter[bool] = Counter()  # images with objects, by whether all have masks
        self._seen: dict[str, set[int]] = {split: set() for split in _SPLITS}

    @property
    def is_full(self) -> bool:
        """Further problems would not be reported."""
        return len(self.problems) >= MOST_PROBLEMS

    def check(self, split: str, file: Path, record: Record) -> None:
        where = f"{file}: record {record.number}"
        try:
            found = examine(examples.decode(record.payload), self._labels)
        except DatasetError as error:
            self.problems.append(f"{where}: {error}; write the records as the Object Detection API's tools do")
            return
        self.count(split, where, found, found.encoded)

    def count(self, split: str, where: str, found: Annotated, image: bytes) -> None:
        """Take in what was found in one image. `image`: its content, or a digest of it."""
        self.problems += (f"{where}: {problem}" for problem in found.problems)
        for remark in found.remarks:
            self._remark(remark, where)
        self._images[split] += 1
        self._objects[split].update(found.classes)
        self._most_objects[split] = max(self._most_objects[split], found.objects)
        if found.objects:
            self._masked[found.has_masks] += 1
        else:
            self._remark(f"{split}: an image has no objects", where)
        if image:
            self._check_duplicate(split, hash(image), where)

    def _check_duplicate(self, split: str, image: int, where: str) -> None:
        self._seen[split].add(image)
        if any(image in self._seen[other] for other in _SPLITS if other != split):
            self._remark("an image is in train and in validation", where)

    def _remark(self, remark: str, where: str) -> None:
        self._remarks[remark] += 1
        self._first.setdefault(remark, where)

    @property
    def has_masks(self) -> bool:
        return self._masked[True] > 0 and not self._masked[False]

    def raise_problems(self) -> None:
        """Raises DatasetError with a line for each problem, if there are any."""
        problems = self.problems[:MOST_PROBLEMS]
        if self.is_full:
            problems.append(f"and perhaps more: reading stopped after {MOST_PROBLEMS} problems")
        else:
            problems += (f"{split}: {why}" for split in _SPLITS if (why := self._unusable(split)))
        if problems:
            raise DatasetError("dataset_bad_example", "\n".join(problems))

    def _unusable(self, split: str) -> str | None:
        if not self._images[split]:
            return "the files contain no records; name others"
        if not self._objects[split] and not self.problems:
            return "no image has an object to learn; name other files"
        return None

    def warnings(self) -> list[str]:
        """Possible mistakes, and how often each occurs."""
        warnings = [
            f"{remark} ({count} times; first: {self._first[remark]})" for remark, count in self._remarks.items()
        ]
        if self._masked[True] and self._masked[False]:
            warnings.append(
                f"{self._masked[False]} images with objects have no masks, {self._masked[True]} have them: "
                f"treated as a dataset without masks, which Mask R-CNN cannot train on"
            )
        unseen = [name for label, name in self._labels.names.items() if not self._objects["train"][label]]
        if unseen:
            shown = ", ".join(unseen[:10]) + (", …" if len(unseen) > 10 else "")
            warnings.append(f"train: {len(unseen)} of {len(self._labels.names)} classes have no object: {shown}")
        return warnings

    def numbers(self, split: str) -> dict[str, Any]:
        """The split's part of the manifest, without its files."""
        objects = self._objects[split]
        return {
            "images": self._images[split],
            "objects": objects.total(),
            "most_objects": self._most_objects[split],
            "objects_per_class": {name: objects[label] for label, name in self._labels.names.items()},
        }
