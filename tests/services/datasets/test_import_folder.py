"""The same scenes in every format become the same dataset."""

import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from services.datasets import add as command
from services.datasets import examples, records
from services.datasets.convert import shards
from services.datasets.convert.masks import mask_of
from services.datasets.dataset import Dataset, read_manifest
from services.datasets.formats.picture import Polygons, Rle
from services.datasets.import_folder import Division, import_folder
from services.domain.tfrecord import DatasetError
from tests.support import own_data


def contents(dataset: Dataset) -> dict[str, bytes]:
    """All that jobs read."""
    return {
        path.name: path.read_bytes() for path in (*dataset.train_files, *dataset.validation_files, dataset.label_map)
    }


def decoded(payload: bytes) -> dict[str, list[Any]]:
    return dict(examples.decode(payload))


def imported(tmp_path: Path, name: str, write: own_data.Writer, given: list[own_data.Scene]) -> Dataset:
    folder = tmp_path / "own" / name
    write(folder, given)
    return import_folder(tmp_path / "datasets", name, folder, processes=1).dataset


@pytest.mark.parametrize("writers", [own_data.WITH_MASKS, own_data.WITH_BOXES], ids=["masks", "boxes"])
def test_the_same_scenes_give_the_same_bytes(tmp_path: Path, writers: dict[str, own_data.Writer]) -> None:
    given = own_data.scenes()
    found = {
        name: imported(tmp_path, f"set-{number}", write, given) for number, (name, write) in enumerate(writers.items())
    }
    first = next(iter(found.values()))
    assert first.has_masks == (writers is own_data.WITH_MASKS)
    assert (first.records, first.validation_records, first.most_boxes) == (6, 3, 2)
    for name, dataset in found.items():
        assert contents(dataset) == contents(first), name
        assert read_manifest(dataset.folder)["version"] == read_manifest(first.folder)["version"], name


def test_what_the_records_hold(tmp_path: Path) -> None:
    given = own_data.scenes()
    dataset = imported(tmp_path, "pets", own_data.coco, given)
    found = {}
    for file in (*dataset.train_files, *dataset.validation_files):
        for record in records.read(file):
            features = decoded(record.payload)
            found[features["image/filename"][0].decode()] = features
    assert set(found) == {scene.name for scene in given}
    for scene in given:
        features = found[scene.name]
        assert features["image/height"] + features["image/width"] == [scene.height, scene.width]
        assert [text.decode() for text in features["image/object/class/text"]] == [item.label for item in scene.objects]
        numbers = [own_data.CLASSES.index(item.label) + 1 for item in scene.objects]
        assert features["image/object/class/label"] == numbers
        right = [item.box[2] / scene.width for item in scene.objects]
        assert features["image/object/bbox/xmax"] == pytest.approx(right)
        bottom = [item.box[3] / scene.height for item in scene.objects]
        assert features["image/object/bbox/ymax"] == pytest.approx(bottom)
        areas = [float(own_data.pixels_inside(scene, item).sum()) for item in scene.objects]
        assert features["image/object/area"] == areas


def test_any_number_of_processes_gives_the_same_bytes(tmp_path: Path) -> None:
    given = own_data.scenes()
    own_data.voc(tmp_path / "own", given)
    added = [import_folder(tmp_path / f"{count}", "pets", tmp_path / "own", processes=count) for count in (1, 2)]
    assert contents(added[0].dataset) == contents(added[1].dataset)


def test_an_import_that_stops_for_too_many_problems_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_data.yolo(tmp_path / "own", own_data.scenes())
    for labels in (tmp_path / "own/labels/train").iterdir():
        labels.write_text("77 0.5 0.5 0.2 0.2\n")
    monkeypatch.setattr(shards, "_MOST_PROBLEMS", 1)  # of a file; there are two pictures in the first ones
    with pytest.raises(DatasetError, match="and perhaps more: reading stopped after 4 problems"):
        import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=0)


def test_a_folder_without_splits_is_divided_by_the_seed(tmp_path: Path) -> None:
    for scene in own_data.scenes(train=20, validation=0):
        scene.save(tmp_path / "own/images")
        (tmp_path / "own/labels").mkdir(exist_ok=True)
        (tmp_path / "own/labels" / f"{scene.stem}.txt").write_text(own_data.yolo_lines(scene, segments=False))
    (tmp_path / "own/classes.txt").write_text("\n".join(own_data.CLASSES))

    def validated(number: int, **division: object) -> set[str]:
        dataset = import_folder(
            tmp_path / "datasets",
            f"pets-{number}",
            tmp_path / "own",
            processes=1,
            division=Division(**division),  # type: ignore[arg-type]
        ).dataset
        assert dataset.records + dataset.validation_records == 20
        return {
            decoded(record.payload)["image/filename"][0].decode()
            for file in dataset.validation_files
            for record in records.read(file)
        }

    first = validated(1, share=0.2)
    assert len(first) == 4
    assert validated(2, share=0.2) == first
    assert validated(3, share=0.2, seed=1) != first
    tens = validated(4, share=0.2, group=re.compile(r"train_\d"))
    assert tens in (
        {f"train_{number:02d}.{'png' if number == 1 else 'jpg'}" for number in part}
        for part in (range(10), range(10, 20))
    )


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (
            lambda document: document["annotations"][0].update(bbox=[60, 5, 40, 9]),
            ("annotation 1", "bbox", "xmax is 100"),
        ),
        (lambda document: document["annotations"][0].update(bbox=[5, 5, 0, 9]), ("annotation 1", "bbox", "not below")),
        (lambda document: document["annotations"][0].update(bbox=[5, 5, -4, 9]), ("annotation 1", "bbox", "not below")),
        (lambda document: document["annotations"][0].update(bbox=[5, "a", 4, 9]), ("annotation 1", "bbox", "'a'")),
        (lambda document: document["annotations"][0].update(category_id=9), ("annotation 1", "category_id", "9")),
        (lambda document: document["annotations"][0].update(image_id=5), ("annotations[0]", "image_id", "5")),
        (lambda document: document["images"][1].update(id=100), ("images[1]", "id", "twice")),
        (lambda document: document["images"][0].update(file_name="no.jpg"), ("image 100", "file_name", "no.jpg")),
        (lambda document: document["images"][0].update(width=99), ("size", "99x48", "80x48")),
        (lambda document: document["annotations"][0].update(segmentation=[[1, 2]]), ("annotation 1", "polygon")),
        (
            lambda document: document["annotations"][0].update(segmentation={"size": [4, 4], "counts": [16]}),
            ("annotation 1", "4x4"),
        ),
        (lambda document: document["categories"][1].update(name="Hund"), ("categories[1]", "Hund", "elsewhere")),
    ],
)
def test_a_fault_is_named_and_nothing_is_left_behind(
    tmp_path: Path, break_it: Callable[[Any], None], words: tuple[str]
) -> None:
    own_data.coco(tmp_path / "own", own_data.scenes())
    file = tmp_path / "own/annotations/instances_train2017.json"
    document = json.loads(file.read_text())
    break_it(document)
    own_data.write_json(file, document)
    with pytest.raises(DatasetError) as raised:
        import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1)
    for word in words:
        assert word in str(raised.value)
    assert not list((tmp_path / "datasets").glob("*"))


def test_a_polygon_covers_the_pixels_whose_centres_are_inside() -> None:
    for scene in own_data.scenes():
        for item in scene.objects:
            mask = mask_of(Polygons((tuple(map(float, item.flat)),)), scene.height, scene.width)
            assert np.array_equal(mask, own_data.pixels_inside(scene, item))


def refused(tmp_path: Path) -> str:
    with pytest.raises(DatasetError) as raised:
        import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1)
    assert not list((tmp_path / "datasets").glob("*"))
    return str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<xmin>4</xmin>", "<xmin>40</xmin>", ("object 1", "bbox", "xmin 40 is not below xmax 21")),
        ("<xmin>4</xmin>", "", ("object 1", "bndbox", "xmin")),
        ("<xmin>4</xmin>", "<xmin>nan</xmin>", ("object 1", "bndbox", "'nan'")),
        ("<name>Hund</name>", "<name></name>", ("object 1", "name")),
        ("<width>80</width>", "<width>81</width>", ("size", "81x48", "80x48")),
        ("<annotation>", "<!DOCTYPE a [<!ENTITY b 'c'>]><annotation>", ("DOCTYPE",)),
        ("</annotation>", "", ("XML",)),
        ("<object>", "<a>" * 60 + "</a>" * 60 + "<object>", ("nested",)),
    ],
)
def test_a_fault_in_pascal_voc(tmp_path: Path, old: str, new: str, words: tuple[str]) -> None:
    own_data.voc(tmp_path / "own", own_data.scenes())
    file = tmp_path / "own/Annotations/train_00.xml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    said = refused(tmp_path)
    for word in ("Annotations/train_00.xml", *words):
        assert word in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("7 0.5 0.5 0.1 0.1", ("line 1", "class", "7", "0 to 2")),
        ("0 0.5 0.5 0.1", ("line 1", "4 values")),
        ("0 0.5 0.5 0.1 0.1 0.9", ("line 1", "6 values")),
        ("0 0.5 x 0.1 0.1", ("line 1", "'x'")),
        ("0 50 50 10 10", ("line 1", "bbox", "the picture is 80x48")),
        ("0 0.5 0.5 0 0.1", ("line 1", "bbox", "not below")),
        ("0 1e999 0.5 0.1 0.1", ("line 1", "1e999")),
    ],
)
def test_a_fault_in_yolo(tmp_path: Path, line: str, words: tuple[str]) -> None:
    own_data.yolo(tmp_path / "own", own_data.scenes())
    (tmp_path / "own/labels/train/train_00.txt").write_text(f"{line}\n")
    said = refused(tmp_path)
    for word in ("labels/train/train_00.txt", *words):
        assert word in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("names: [a, b", ("YAML",)),
        ("a: &a [x]\nnames: *a\n", ("aliases",)),
        ("names: {0: a, 2: b}\n", ("without a gap",)),
        ("names: 3\n", ("not a list",)),
        ("[" * 100_000, ("YAML",)),
    ],
)
def test_a_fault_in_data_yaml(tmp_path: Path, text: str, words: tuple[str]) -> None:
    own_data.yolo(tmp_path / "own", own_data.scenes())
    (tmp_path / "own/data.yaml").write_text(text)
    said = refused(tmp_path)
    for word in ("data.yaml", *words):
        assert word in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('points="4.00,5.00;', 'points="4.00;', ("image 0", "polygon 1", "points")),
        ('points="4.00,5.00;', 'points="4.00,inf;', ("image 0", "polygon 1", "'inf'")),
        ('label="Hund"', 'label="Katze"', ("image 0", "polygon 1", "Katze")),
        ('name="train_00.jpg"', 'name="no.jpg"', ("image 0", "name", "no.jpg")),
        ("<image id", '<track id="1"/><image id', ("track", "CVAT for images")),
    ],
)
def test_a_fault_in_cvat(tmp_path: Path, old: str, new: str, words: tuple[str]) -> None:
    own_data.cvat(tmp_path / "own", own_data.scenes())
    file = tmp_path / "own/annotations.xml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    said = refused(tmp_path)
    for word in ("annotations.xml", *words):
        assert word in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"images": [' + "[" * 100_000, ("JSON",)),
        ('{"images": [{"id": 1, "id": 2}]}', ("'id' twice",)),
        ('{"images": [{"id": NaN}]}', ("NaN",)),
        ('{"images": [{"id": ' + "9" * 5000 + "}]}", ("JSON",)),
        ('{"images": [], "images": []}', ("'images' twice",)),
        ('{"images": [{"id": 1, "file_name": "a.jpg"}], ', ("JSON",)),
        ('{"images": [{"id": true, "file_name": "a.jpg"}]}', ("images[0]", "id")),
        (
            '{"images": [{"id": 1, "file_name": "../../etc/passwd"}], "categories": [{"id": 1, "name": "a"}]}',
            ("passwd",),
        ),
    ],
)
def test_hostile_json(tmp_path: Path, text: str, words: tuple[str]) -> None:
    own_data.scenes()[0].save(tmp_path / "own")
    (tmp_path / "own/labels.json").write_text(text)
    with pytest.raises(DatasetError) as raised:
        import_folder(tmp_path / "datasets", "pets", tmp_path / "own", format="coco", processes=1)
    for word in ("labels.json", *words):
        assert word in str(raised.value)


def test_a_picture_that_exif_turns_is_stored_upright(tmp_path: Path) -> None:
    given = own_data.scenes()
    own_data.yolo(tmp_path / "own", given, segments=False)
    path = tmp_path / "own/images/train/train_00.jpg"
    upright = given[0].picture()
    exif = upright.getexif()
    exif[0x0112] = 6  # stored turned to the left
    upright.transpose(Image.Transpose.ROTATE_90).save(path, quality=95, exif=exif)
    added = import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1)
    assert any("upright" in warning for warning in added.warnings)
    features = next(
        features
        for file in added.dataset.train_files
        for record in records.read(file)
        if (features := decoded(record.payload))["image/filename"] == [b"train_00.jpg"]
    )
    assert features["image/height"] + features["image/width"] == [48, 80]
    stored = np.asarray(Image.open(io.BytesIO(features["image/encoded"][0])))
    red, green, _ = np.median(stored[10:28, 6:19].reshape(-1, 3), axis=0)  # in the first object
    assert red > 150 > 60 > green


@pytest.mark.parametrize("kind", ["cmyk", "16 bit", "bmp", "truncated", "text"])
def test_pictures_of_other_kinds(tmp_path: Path, kind: str) -> None:
    given = own_data.scenes()
    own_data.yolo(tmp_path / "own", given, segments=False)
    path, picture = tmp_path / "own/images/train/train_00.jpg", given[0].picture()
    if kind == "cmyk":
        picture.convert("CMYK").save(path)
    elif kind == "16 bit":
        deep = np.asarray(picture.convert("L")).astype(np.uint16) * 257
        Image.fromarray(deep).save(path, "PNG")
    elif kind == "bmp":
        picture.save(path, "BMP")
    else:
        path.write_bytes(path.read_bytes()[:700] if kind == "truncated" else b"<html>")
        assert "train_00.jpg" in refused(tmp_path)
        return
    added = import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1)
    assert any("stored anew" in warning and "1 times" in warning for warning in added.warnings)


def test_an_import_that_is_killed_leaves_no_dataset_and_no_process(tmp_path: Path) -> None:
    own_data.coco(tmp_path / "own", own_data.scenes(train=60, validation=10))
    command = [sys.executable, "-m", "services.datasets.add", "pets", str(tmp_path / "own"), "--home", str(tmp_path)]
    for delay in (0.3, 1.0, 1.6):
        process = subprocess.Popen(command, cwd=Path(__file__).parents[3], stderr=subprocess.DEVNULL)
        time.sleep(delay)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        process.wait()
        if (tmp_path / "datasets/pets").exists():  # it was fast enough
            Dataset.load(tmp_path / "datasets/pets")
            return
        while children := [child for child in children if Path(f"/proc/{child}").exists()]:
            time.sleep(0.02)
    subprocess.run(command, cwd=Path(__file__).parents[3], check=True, capture_output=True)
    assert Dataset.load(tmp_path / "datasets/pets").records == 60
    assert [path.name for path in (tmp_path / "datasets").iterdir()] == ["pets"]


def test_the_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own_data.yolo(tmp_path / "own", own_data.scenes())
    assert command.main(["pets", str(tmp_path / "own"), "--home", str(tmp_path)]) == 0
    assert "6 training and 3 validation images, 3 classes, with masks; 6 files written" in capsys.readouterr().out
    assert command.main(["pets", str(tmp_path / "own"), "--home", str(tmp_path)]) == 1
    assert "already exists" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["other", str(tmp_path / "own"), "--train", "a.tfrecord", "--home", str(tmp_path)])
    assert "--train is for TFRecord files" in capsys.readouterr().err


def test_a_folder_that_holds_nothing_known(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    assert "no picture" in refused(tmp_path)
    own_data.scenes()[0].save(tmp_path / "own")
    assert "no annotations were recognised" in refused(tmp_path)
    (tmp_path / "own/train_00.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    assert "no names of the classes" in refused(tmp_path)


def test_a_folder_that_holds_two_formats(tmp_path: Path) -> None:
    own_data.voc(tmp_path / "own", own_data.scenes())
    own_data.cvat(tmp_path / "own", own_data.scenes())
    assert "more than one format: voc" in refused(tmp_path)


def test_objects_without_outlines_take_the_masks_of_their_picture(tmp_path: Path) -> None:
    own_data.coco(tmp_path / "own", own_data.scenes())
    file = tmp_path / "own/annotations/instances_train2017.json"
    document = json.loads(file.read_text())
    del document["annotations"][0]["segmentation"]
    own_data.write_json(file, document)
    added = import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=1)
    assert not added.dataset.has_masks
    where = "first: annotations/instances_train2017.json: train2017/train_00.jpg"
    assert any("only boxes" in warning and where in warning for warning in added.warnings)


def test_compressed_run_lengths_of_coco() -> None:
    """The texts are what pycocotools writes for a square and for a disc."""
    square = np.zeros((4, 5), np.bool_)
    square[1:3, 1:3] = True
    assert np.array_equal(mask_of(Rle("52207", 4, 5), 4, 5), square)
    rows, columns = np.mgrid[:60, :70]
    disc = (rows - 30) ** 2 + (columns - 35) ** 2 < 500
    text = "Wi07a18J4L4L4M2N2N2N2N2O0O2O0O2O0O2O00000O2O000000000001N1000001N101N101N101N2N2N2N2N3L4L4L6Hie0"
    assert np.array_equal(mask_of(Rle(text, 60, 70), 60, 70), disc)
    with pytest.raises(ValueError, match="pixels"):
        mask_of(Rle(text[:-4], 60, 70), 60, 70)
