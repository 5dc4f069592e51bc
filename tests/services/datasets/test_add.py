"""Adding a team's own files as a dataset: checked first, and completely or not at all."""

import dataclasses
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from services.datasets import add as command
from services.datasets import examples, importer, library, records, shapes, survey
from services.datasets.dataset import Dataset
from services.datasets.importer import Added, Keep, add
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError

Example = dict[str, Any]
OBJECT_FIELDS = (
    "bbox/ymin",
    "bbox/xmin",
    "bbox/ymax",
    "bbox/xmax",
    "class/text",
    "class/label",
    "mask",
    "is_crowd",
    "area",
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return shapes.generate(tmp_path_factory.mktemp("theirs") / "shapes", train=8, validation=4, size=64, seed=5)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "datasets"


def added(root: Path, sample: Dataset, name: str = "cones", **changes: Any) -> Added:
    """Add the sample's files under another name, with these arguments changed."""
    arguments: dict[str, Any] = {
        "train": sample.train_files,
        "validation": sample.validation_files,
        "labels": sample.label_map,
        **changes,
    }
    return add(root, name, **arguments)


def rewritten(source: Iterable[Path], path: Path, change: Callable[[int, Example], None]) -> Path:
    """Write the source's examples to one file, each changed by `change`."""
    found = [examples.decode(record.payload) for file in source for record in records.read(file)]
    for number, example in enumerate(found):
        change(number, example)
    tfrecord.write(path, map(encoded, found))
    return path


def encoded(example: Example) -> bytes:
    def of(kind: type) -> Example:
        return {name: values for name, values in example.items() if values and isinstance(values[0], kind)}

    return examples.encode(byte_lists=of(bytes), floats=of(float), ints=of(int))


def without(*fields: str) -> Callable[[int, Example], None]:
    def change(number: int, example: Example) -> None:
        for field in fields:
            example.pop(f"image/object/{field}", None)

    return change


def only(chosen: int, change: Callable[[int, Example], None]) -> Callable[[int, Example], None]:
    return lambda number, example: change(number, example) if number == chosen else None


# What is taken in


@pytest.mark.parametrize("keep", Keep)
def test_adding_the_samples_files_gives_an_equal_dataset(root: Path, sample: Dataset, keep: Keep) -> None:
    found = added(root, sample, keep=keep).dataset
    assert found == library.find(root, "cones")
    places: dict[str, Any] = {"folder": root / "cones", "label_map": root / "cones" / "label_map.pbtxt"}
    for split in ("train_files", "validation_files"):
        places[split] = tuple(root / "cones" / file.name for file in getattr(sample, split))
        for ours, theirs in zip(getattr(found, split), getattr(sample, split), strict=True):
            assert ours.read_bytes() == theirs.read_bytes()
    assert found == dataclasses.replace(sample, **places)


def test_the_manifest_counts_as_the_generator_did(root: Path, sample: Dataset) -> None:
    theirs, ours = (
        json.loads((folder / "dataset.json").read_text())
        for folder in (sample.folder, added(root, sample).dataset.folder)
    )
    for part in ("classes", "bytes", "train", "validation", "has_masks", "format_version"):
        assert ours[part] == theirs[part]


def test_files_are_linked_if_possible(root: Path, sample: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    linked = added(root, sample)
    assert linked.linked == 6
    assert linked.dataset.train_files[0].samefile(sample.train_files[0])

    def another_file_system(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", another_file_system)
    copied = added(root, sample, "copied")
    assert copied.linked == 0
    assert not copied.dataset.train_files[0].samefile(sample.train_files[0])
    with pytest.raises(DatasetError, match=r"train-00000.*cannot be linked .*cross-device link; copy it"):
        added(root, sample, "refused", keep=Keep.LINK)


def test_a_copy_is_its_own_file(root: Path, sample: Dataset) -> None:
    assert not added(root, sample, keep=Keep.COPY).dataset.train_files[0].samefile(sample.train_files[0])


def test_a_symbolic_link_is_resolved_and_not_copied(root: Path, sample: Dataset, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(sample.train_files[0])
    found = added(root, sample, train=[tmp_path / "link"]).dataset.train_files[0]
    assert not found.is_symlink()
    assert found.samefile(sample.train_files[0])


def test_a_share_of_the_training_images_is_held_back(root: Path, sample: Dataset) -> None:
    found = added(root, sample, validation=(), validation_share=0.25).dataset
    assert (found.records, found.validation_records) == (6, 2)
    parts = [
        [record.payload for file in files for record in records.read(file)]
        for files in (found.train_files, found.validation_files)
    ]
    whole = [record.payload for file in sample.train_files for record in records.read(file)]
    assert sorted(parts[0] + parts[1]) == sorted(whole)


def test_one_empty_shard_among_others_is_allowed(root: Path, sample: Dataset, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert added(root, sample, train=[*sample.train_files, tmp_path / "empty"]).dataset.records == 8


def test_classes_are_counted_by_the_highest_id(root: Path, sample: Dataset, tmp_path: Path) -> None:
    labels = tmp_path / "map"
    labels.write_text("item { id: 9 name: 'circle' } item { id: 2 name: 'square' } item { id: 5 name: 'triangle' }")
    assert added(root, sample, labels=labels).dataset.num_classes == 9


def test_a_dataset_without_masks_is_marked(root: Path, sample: Dataset, tmp_path: Path) -> None:
    bare = [
        rewritten(files, tmp_path / name, without("mask"))
        for name, files in (("a", sample.train_files), ("b", sample.validation_files))
    ]
    plain = added(root, sample, train=bare[:1], validation=bare[1:])
    assert not plain.dataset.has_masks
    assert not any("masks" in warning for warning in plain.warnings)
    mixed = added(root, sample, "mixed", train=bare[:1])
    assert not mixed.dataset.has_masks
    assert any("8 images with objects have no masks, 4 have them" in warning for warning in mixed.warnings)


# What is only worth a word


def test_images_without_objects_are_counted(root: Path, sample: Dataset, tmp_path: Path) -> None:
    train = rewritten(sample.train_files, tmp_path / "train", only(3, without(*OBJECT_FIELDS)))
    found = added(root, sample, train=[train])
    assert found.dataset.records == 8
    assert found.dataset.has_masks
    assert f"train: an image has no objects (1 times; first: {train}: record 3)" in found.warnings


def test_training_images_among_the_validation_images_give_a_warning(
    root: Path, sample: Dataset, tmp_path: Path
) -> None:
    leaked = rewritten(sample.train_files[:1], tmp_path / "leaked", lambda number, example: None)
    found = added(root, sample, validation=[*sample.validation_files, leaked])
    assert any(warning.startswith("an image is in train and in validation (2 times") for warning in found.warnings)


def test_classes_without_objects_give_a_warning(root: Path, sample: Dataset, tmp_path: Path) -> None:
    labels = tmp_path / "map"
    labels.write_text(sample.label_map.read_text() + "item { id: 4 name: 'hexagon' }")
    assert "train: 1 of 4 classes have no object: hexagon" in added(root, sample, labels=labels).warnings


# What is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "../x"}, "^name: use at most 64 letters, digits"),
        ({"name": ".hidden"}, "^name: "),
        ({"name": "a b"}, "^name: "),
        ({"name": "a\n"}, "^name: "),
        ({"name": ""}, "^name: "),
        ({"name": "x" * 65}, "^name: .*at most 64"),
        ({"train": ()}, "^train: name the files"),
        ({"validation": ()}, r"^validation: name validation files, or hold back a share .*, e\.g\. 0\.1"),
        ({"validation_share": 0.1}, "^validation: either files or a share"),
        ({"validation": (), "validation_share": 1.0}, "^validation share: above 0 and below 1, got 1.0"),
        ({"validation": (), "validation_share": float("nan")}, "^validation share: "),
        ({"validation": (), "validation_share": 0.5, "keep": Keep.LINK}, "^link: "),
        ({"validation": (), "validation_share": 0.01}, "^validation: the files contain no records"),
        ({"train": (Path("nowhere"),)}, "^nowhere: No such file"),
        ({"labels": Path("nowhere")}, "^nowhere: cannot be read"),
    ],
)
def test_an_invalid_request_is_refused(changes: dict[str, Any], message: str, root: Path, sample: Dataset) -> None:
    with pytest.raises(DatasetError, match=message):
        added(root, sample, **changes)
    assert not root.exists() or list(root.iterdir()) == []


def test_a_file_named_twice_is_refused(root: Path, sample: Dataset, tmp_path: Path) -> None:
    os.link(sample.train_files[0], tmp_path / "again")
    with pytest.raises(DatasetError, match=r"again: is given twice, also as .*train-00000"):
        added(root, sample, validation=[tmp_path / "again"])


def test_a_taken_name_is_refused_and_its_dataset_unchanged(root: Path, sample: Dataset) -> None:
    before = added(root, sample).dataset
    with pytest.raises(DatasetError, match="a dataset called 'cones' already exists"):
        added(root, sample, train=sample.train_files[:1])
    assert library.find(root, "cones") == before


def test_of_two_simultaneous_additions_the_first_keeps_the_name(root: Path, sample: Dataset) -> None:
    def somebody_else(done: int, total: int) -> None:
        if not (root / "cones").exists():
            added(root, sample, train=sample.train_files[:1])

    with pytest.raises(DatasetError, match="'cones' was added by somebody else meanwhile"):
        added(root, sample, progress=somebody_else)
    assert library.find(root, "cones").records == 2
    assert [path.name for path in root.iterdir()] == ["cones"]


def test_every_problem_is_listed_with_file_record_and_field(root: Path, sample: Dataset, tmp_path: Path) -> None:
    def change(number: int, example: Example) -> None:
        if number == 2:
            example["image/object/class/text"][0] = b"cirle"
        if number == 5:
            example["image/height"] = [65]

    train = rewritten(sample.train_files, tmp_path / "train", change)
    broken = tmp_path / "broken"
    broken.write_bytes(sample.validation_files[0].read_bytes()[:-1])
    with pytest.raises(DatasetError) as caught:
        added(root, sample, train=[train], validation=[broken])
    assert caught.value.code == "dataset_bad_example"
    first, second, third, fourth = str(caught.value).splitlines()
    assert (
        first == f"{train}: record 2: image/object/class/text: 'cirle' is not in the label map; did you mean 'circle'?"
    )
    assert second == f"{train}: record 5: image/height: is 65, but the image has 64; write the image's own"
    assert third.startswith(f"{broken}: record 1 at byte ")
    assert fourth == "validation: the files contain no records; name others"
    assert list(root.iterdir()) == []


def test_a_mistake_in_every_record_is_reported_a_few_times(
    root: Path, sample: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "MOST_PROBLEMS", 3)
    train = rewritten(sample.train_files, tmp_path / "train", without("class/text", "class/label"))
    with pytest.raises(DatasetError) as caught:
        added(root, sample, train=[train])
    lines = str(caught.value).splitlines()
    assert [line.partition(": image")[0] for line in lines[:3]] == [f"{train}: record {n}" for n in range(3)]
    assert lines[3:] == ["and perhaps more: reading stopped after 3 problems"]


def test_records_of_another_kind_are_refused(root: Path, sample: Dataset, tmp_path: Path) -> None:
    tfrecord.write(tmp_path / "text", [b"once upon a time"])
    with pytest.raises(DatasetError, match=r"text: record 0: not a tf\.train\.Example"):
        added(root, sample, train=[tmp_path / "text"])


def test_validation_images_with_equal_ids_all_count(root: Path, sample: Dataset, tmp_path: Path) -> None:
    def change(number: int, example: Example) -> None:
        example["image/source_id"] = [b"0"]

    same = rewritten(sample.validation_files, tmp_path / "same", change)
    assert added(root, sample, validation=[same]).dataset.validation_records == sample.validation_records


def test_images_without_any_object_are_refused(root: Path, sample: Dataset, tmp_path: Path) -> None:
    bare = rewritten(sample.validation_files, tmp_path / "bare", without(*OBJECT_FIELDS))
    with pytest.raises(DatasetError, match=r"^validation: no image has an object"):
        added(root, sample, validation=[bare])


def test_a_file_that_is_replaced_while_it_is_read_is_refused(root: Path, sample: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "train"
    path.write_bytes(sample.train_files[0].read_bytes())

    def replace(done: int, total: int) -> None:
        other = tmp_path / "other"
        other.write_bytes(sample.train_files[1].read_bytes())
        os.replace(other, path)

    with pytest.raises(DatasetError, match="train: was replaced while it was read"):
        added(root, sample, train=[path], progress=replace)


# All or nothing


@pytest.mark.parametrize("keep", [Keep.LINK, Keep.COPY])
def test_an_interruption_leaves_nothing(root: Path, sample: Dataset, keep: Keep) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        added(root, sample, keep=keep, progress=interrupt)
    assert list(root.iterdir()) == []


def test_an_incomplete_dataset_cannot_be_found(root: Path, sample: Dataset) -> None:
    seen: list[list[str]] = []
    added(root, sample, progress=lambda done, total: seen.append(library.names(root)))
    assert seen == [[]] * 12
    assert library.names(root) == ["cones"]


def test_a_full_disk_leaves_nothing(root: Path, sample: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(importer, "write_manifest", full)
    with pytest.raises(OSError, match="No space left"):
        added(root, sample)
    assert list(root.iterdir()) == []


# The command


def run(sample: Dataset, home: Path, *more: str, name: str = "cones") -> int:
    train = [str(file) for file in sample.train_files]
    return command.main([name, "--home", str(home), "--train", *train, "--label-map", str(sample.label_map), *more])


def test_the_command_adds_and_prints_a_summary(
    sample: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    validation = [str(file) for file in sample.validation_files]
    assert run(sample, tmp_path, "--copy", "--validation", *validation) == 0
    said = capsys.readouterr()
    assert "8 training and 4 validation images, 3 classes, with masks; 0 of 6 files linked" in said.out
    assert said.err == ""
    assert library.names(tmp_path / "datasets") == ["cones"]


def test_the_command_adds_to_the_home_of_the_settings(
    sample: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWNSHIFT_HOME", str(tmp_path / "home"))
    train = [str(file) for file in sample.train_files]
    arguments = ["cones", "--train", *train, "--label-map", str(sample.label_map), "--validation-share", "0.5"]
    assert command.main(arguments) == 0
    assert library.names(tmp_path / "home" / "datasets") == ["cones"]


def test_the_command_prints_each_problem_on_a_line(
    sample: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(sample, tmp_path) == 1
    message = capsys.readouterr().err.splitlines()
    assert message[0].startswith("add: validation: name validation files, or hold back a share")
    assert message[1:] == ["add: cones was not added"]


def test_a_long_import_shows_progress(
    sample: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_PROGRESS_S", 0.0)
    assert run(sample, tmp_path, "--validation-share", "0.5") == 0
    assert capsys.readouterr().out.count(" KB checked") == 8
