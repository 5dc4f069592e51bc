"""Generated and added datasets are found by name; damaged ones are refused."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.datasets import library, shapes
from services.datasets.dataset import Dataset
from services.datasets.importer import Keep, add
from services.domain import catalogue
from services.domain.pipeline_config import build_config
from services.domain.tfrecord import DatasetError
from services.errors import Invalid
from services.jobs.check_request import check_request
from services.library import listing
from services.planning import attempt_config
from services.settings import Settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A root with the sample, and with the sample's files added under another name."""
    root = tmp_path / "datasets"
    made = shapes.generate(root / "shapes", train=4, validation=2, size=64)
    add(root, "cones", train=made.train_files, validation=made.validation_files, labels=made.label_map, keep=Keep.COPY)
    return tmp_path


def described(folder: Path, **changes: Any) -> None:
    """Change the manifest; None removes a field."""
    manifest = json.loads((folder / "dataset.json").read_text()) | changes
    kept = {name: value for name, value in manifest.items() if value is not None}
    (folder / "dataset.json").write_text(json.dumps(kept))


def test_generated_and_added_datasets_are_found(home: Path) -> None:
    root = home / "datasets"
    assert library.names(root) == ["cones", "shapes"]
    assert library.find(root, "cones").records == library.find(root, "shapes").records == 4


def test_generated_and_added_datasets_are_listed(home: Path) -> None:
    cones, sample = listing.list_datasets(Settings(home=home))
    assert cones == sample | {"name": "cones", "format": "TFRecord", "version": cones["version"]}
    assert cones["problem"] is None
    assert cones["version"].startswith("sha256:")
    assert (sample["format"], sample["version"]) == (None, None)


def test_the_version_changes_with_what_jobs_read(home: Path) -> None:
    made = library.find(home / "datasets", "shapes")

    def version(name: str, **files: Any) -> str:
        added = add(home / "datasets", name, labels=made.label_map, **files).dataset
        return str(json.loads((added.folder / "dataset.json").read_text())["version"])

    first = version("a", train=made.train_files, validation=made.validation_files)
    assert version("b", train=made.train_files, validation=made.validation_files) == first
    assert version("c", train=made.validation_files, validation=made.train_files) != first


def test_the_first_version_of_the_sample_is_still_read(home: Path) -> None:
    before = library.find(home / "datasets", "shapes")
    described(before.folder, has_masks=None)
    assert library.find(home / "datasets", "shapes") == before
    assert before.has_masks


def test_a_temporary_folder_is_not_a_dataset(home: Path) -> None:
    (home / "datasets" / "cones").rename(home / "datasets" / ".cones-x1")
    assert library.names(home / "datasets") == ["shapes"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "dataset.json").write_text("{"), r"dataset\.json is damaged"),
        (lambda folder: (folder / "dataset.json").write_text("[]"), r"dataset\.json is damaged"),
        (lambda folder: (folder / "dataset.json").write_bytes(b"\xff"), r"dataset\.json is damaged"),
        (lambda folder: described(folder, format_version=2), "not of version 1"),
        (lambda folder: described(folder, train={}), "damaged, or not of version 1"),
        (lambda folder: described(folder, classes=None, num_classes=None), "is damaged, or"),
        (lambda folder: (folder / "train-00001-of-00004.tfrecord").unlink(), "train-00001.*No such file"),
        (
            lambda folder: (folder / "train-00001-of-00004.tfrecord").write_bytes(b""),
            "changed since the dataset was added",
        ),
        (lambda folder: (folder / "label_map.pbtxt").unlink(), r"label_map\.pbtxt: No such file"),
    ],
)
def test_a_damaged_dataset_is_refused_by_name(spoil: Callable[[Path], object], message: str, home: Path) -> None:
    spoil(home / "datasets" / "cones")
    with pytest.raises(DatasetError, match=f"^dataset 'cones': .*{message}.*; generate or add the dataset again"):
        library.find(home / "datasets", "cones")
    listed = listing.show_dataset(Settings(home=home), "cones")
    assert listed["problem"].startswith("dataset 'cones': ")


@pytest.mark.parametrize("name", ["../shapes/train-00000-of-00004.tfrecord", "/etc/passwd", "..", ".", ""])
def test_a_manifest_cannot_name_files_elsewhere(name: str, home: Path) -> None:
    folder = home / "datasets" / "cones"
    manifest = json.loads((folder / "dataset.json").read_text())
    described(folder, train=manifest["train"] | {"files": [name]})
    with pytest.raises(DatasetError, match="is damaged, or"):
        library.find(home / "datasets", "cones")


def test_a_link_is_not_followed_out_of_the_folder(home: Path) -> None:
    file = home / "datasets" / "cones" / "train-00000-of-00004.tfrecord"
    file.rename(home / "elsewhere")
    file.symlink_to(home / "elsewhere")
    with pytest.raises(DatasetError, match="is not a regular file"):
        library.find(home / "datasets", "cones")


def test_a_dataset_without_masks_is_refused_only_for_mask_r_cnn(home: Path) -> None:
    described(home / "datasets" / "cones", has_masks=False)
    request = {"dataset": "cones", "image_size": [256, 256], "train": {"batch_size": 2, "steps": 10}}
    check_request(Settings(home=home), request | {"model": "faster_rcnn_resnet50_fpn"})
    with pytest.raises(Invalid) as caught:
        check_request(Settings(home=home), request | {"model": "mask_rcnn_resnet50_fpn"})
    (fault,) = caught.value.faults
    assert fault.field == "dataset"
    assert fault.message == (
        "'cones' has no masks (image/object/mask), which Mask R-CNN needs: "
        "choose a dataset with masks, or a Faster R-CNN model"
    )


def test_masks_are_read_by_models_that_need_them(home: Path) -> None:
    dataset = library.find(home / "datasets", "cones")

    def reads_masks(model: str, dataset: Dataset) -> bool:
        config = build_config(catalogue.get(model), 3, (256, 256), 2, 10, 0.01)
        return bool(attempt_config.with_dataset(config, dataset, 4096).train_input_reader.load_instance_masks)

    assert reads_masks("mask_rcnn_resnet50_fpn", dataset)
    assert not reads_masks("faster_rcnn_resnet50_fpn", dataset)
    assert not reads_masks("faster_rcnn_resnet50_fpn", dataclasses.replace(dataset, has_masks=False))
