"""Findings and statistics of a survey, and the index that is written with a dataset."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from services.datasets import examples, importer, record_index, records, shapes, survey
from services.datasets.annotations import Annotated
from services.datasets.dataset import Dataset, read_manifest
from services.datasets.findings import Findings, Observation, Severity
from services.datasets.import_folder import import_folder
from services.datasets.statistics import Statistics
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError
from tests.support import own_data

Box = tuple[float, float, float, float]
MAP = "item { id: 1 name: 'cat' } item { id: 2 name: 'dog' } item { id: 3 name: 'cow' }"


def payload(
    number: int,
    labels: list[int],
    size: tuple[int, int] = (40, 30),
    boxes: list[Box] | None = None,
    name: str | None = None,
) -> bytes:
    """A record without class/text: its ids decide. `size`: width, height."""
    buffer = io.BytesIO()
    Image.new("RGB", size, (number % 256, number // 256, 0)).save(buffer, "PNG")
    boxes = boxes or [(0.0, 0.0, 0.5, 0.5)] * len(labels)
    return examples.encode(
        byte_lists={"image/encoded": [buffer.getvalue()], "image/source_id": [(name or str(number)).encode()]},
        floats={
            f"image/object/bbox/{side}": [box[place] for box in boxes]
            for place, side in enumerate(("ymin", "xmin", "ymax", "xmax"))
        },
        ints={"image/object/class/label": labels},
    )


def added(tmp_path: Path, train: list[bytes], validation: list[bytes] | None = None) -> importer.Added:
    (tmp_path / "map").write_text(MAP)
    tfrecord.write(tmp_path / "train", train)
    tfrecord.write(tmp_path / "validation", validation or [payload(999, [1, 2, 3])])
    return importer.add(
        tmp_path / "datasets",
        "pets",
        train=[tmp_path / "train"],
        validation=[tmp_path / "validation"],
        labels=tmp_path / "map",
    )


def refusal(tmp_path: Path, train: list[bytes], validation: list[bytes] | None = None) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        added(tmp_path, train, validation)
    assert not list((tmp_path / "datasets").iterdir())
    return str(caught.value).splitlines()


def stored(dataset: Dataset) -> dict[str, Any]:
    return {finding["code"]: finding for finding in read_manifest(dataset.folder)["findings"]}


def test_the_same_warning_many_times_is_one_finding_with_the_first_places(tmp_path: Path) -> None:
    train = [payload(number, [1, 2, 3] if number == 0 else []) for number in range(30)]
    found = stored(added(tmp_path, train).dataset)["image_without_objects"]
    assert (found["severity"], found["count"]) == ("warning", 29)
    assert [place["record"] for place in found["places"]] == [f"record {number}" for number in range(1, 11)]
    assert found["places"][0] | {"message": ""} == {
        "file": "train",
        "record": "record 1",
        "item": "",
        "field": "",
        "message": "",
    }


def test_the_same_error_many_times_is_counted(tmp_path: Path) -> None:
    bad = [payload(number, [1], boxes=[(0.5, 0, 0.1, 1)]) for number in range(25)]
    wrong = payload(100, [7])
    lines = refusal(tmp_path, [*bad, wrong])
    assert len(lines) == 12
    assert lines[9].startswith(f"{tmp_path / 'train'}: record 9: image/object/bbox: object 0: ymin 0.5 is not below")
    assert lines[10] == "and 15 more of this kind (box_bad)"
    assert "record 25: image/object/class/label: 7 is not in the label map" in lines[11]


def test_findings_take_bounded_memory() -> None:
    found = Findings()
    for number in range(100_000):
        found.add(Observation("box_bad", Severity.ERROR, f"problem {number}"), "file", f"record {number}")
        found.add(Observation(f"code {number}", Severity.WARNING, "an odd thing"), "file", f"record {number}")
    [error] = found.of(Severity.ERROR)
    assert (found.errors, error.count, len(error.places)) == (100_000, 100_000, 10)
    assert len(found.of(Severity.WARNING)) < 1000


def test_paths_of_this_machine_are_not_stored(tmp_path: Path) -> None:
    dataset = added(tmp_path, [payload(0, [1]), payload(1, [])]).dataset
    assert str(tmp_path) not in (dataset.folder / "dataset.json").read_text()


@pytest.mark.parametrize(
    ("train", "words"),
    [
        ([[0, 1], [2, 1]], "the ids run from 0 to 2, those of the classes from 1 to 3; add 1 to each id"),
        ([[2, 3], [4, 3]], "the ids run from 2 to 4, those of the classes from 1 to 3; subtract 1 from each id"),
    ],
)
def test_labels_that_are_off_by_one_are_said_to_be(tmp_path: Path, train: list[list[int]], words: str) -> None:
    rest = [payload(999, train[1])]
    lines = refusal(tmp_path, [payload(number, labels) for number, labels in enumerate(train)], rest)
    assert lines[0] == f"the labels are off by one: {words}"
    assert "is not in the label map" in lines[1]


@pytest.mark.parametrize("train", [[[0, 1], [3, 2]], [[1, 4], [3, 2]], [[9, 2], [3, 2]]])
def test_other_unknown_ids_are_not_off_by_one(tmp_path: Path, train: list[list[int]]) -> None:
    lines = refusal(tmp_path, [payload(number, labels) for number, labels in enumerate(train)])
    assert not any("off by one" in line for line in lines)


def test_yolo_labels_that_count_from_one_are_said_to_be_off_by_one(tmp_path: Path) -> None:
    own_data.yolo_boxes(tmp_path / "own", own_data.scenes())
    for path in (tmp_path / "own/labels").rglob("*.txt"):
        path.write_text(re.sub(r"(?m)^\d+", lambda found: str(int(found[0]) + 1), path.read_text()))
    with pytest.raises(DatasetError, match=r"^the labels are off by one.*from 2 to 4.*subtract 1"):
        import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1)


def test_coco_categories_that_count_from_one_are_said_to_be_off_by_one(tmp_path: Path) -> None:
    own_data.coco(tmp_path / "own", own_data.scenes())
    for path in (tmp_path / "own/annotations").iterdir():
        document = json.loads(path.read_text())
        for category in document["categories"]:
            category["id"] -= 1
        own_data.write_json(path, document)
    with pytest.raises(DatasetError, match=r"^the labels are off by one.*subtract 1"):
        import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1)


def test_an_image_and_a_name_that_are_there_twice_give_warnings(tmp_path: Path) -> None:
    train = [payload(0, [1, 2, 3]), payload(0, [1], name="other"), payload(1, [1], name="other")]
    found = stored(added(tmp_path, train).dataset)
    for code, place in (("image_repeated", "record 1"), ("name_repeated", "record 2")):
        assert (found[code]["count"], found[code]["places"][0]["record"]) == (1, place)
    assert "image_in_both_splits" not in found


def test_a_picture_that_is_there_twice_in_a_folder_gives_a_warning(tmp_path: Path) -> None:
    own_data.voc_boxes(tmp_path / "own", own_data.scenes())
    pictures = tmp_path / "own/JPEGImages"
    (pictures / "train_04.jpg").write_bytes((pictures / "train_00.jpg").read_bytes())
    annotation = tmp_path / "own/Annotations/train_04.xml"
    annotation.write_text((tmp_path / "own/Annotations/train_00.xml").read_text())
    found = stored(import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1).dataset)
    assert found["image_repeated"]["message"].startswith("train: ")
    assert found["image_repeated"]["places"][0]["file"].startswith("Annotations/train_0")


def test_absurd_sizes_give_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.datasets.annotations._MANY_PIXELS", 5000)
    train = [payload(0, [1, 2, 3]), payload(1, [1], size=(7, 40)), payload(2, [1], size=(100, 60))]
    found = stored(added(tmp_path, train).dataset)
    assert found["image_small"]["places"][0]["record"] == "record 1"
    assert found["image_large"]["places"][0]["record"] == "record 2"


def test_a_mistake_in_every_record_stops_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MOST_PROBLEMS", 40)
    lines = refusal(tmp_path, [payload(number, [9]) for number in range(100)])
    assert lines[10:] == [
        "and 30 more of this kind (class_unknown)",
        "and perhaps more: reading stopped after 40 problems",
    ]


# Statistics


def bins(histogram: Any) -> dict[float, int]:
    return {one["from"]: one["count"] for one in histogram["bins"] if one["count"]}


def test_statistics_count_images_and_boxes(tmp_path: Path) -> None:
    train = [
        payload(0, [1, 2], size=(200, 100), boxes=[(0, 0, 0.1, 0.1), (0, 0, 1, 0.5)]),
        payload(1, [3], size=(200, 100), boxes=[(0.25, 0.25, 0.75, 0.75)]),
        payload(2, [], size=(64, 96)),
    ]
    found = read_manifest(added(tmp_path, train).dataset.folder)["statistics"]["train"]
    assert found["image_sizes"] == [
        {"width": 200, "height": 100, "count": 2},
        {"width": 64, "height": 96, "count": 1},
    ]
    assert (bins(found["image_width"]), bins(found["image_height"])) == ({64: 1, 192: 2}, {96: 3})
    assert bins(found["boxes_per_image"]) == {0: 1, 1: 1, 2: 1}
    # 10 x 20 pixels: 14.1; the second 100 x 100; the third 50 x 100: 70.7
    assert bins(found["box_pixels"]) == {12: 1, 64: 1, 96: 1}
    assert bins(found["box_share"]) == {0.1: 1, 0.5: 1, 0.7: 1}
    assert bins(found["box_aspect"]) == {0.8: 1, 2: 2}
    assert (found["box_pixels"]["min"], found["box_pixels"]["max"]) == (pytest.approx(14.1421), 100)
    assert found["boxes_per_image"]["mean"] == 1


def test_the_same_statistics_come_from_a_folder_and_from_its_records(tmp_path: Path) -> None:
    own_data.coco(tmp_path / "own", own_data.scenes())
    folder = import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=2).dataset
    again = importer.add(
        tmp_path / "datasets",
        "again",
        train=folder.train_files,
        validation=folder.validation_files,
        labels=folder.label_map,
    ).dataset
    one, other = (read_manifest(dataset.folder)["statistics"] for dataset in (folder, again))
    for split in ("train", "validation"):
        assert other[split]["image_sizes"] == one[split]["image_sizes"]
        for name in ("image_width", "image_height", "boxes_per_image", "box_pixels", "box_share", "box_aspect"):
            assert other[split][name]["bins"] == one[split][name]["bins"], name


def test_a_thousand_sizes_of_images_are_told_apart(tmp_path: Path) -> None:
    statistics, more = Statistics(), Statistics()
    for number in range(1500):
        statistics.add(Annotated(size=(10, 10 + number)))
        more.add(Annotated(size=(20, 10 + number)))
    statistics.merge(more)
    found = statistics.as_json()
    assert (len(found["image_sizes"]), found["other_image_sizes"]) == (20, 2980)
    assert sum(bins(found["image_width"]).values()) == 3000


# The index


def rows(folder: Path, split: str = "train", **chosen: Any) -> list[int]:
    index = record_index.read(folder, split)
    assert index is not None
    wanted = {"label": None, "sort": "stored", "start": 0, "limit": 100, **chosen}
    return [row.number for row in index.chosen(**wanted)[1]]


def test_the_index_finds_each_record(tmp_path: Path) -> None:
    for dataset in (
        shapes.generate(tmp_path / "shapes", train=9, validation=3, size=64),
        import_folder_of(tmp_path),
    ):
        for split, files in (("train", dataset.train_files), ("validation", dataset.validation_files)):
            whole = [record.frame for file in files for record in records.read(file)]
            index = record_index.read(dataset.folder, split)
            assert index is not None
            found = []
            for row in index.chosen(None, "stored", 0, 100)[1]:
                with files[row.file].open("rb") as file:
                    file.seek(row.offset)
                    found.append(file.read(row.length))
            assert found == whole


def import_folder_of(tmp_path: Path) -> Dataset:
    own_data.coco(tmp_path / "own", own_data.scenes())
    return import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1).dataset


def test_the_index_of_a_divided_dataset_finds_each_record(tmp_path: Path) -> None:
    (tmp_path / "map").write_text(MAP)
    tfrecord.write(tmp_path / "train", [payload(number, [1 + number % 3]) for number in range(10)])
    dataset = importer.add(
        tmp_path / "datasets", "pets", train=[tmp_path / "train"], labels=tmp_path / "map", validation_share=0.3
    ).dataset
    for split, [file] in (("train", dataset.train_files), ("validation", dataset.validation_files)):
        index = record_index.read(dataset.folder, split)
        assert index is not None
        data = file.read_bytes()
        found = [data[row.offset : row.offset + row.length] for row in index.chosen(None, "stored", 0, 100)[1]]
        assert found == [record.frame for record in records.read(file)]


def test_the_index_chooses_by_class_and_sorts(tmp_path: Path) -> None:
    small, large = (0.0, 0.0, 0.1, 0.1), (0.0, 0.0, 1.0, 1.0)
    train = [
        payload(0, [1, 1, 3], boxes=[large] * 3),
        payload(1, []),
        payload(2, [2], boxes=[small]),
        payload(3, [3, 2], boxes=[large, (0, 0, 0.2, 0.2)]),
    ]
    folder = added(tmp_path, train).dataset.folder
    assert rows(folder) == [0, 1, 2, 3]
    assert rows(folder, sort="smallest") == [2, 3, 0, 1]
    assert rows(folder, sort="most_boxes") == [0, 3, 2, 1]
    assert rows(folder, label=3) == [0, 3]
    assert rows(folder, label=2, sort="smallest") == [2, 3]
    assert rows(folder, label=2, sort="smallest", start=1) == [3]
    assert rows(folder, start=1, limit=2) == [1, 2]
    assert rows(folder, label=1, start=1) == []


def test_an_index_takes_bounded_bytes(tmp_path: Path) -> None:
    shapes.generate(tmp_path / "shapes", train=50, validation=1, size=64)
    assert (tmp_path / "shapes/train.index").stat().st_size < 50 * 52 + 100


@pytest.mark.parametrize("break_it", [lambda data: data[:-1], lambda data: b"X" + data[1:], lambda data: data[:7]])
def test_a_damaged_index_is_refused(tmp_path: Path, break_it: Callable[[bytes], bytes]) -> None:
    dataset = added(tmp_path, [payload(0, [1])]).dataset
    file = dataset.folder / "train.index"
    file.write_bytes(break_it(file.read_bytes()))
    with pytest.raises(DatasetError, match=r"train\.index: is damaged"):
        record_index.read(dataset.folder, "train")
    file.unlink()
    assert record_index.read(dataset.folder, "train") is None


def test_many_classes_of_one_record_stay_bounded(tmp_path: Path) -> None:
    index = record_index.FileIndex()
    index.add(10, Annotated(size=(9, 9), objects=2000, classes=list(range(1, 2001))))
    record_index.write(tmp_path, "train", [index])
    assert (tmp_path / "train.index").stat().st_size < 600
    assert rows(tmp_path, label=250) == [0]
    assert np.isinf(index.smallest[0])
