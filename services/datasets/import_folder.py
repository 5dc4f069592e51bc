"""Import a folder in people's own format as a dataset for jobs: COCO, Pascal VOC, YOLO or CVAT for images.

The same folder gives the same bytes, on any number of cores.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.datasets import label_map, record_index
from services.datasets.convert.shards import Converter, Shard, Written
from services.datasets.convert.split import Pattern, held_back
from services.datasets.dataset import LABEL_MAP_FILE, Dataset, content_version, write_manifest
from services.datasets.findings import Observation, Severity
from services.datasets.formats.folder import unique_names
from services.datasets.formats.picture import Entry, Source
from services.datasets.formats.recognise import recognise
from services.datasets.importer import Added, Progress, check_name, move_into_place
from services.datasets.label_map import LabelMap
from services.datasets.survey import SPLITS, Survey
from services.domain.tfrecord import DatasetError
from services.working_folder import working_folder

__all__ = ["DEFAULT_SHARE", "Division", "import_folder"]

DEFAULT_SHARE = 0.1
_GENERATOR = "downshift-import"
_Splits = Mapping[str, list[tuple[str, Entry]]]  # each picture with its name
_LEAST_SHARDS = {"train": 4, "validation": 2}  # parallel readers need more than one file
_SHARD_BYTES = 128 * 2**20
_MOST_SHARDS = 1000


@dataclass(frozen=True)
class Division:
    """How to hold back pictures for validation where the folder does not say which.

    `group`: names with the same match stay together, for example the frames of a video.
    """

    share: float = DEFAULT_SHARE
    seed: int = 0
    group: Pattern | None = None


def import_folder(
    root: Path,
    name: str,
    folder: Path,
    *,
    format: str | None = None,
    division: Division | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Added:
    """Check every picture and create the dataset `name` below `root`, completely or not at all.

    `format`: one of `recognise.FORMATS`, if the folder holds several. `processes`: see `Converter`.
    Raises DatasetError, a line for each problem.
    """
    check_name(root, name)
    division = division or Division()
    if not 0 < division.share < 1:
        raise DatasetError("dataset_refused", f"validation share: above 0 and below 1, got {division.share}")
    source = recognise(folder, format)
    entries = sorted(source.entries(), key=lambda entry: entry.picture)
    remarks, splits = _divided(entries, division)
    root.mkdir(parents=True, exist_ok=True)
    with working_folder(root, name) as temporary:
        building = temporary / "new"
        building.mkdir(mode=0o755)
        with Converter(folder, source, processes) as converter:
            labels = _classes(folder, source, entries, converter)
            shards = [shard for split in SPLITS for shard in _shards(building, folder, split, splits[split])]
            survey = Survey(labels)
            for code, remark in remarks:
                survey.findings.add(Observation(code, Severity.WARNING, remark))
            written = list(_written(converter, shards, labels, survey, progress))
        survey.raise_problems()
        _describe(building, source, labels, survey, shards, written, division)
        move_into_place(building, root / name)
    return Added(Dataset.load(root / name), 0, survey.warnings())


def _divided(entries: Sequence[Entry], division: Division) -> tuple[list[tuple[str, str]], _Splits]:
    """The pictures of each split, with their names; and remarks, with codes, on pictures that are left out."""
    splits: dict[str, list[Entry]] = {split: [] for split in (*SPLITS, "test")}
    for entry in entries:
        splits[entry.split or "train"].append(entry)
    remarks = []
    if splits["test"]:
        remark = f"test: {len(splits['test'])} pictures were left out; training does not use them"
        remarks.append(("test_left_out", remark))
    if not splits["train"]:
        raise DatasetError("dataset_refused", "train: the folder has no training pictures")
    if not splits["validation"]:
        if len(splits["train"]) < 2:
            raise DatasetError("dataset_refused", "train: one picture alone cannot be divided; two are the least")
        names = held_back([entry.picture for entry in splits["train"]], division.share, division.seed, division.group)
        if not names:
            raise DatasetError("dataset_refused", "group: all pictures are in one group, which cannot be divided")
        splits["validation"] = [entry for entry in splits["train"] if entry.picture in names]
        splits["train"] = [entry for entry in splits["train"] if entry.picture not in names]
        remark = f"validation: the folder has none; {len(names)} pictures were held back (seed {division.seed})"
        remarks.append(("validation_held_back", remark))
    named = {
        split: list(zip(unique_names([entry.picture for entry in splits[split]]), splits[split], strict=True))
        for split in SPLITS
    }
    return remarks, {split: sorted(pairs, key=lambda pair: pair[0]) for split, pairs in named.items()}


def _classes(folder: Path, source: Source, entries: Sequence[Entry], converter: Converter) -> LabelMap:
    names = source.classes if source.classes is not None else sorted(converter.labels(entries))
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise DatasetError("dataset_refused", f"{folder}: two classes are called {repeated!r}; give each its own name")
    return label_map.of_names(folder, names)


def _shards(building: Path, folder: Path, split: str, pictures: Sequence[tuple[str, Entry]]) -> Iterator[Shard]:
    """The pictures in turn, so that each file is a cross-section."""
    size = sum((folder / entry.picture).stat().st_size for _, entry in pictures)
    count = min(len(pictures), max(_LEAST_SHARDS[split], -(-size // _SHARD_BYTES)), _MOST_SHARDS)
    for number in range(count):
        file = building / f"{split}-{number:05d}-of-{count:05d}.tfrecord"
        yield Shard(split, file, pictures[number::count])


def _written(
    converter: Converter, shards: Sequence[Shard], labels: LabelMap, survey: Survey, progress: Progress | None
) -> Iterator[tuple[str, Written]]:
    """In the order of the shards. Stops when further problems would not be shown."""
    total = sum(len(shard.pictures) for shard in shards)
    tick = (lambda: progress(converter.done, total)) if progress else None
    for shard, written in zip(shards, converter.write(shards, labels.ids, tick), strict=True):
        for file, picture, found, digest in written.found:
            survey.count(written.split, file, picture, found, digest)
        written.found.clear()
        survey.statistics[written.split].merge(written.statistics)
        survey.is_partial |= written.is_partial
        yield shard.file.name, written
        if survey.is_full:
            return


def _describe(
    building: Path,
    source: Source,
    labels: LabelMap,
    survey: Survey,
    shards: Sequence[Shard],
    written: Sequence[tuple[str, Written]],
    division: Division,
) -> None:
    """Write the label map and the manifest."""
    (building / LABEL_MAP_FILE).write_text(labels.text, encoding="utf-8")
    files = dict(written)
    splits = {}
    for split in SPLITS:
        names = [shard.file.name for shard in shards if shard.split == split]
        record_index.write(building, split, [files[name].index for name in names])
        splits[split] = survey.numbers(split) | {"files": names, "bytes": sum(files[name].bytes for name in names)}
    write_manifest(
        building,
        generator=_GENERATOR,
        classes=labels.names.values(),
        splits=splits,
        num_classes=labels.num_classes,
        has_masks=survey.has_masks,
        source=source.format,
        seed=division.seed,
        version=content_version(labels.text, {name: file.sha256 for name, file in files.items()}),
        **survey.described(),
    )
