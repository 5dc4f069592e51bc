import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from services.datasets import examples, scenes, shapes
from services.datasets.dataset import Dataset
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return shapes.generate(tmp_path_factory.mktemp("data") / "shapes", train=18, validation=6, size=(96, 128), seed=3)


def decoded(files: tuple[Path, ...]) -> list[dict[str, Any]]:
    return [examples.decode(payload) for file in files for payload in tfrecord.read(file)]


def pixels(encoded: bytes) -> "np.typing.NDArray[np.uint8]":
    return np.asarray(Image.open(io.BytesIO(encoded)))


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_the_files_contain_the_requested_images(dataset: Dataset) -> None:
    assert [path.name for path in dataset.train_files] == [f"train-0000{n}-of-00004.tfrecord" for n in range(4)]
    assert sum(tfrecord.scan(path).records for path in dataset.train_files) == dataset.records == 18
    assert sum(tfrecord.scan(path).records for path in dataset.validation_files) == dataset.validation_records == 6
    assert sum(path.stat().st_size for path in dataset.train_files) == pytest.approx(dataset.record_bytes * 18, abs=9)
    assert dataset.num_classes == 3


def test_every_box_is_tight_around_its_mask(dataset: Dataset) -> None:
    for example in decoded(dataset.train_files + dataset.validation_files):
        sides = [example[f"image/object/bbox/{side}"] for side in ("ymin", "xmin", "ymax", "xmax")]
        corners = list(zip(*sides, strict=True))
        masks = [pixels(png) for png in example["image/object/mask"]]
        assert 1 <= len(masks) == len(corners) <= scenes.MAX_OBJECTS
        for mask, box, area in zip(masks, corners, example["image/object/area"], strict=True):
            assert mask.shape == (96, 128)
            assert set(np.unique(mask)) == {0, 1}
            assert mask.sum() == area
            ymin, xmin, ymax, xmax = np.rint(np.multiply(box, (96, 128, 96, 128))).astype(int)
            inside = mask[ymin:ymax, xmin:xmax]
            assert inside.sum() == mask.sum()
            assert all(edge.any() for edge in (inside[0], inside[-1], inside[:, 0], inside[:, -1]))
            assert min(inside.shape) >= scenes.MIN_VISIBLE_SIDE * 96


def test_images_take_several_sizes_in_turn(tmp_path: Path) -> None:
    made = shapes.generate(tmp_path / "mixed", train=4, validation=2, size=[(96, 128), (160, 64)])

    for files in (made.train_files, made.validation_files):
        found = {example["image/source_id"][0][-6:]: pixels(example["image/encoded"][0]) for example in decoded(files)}
        assert {int(name) % 2: image.shape for name, image in found.items()} == {0: (96, 128, 3), 1: (160, 64, 3)}


def test_no_pixel_belongs_to_two_objects(dataset: Dataset) -> None:
    for example in decoded(dataset.train_files):
        assert np.sum([pixels(png) for png in example["image/object/mask"]], axis=0).max() == 1


def test_objects_contrast_with_the_background(dataset: Dataset) -> None:
    for example in decoded(dataset.train_files):
        image = pixels(example["image/encoded"][0]).astype(float)
        masks = [pixels(png).astype(bool) for png in example["image/object/mask"]]
        background = image[~np.logical_or.reduce(masks)].mean(axis=0)
        for mask in masks:
            assert np.linalg.norm(image[mask].mean(axis=0) - background) > 50


def test_the_features_describe_the_image(dataset: Dataset) -> None:
    for example in decoded(dataset.train_files):
        jpeg = example["image/encoded"][0]
        assert pixels(jpeg).shape == (96, 128, 3)
        assert (example["image/height"], example["image/width"]) == ([96], [128])
        assert example["image/key/sha256"] == [hashlib.sha256(jpeg).hexdigest().encode()]
        assert example["image/format"] == [b"jpeg"]
        names = [scenes.CLASSES[label - 1].encode() for label in example["image/object/class/label"]]
        assert example["image/object/class/text"] == names
        assert example["image/object/is_crowd"] == [0] * len(names)


def test_source_ids_are_unique_across_both_splits(dataset: Dataset) -> None:
    ids = [example["image/source_id"][0] for example in decoded(dataset.train_files + dataset.validation_files)]
    assert len(set(ids)) == len(ids) == 24


def test_train_and_validation_share_no_image(dataset: Dataset) -> None:
    keys = [example["image/key/sha256"][0] for example in decoded(dataset.train_files + dataset.validation_files)]
    assert len(set(keys)) == 24


def test_the_label_map_names_the_classes(dataset: Dataset) -> None:
    items = re.findall(r"item \{\s+id: (\d+)\s+name: '(\w+)'\s+\}", dataset.label_map.read_text())
    assert items == [("1", "circle"), ("2", "square"), ("3", "triangle")]


def test_the_manifest_agrees_with_the_records(dataset: Dataset) -> None:
    manifest = json.loads((dataset.folder / "dataset.json").read_text())
    names = [name for example in decoded(dataset.train_files) for name in example["image/object/class/text"]]
    counts = manifest["train"]["objects_per_class"]
    assert counts == {name: names.count(name.encode()) for name in scenes.CLASSES}
    assert min(counts.values()) > 0
    examples_of_both = decoded(dataset.train_files + dataset.validation_files)
    assert dataset.most_boxes == max(len(example["image/object/mask"]) for example in examples_of_both)
    assert manifest["image_size"] == {"height": 96, "width": 128}
    assert manifest["seed"] == 3


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        shapes.generate(tmp_path / name, train=3, validation=1, size=64, seed=seed)
    first, again, other = (digests(tmp_path / name) for name in "abc")
    assert first == again
    assert [name for name in first if first[name] == other[name]] == ["label_map.pbtxt"]


def test_a_larger_dataset_begins_with_the_images_of_a_smaller_one(tmp_path: Path) -> None:
    small = shapes.generate(tmp_path / "small", train=2, validation=1, size=64)
    large = shapes.generate(tmp_path / "large", train=5, validation=1, size=64)
    images = {example["image/source_id"][0]: example for example in decoded(large.train_files)}
    assert all(images[example["image/source_id"][0]] == example for example in decoded(small.train_files))


def test_a_generated_dataset_is_replaced(tmp_path: Path) -> None:
    shapes.generate(tmp_path / "shapes", train=4, validation=1, size=64)
    replaced = shapes.generate(tmp_path / "shapes", train=1, validation=1, size=64)
    assert replaced == Dataset.load(tmp_path / "shapes")
    assert [path.name for path in tmp_path.iterdir()] == ["shapes"]
    assert len(list((tmp_path / "shapes").iterdir())) == 6


def test_another_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DatasetError, match="not overwritten"):
        shapes.generate(tmp_path, train=1, validation=1, size=64)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_an_interrupted_generation_keeps_the_old_dataset(tmp_path: Path) -> None:
    shapes.generate(tmp_path / "shapes", train=2, validation=1, size=64)
    before = digests(tmp_path / "shapes")

    def interrupt(split: str, done: int, count: int) -> None:
        raise KeyboardInterrupt

    for name in ("shapes", "fresh"):
        with pytest.raises(KeyboardInterrupt):
            shapes.generate(tmp_path / name, train=2, validation=1, size=64, seed=9, progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["shapes"]
    assert digests(tmp_path / "shapes") == before


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"train": 0}, "train"),
        ({"validation": 0}, "validation"),
        ({"size": 63}, "height"),
        ({"size": (64, 5000)}, "width"),
        ({"seed": -1}, "seed"),
    ],
)
def test_invalid_requests_are_refused_before_anything_is_written(
    tmp_path: Path, request_: dict[str, Any], field: str
) -> None:
    with pytest.raises(DatasetError, match=f"^{field}: ") as caught:
        shapes.generate(tmp_path / "shapes", **request_)
    assert caught.value.code == "dataset_refused"
    assert not (tmp_path / "shapes").exists()


def test_loading_a_folder_without_a_dataset_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"dataset\.json"):
        Dataset.load(tmp_path)


@pytest.mark.parametrize("change", [{"format_version": 0}, {"train": {}}, {"classes": None}])
def test_a_dataset_of_another_version_is_not_loaded_but_replaced(tmp_path: Path, change: dict[str, Any]) -> None:
    made = shapes.generate(tmp_path / "shapes", train=1, validation=1, size=64)
    manifest = made.folder / "dataset.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    with pytest.raises(DatasetError, match="generate or add the dataset again"):
        Dataset.load(made.folder)
    assert shapes.generate(made.folder, train=1, validation=1, size=64) == made


def test_the_command_shows_progress_and_prints_an_error_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "shapes")
    assert shapes.main([out, "--train", "2", "--validation", "1", "--size", "64x80"]) == 0
    assert "train: 2/2" in capsys.readouterr().out
    assert shapes.main([out, "--train", "0"]) == 1
    assert capsys.readouterr().err == "shapes: train: at least 1 image, got 0\n"
