"""Survey a dataset's records: count its images and objects, and collect its findings and statistics."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from services.datasets import examples
from services.datasets.annotations import Annotated, examine
from services.datasets.findings import Findings, Observation, Severity
from services.datasets.label_map import LabelMap
from services.datasets.records import Record
from services.datasets.statistics import Statistics
from services.domain.tfrecord import DatasetError

__all__ = ["MOST_PROBLEMS", "SPLITS", "Survey"]

SPLITS = ("train", "validation")
MOST_PROBLEMS = 10_000  # before reading stops; of each kind only the first places are shown
_MOST_IDS = 20_000  # that are remembered


class Survey:
    """`check` every record once, in any order. Only hashes of each image and its name are kept in memory."""

    def __init__(self, labels: LabelMap) -> None:
        self.findings = Findings()
        self.statistics = {split: Statistics() for split in SPLITS}
        self.is_partial = False  # not all was read, as there were too many problems
        self._labels = labels
        self._images: Counter[str] = Counter()
        self._objects: dict[str, Counter[int]] = {split: Counter() for split in SPLITS}
        self._most_objects: Counter[str] = Counter()
        self._masked: Counter[bool] = Counter()  # images with objects, by whether all have masks
        self._written_ids: set[int] = set()
        self._seen: dict[str, set[int]] = {split: set() for split in SPLITS}
        self._names: dict[str, set[int]] = {split: set() for split in SPLITS}

    @property
    def is_full(self) -> bool:
        """Reading on would only find more of the same."""
        return self.findings.errors >= MOST_PROBLEMS

    @property
    def is_refused(self) -> bool:
        return self.findings.errors > 0

    def check(self, split: str, file: Path, record: Record) -> Annotated:
        where = f"record {record.number}"
        try:
            found = examine(examples.decode(record.payload), self._labels)
        except DatasetError as error:
            found = Annotated()
            found.refuse("record_unreadable", f"{error}; write the records as the Object Detection API's tools do")
            self._observe(found, str(file), where)
            return found
        self.count(split, str(file), where, found, found.encoded)
        if not self.is_refused:
            self.statistics[split].add(found)
        return found

    def count(self, split: str, file: str, record: str, found: Annotated, image: bytes) -> None:
        """Take in what was found in one image, without its statistics. `image`: its content, or a digest of it."""
        self._observe(found, file, record)
        self._images[split] += 1
        self._objects[split].update(found.classes)
        self._most_objects[split] = max(self._most_objects[split], found.objects)
        if len(self._written_ids) < _MOST_IDS:
            self._written_ids |= found.written_ids
        if found.objects:
            self._masked[found.has_masks] += 1
        else:
            self._warn("image_without_objects", f"{split}: an image has no objects", file, record)
        if image:
            self._check_duplicate(split, hash(image), file, record)
        if found.name:
            self._check_name(split, hash(found.name), file, record)

    def _observe(self, found: Annotated, file: str, record: str) -> None:
        for observed in found.observed:
            self.findings.add(observed, file, record)

    def _check_duplicate(self, split: str, image: int, file: str, record: str) -> None:
        if image in self._seen[split]:
            message = f"{split}: an image is there more than once, by its content"
            self._warn("image_repeated", message, file, record)
        self._seen[split].add(image)
        if any(image in self._seen[other] for other in SPLITS if other != split):
            self._warn("image_in_both_splits", "an image is in train and in validation", file, record)

    def _check_name(self, split: str, name: int, file: str, record: str) -> None:
        if name in self._names[split]:
            message = f"{split}: two images have the same image/source_id; give each its own"
            self._warn("name_repeated", message, file, record)
        self._names[split].add(name)

    def _warn(self, code: str, message: str, file: str = "", record: str = "") -> None:
        self.findings.add(Observation(code, Severity.WARNING, message), file, record)

    @property
    def has_masks(self) -> bool:
        return self._masked[True] > 0 and not self._masked[False]

    def raise_problems(self) -> None:
        """Raises DatasetError with lines for each error, if there are any."""
        self._check_shift()
        is_broken = self.is_refused
        if not self.is_full:
            for split in SPLITS:
                self._check_use(split, is_broken)
        if self.is_refused:
            lines = self.findings.error_lines()
            if self.is_full or self.is_partial:
                lines.append(f"and perhaps more: reading stopped after {self.findings.errors:,} problems")
            raise DatasetError("dataset_bad_example", "\n".join(lines))
        self._check_whole()

    def _check_use(self, split: str, is_broken: bool) -> None:
        """`is_broken`: there are problems with single images, which may be why there are no objects."""
        if not self._images[split]:
            self._refuse(f"{split}_empty", f"{split}: the files contain no records; name others")
        elif not self._objects[split] and not is_broken:
            problem = f"{split}: no image has an object to learn; name other files"
            self._refuse(f"{split}_without_objects", problem)

    def _check_shift(self) -> None:
        """Ids that miss one end of the label map and go beyond the other by one were counted from another number."""
        used = self._written_ids | {label for split in SPLITS for label in self._objects[split]}
        low, high = min(self._labels.names), max(self._labels.names)
        outside = used - set(self._labels.names)
        advice = ""
        if outside == {low - 1} and high not in used:
            advice = "add 1 to each id"
        elif outside == {high + 1} and low not in used:
            advice = "subtract 1 from each id"
        if advice:
            have = f"the ids run from {min(used)} to {max(used)}, those of the classes from {low} to {high}"
            message = f"the labels are off by one: {have}; {advice}"
            self.findings.lead_with(Observation("labels_off_by_one", Severity.ERROR, message))

    def _refuse(self, code: str, message: str) -> None:
        self.findings.add(Observation(code, Severity.ERROR, message))

    def _check_whole(self) -> None:
        """Warnings about the dataset as a whole."""
        if self._masked[True] and self._masked[False]:
            self._warn(
                "masks_mixed",
                f"{self._masked[False]} images with objects have no masks, {self._masked[True]} have them: "
                f"treated as a dataset without masks, which Mask R-CNN cannot train on",
            )
        unseen = [name for label, name in self._labels.names.items() if not self._objects["train"][label]]
        if unseen:
            shown = ", ".join(unseen[:10]) + (", …" if len(unseen) > 10 else "")
            message = f"train: {len(unseen)} of {len(self._labels.names)} classes have no object: {shown}"
            self._warn("class_without_objects", message)

    def warnings(self) -> list[str]:
        """Possible mistakes, and how often each occurs. Complete after `raise_problems`."""
        return [finding.sentence for finding in self.findings.of(Severity.WARNING)]

    def numbers(self, split: str) -> dict[str, Any]:
        """The split's part of the manifest, without its files."""
        objects = self._objects[split]
        return {
            "images": self._images[split],
            "objects": objects.total(),
            "most_objects": self._most_objects[split],
            "objects_per_class": {name: objects[label] for label, name in self._labels.names.items()},
        }

    def described(self) -> Mapping[str, Any]:
        """What is stored with the dataset besides: warnings and statistics."""
        return {
            "findings": [finding.as_json() for finding in self.findings.of(Severity.WARNING)],
            "statistics": {split: self.statistics[split].as_json() for split in SPLITS},
        }
