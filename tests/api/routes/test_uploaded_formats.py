"""Uploads of datasets in the formats that people have: as zip and as tar, equal to the import of the folder."""

import dataclasses
import io
import json
import shutil
import stat
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from api.app import create_app
from services.datasets import shapes
from services.datasets.dataset import Dataset, read_manifest
from services.datasets.import_folder import Division, import_folder
from services.store.models import AuditEntry, Job
from tests.support import own_data
from tests.support.api_service import BODY, Service, expect_problem

ZIP, GZIP = {"Content-Type": "application/zip"}, {"Content-Type": "application/gzip"}


def zipped(folder: Path, top: str = "") -> bytes:
    """With what macOS adds."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*"), reverse=True):
            archive.write(file, f"{top}{file.relative_to(folder)}")
        archive.writestr(f"__MACOSX/{top}._labels.json", b"\0")
        archive.writestr(f"{top}.DS_Store", b"\0")
    return made.getvalue()


def tarred(folder: Path) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        archive.add(folder, ".")
    return made.getvalue()


def send(service: Service, query: str, content: bytes, headers: dict[str, str] = ZIP) -> Any:
    return service.post(f"/v1/datasets?{query}", content=content, headers=headers)


def left_over(service: Service) -> list[str]:
    found = [*service.settings.home.glob(".*"), *service.settings.datasets_dir.iterdir()]
    return sorted(path.name for path in found)


def contents(dataset: Dataset) -> dict[str, bytes]:
    """All that jobs read."""
    files = (*dataset.train_files, *dataset.validation_files, dataset.label_map)
    return {file.name: file.read_bytes() for file in files}


@pytest.mark.parametrize("name", ["COCO", "VOC", "YOLO, Roboflow", "CVAT"])
def test_an_upload_gives_the_same_bytes_as_the_folder(service: Service, tmp_path: Path, name: str) -> None:
    own_data.WITH_MASKS[name](tmp_path / "own", own_data.scenes())
    added = import_folder(tmp_path / "datasets", "pets", tmp_path / "own", processes=0)
    expected = added.dataset
    assert added.warnings
    sent = [(zipped(tmp_path / "own", "exported 2026/my pets/"), ZIP), (tarred(tmp_path / "own"), GZIP)]
    for number, (archive, headers) in enumerate(sent):
        made = send(service, f"name=pets-{number}", archive, headers)
        assert made.status_code == 201, made.text
        assert contents(Dataset.load(service.settings.datasets_dir / f"pets-{number}")) == contents(expected)
        shown = service.get(made.headers["location"]).json()
        assert made.json().items() <= {**shown, "warnings": added.warnings}.items()
        manifest = read_manifest(expected.folder)
        assert (shown["version"], shown["format"]) == (manifest["version"], manifest["source"])
        assert (shown["images"], shown["validation_images"], shown["has_masks"]) == (6, 3, True)
    assert left_over(service) == ["pets-0", "pets-1", "shapes"]


def test_a_job_trains_on_an_upload(service: Service, tmp_path: Path) -> None:
    own_data.yolo(tmp_path / "own", own_data.scenes())
    assert send(service, "name=pets", zipped(tmp_path / "own")).status_code == 201
    assert service.post("/v1/jobs", json={**BODY, "dataset": "pets"}).status_code == 202
    with service.store.reading() as session:
        assert session.query(AuditEntry).filter_by(action="dataset.add", target="dataset pets").count() == 1


def test_the_records_of_a_folder_with_a_picture_are_imported_on_request(service: Service, tmp_path: Path) -> None:
    """Here the folder of a dataset of this service."""
    made = shapes.generate(tmp_path / "own", train=4, validation=2, size=64)
    own_data.scenes()[0].save(made.folder)
    archive = zipped(made.folder)
    assert "format=tfrecord" in expect_problem(send(service, "name=again", archive), 422, "invalid")["detail"]
    assert send(service, "name=again&format=tfrecord", archive).json()["images"] == 4


def undivided(folder: Path) -> None:
    """YOLO without splits: two videos of ten frames."""
    for scene in own_data.scenes(train=20, validation=0):
        scene.save(folder / "images")
        (folder / "labels").mkdir(exist_ok=True)
        (folder / "labels" / f"{scene.stem}.txt").write_text(own_data.yolo_lines(scene, segments=False))
    (folder / "classes.txt").write_text("\n".join(own_data.CLASSES))


def test_the_query_says_what_is_held_back(service: Service, tmp_path: Path) -> None:
    undivided(tmp_path / "own")
    archive = zipped(tmp_path / "own")
    folder = import_folder(tmp_path / "datasets", "a", tmp_path / "own", division=Division(0.2, 3), processes=0)
    versions = []
    for number, query in enumerate(["validation_share=0.2&seed=3", "validation_share=0.2", r"group=train_\d", ""]):
        made = send(service, f"name=pets-{number}&{query}", archive)
        assert made.status_code == 201, made.text
        versions.append(made.json()["version"])
        assert "were held back" in made.json()["warnings"][0]
        assert made.json()["validation_images"] == [4, 4, 10, 2][number]
    assert versions[0] == read_manifest(folder.dataset.folder)["version"] != versions[1]


@pytest.mark.parametrize(("group", "problem"), [("(", "is not a regular expression"), ("a{99999999999}", "is not a")])
def test_a_pattern_is_checked_before_the_archive(service: Service, group: str, problem: str) -> None:
    refused = expect_problem(send(service, f"name=pets&group={group}", b"PK"), 422, "invalid")
    assert refused["errors"][0]["field"] == "group"
    assert problem in refused["detail"]


def test_a_pattern_that_takes_for_ever_is_stopped(service: Service, tmp_path: Path) -> None:
    undivided(tmp_path / "own")
    first = next((tmp_path / "own/images").iterdir())
    shutil.copy(first, first.with_name("a" * 60 + ".jpg"))
    refused = send(service, "name=pets&group=(a%2B)%2B$", zipped(tmp_path / "own"))
    assert "group: the pattern took longer than" in expect_problem(refused, 422, "invalid")["detail"]
    assert left_over(service) == ["shapes"]


def test_every_fault_is_listed_with_its_path_in_the_archive(service: Service, tmp_path: Path) -> None:
    own_data.coco(tmp_path / "own", own_data.scenes())
    file = tmp_path / "own/annotations/instances_train2017.json"
    document = json.loads(file.read_text())
    for item in document["annotations"][:3]:
        item["bbox"] = [60, 5, 400, 9]
    own_data.write_json(file, document)
    problem = expect_problem(send(service, "name=pets", zipped(tmp_path / "own", "top/")), 422, "invalid")
    assert [error["field"] for error in problem["errors"]] == ["archive"] * 2  # the first of each picture
    for error in problem["errors"]:
        assert error["message"].startswith("annotations/instances_train2017.json: ")
        assert "bbox: xmax is 460" in error["message"]
    assert str(service.settings.home) not in str(problem)
    assert left_over(service) == ["shapes"]
    with service.store.reading() as session:
        assert session.query(Job).count() == 0


def test_what_a_folder_cannot_be_is_said_of_the_archive(service: Service, tmp_path: Path) -> None:
    own_data.scenes()[0].save(tmp_path / "own")

    def refused(query: str = "name=pets") -> str:
        problem = expect_problem(send(service, query, zipped(tmp_path / "own")), 422, "invalid")
        assert str(service.settings.home) not in str(problem)
        assert left_over(service) == ["shapes"]
        return str(problem["detail"])

    assert "the archive: no annotations were recognised" in refused()
    own_data.voc(tmp_path / "own", own_data.scenes())
    own_data.cvat(tmp_path / "own", own_data.scenes())
    assert "the archive: holds more than one format: voc" in refused()
    assert "has 0 label maps" in refused("name=pets&format=tfrecord")
    made = send(service, "name=pets&format=voc", zipped(tmp_path / "own"))
    assert made.status_code == 201, made.text
    assert made.json()["format"] == "Pascal VOC"
    shutil.rmtree(service.settings.datasets_dir / "pets")
    expect_problem(send(service, "name=pets&format=tar", b""), 422, "invalid")


def test_records_and_pictures_together_are_not_guessed(service: Service, sample: Path, tmp_path: Path) -> None:
    shutil.copytree(sample, tmp_path / "own", ignore=shutil.ignore_patterns("dataset.json"))
    own_data.yolo(tmp_path / "own", own_data.scenes())
    problem = expect_problem(send(service, "name=pets", zipped(tmp_path / "own")), 422, "invalid")
    assert "holds TFRecord files and pictures; say which to import" in problem["detail"]
    assert send(service, "name=pets&format=yolo", zipped(tmp_path / "own")).json()["classes"] == [*own_data.CLASSES]
    for option in ("seed=1", "group=a"):
        problem = expect_problem(
            send(service, f"name=more&format=tfrecord&{option}", zipped(tmp_path / "own")), 422, "invalid"
        )
        assert "is for pictures" in problem["detail"]


def one(name: str, data: bytes = b"x", **attributes: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("picture.jpg", b"x")
        entry = zipfile.ZipInfo(name)
        entry.compress_type = zipfile.ZIP_DEFLATED
        for attribute, value in attributes.items():
            setattr(entry, attribute, value)
        archive.writestr(entry, data)
    return made.getvalue()


def bomb() -> bytes:
    """More than may be unpacked, in some KB: every entry says so of itself."""
    data = bytearray(one("zeros.jpg", bytes(2**20)))
    for find in (data.index, data.rindex):
        struct.pack_into("<L", data, find(b"PK\x01\x02") + 24, 2**32 - 2)
    return bytes(data)


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (one("../../up.jpg"), "paths must stay inside the archive"),
        (one("/etc/passwd"), "paths must stay inside the archive"),
        (one("link.jpg", b"/etc/passwd", external_attr=(stat.S_IFLNK | 0o777) << 16), "links are not followed"),
        (one("./picture.jpg"), "two files of this name"),
        (one("inner.zip", one("../up.jpg")).replace(b"picture.jpg", b"picture.dat"), "send inner.zip itself"),
        (one("cut.jpg", b"x" * 5000)[:-30], "cannot be read as a zip"),
        (bomb(), "holds more than"),
    ],
    ids=["..", "absolute", "link", "twice", "nested", "truncated", "bomb"],
)
def test_an_archive_that_attacks_is_refused_and_leaves_nothing(service: Service, archive: bytes, problem: str) -> None:
    said = expect_problem(send(service, "name=pets", archive), 422, "invalid")
    assert problem in said["detail"]
    assert left_over(service) == ["shapes"]
    assert not list(service.settings.home.parent.rglob("up.jpg"))


def test_a_picture_that_needs_too_much_memory_is_not_called_damaged(service: Service, tmp_path: Path) -> None:
    own_data.yolo(tmp_path / "own", own_data.scenes(train=2, validation=1), segments=False)
    Image.new("I;16", (8000, 9000)).save(tmp_path / "own/images/train/train_00.jpg", "PNG")
    settings = dataclasses.replace(service.settings, upload_check_mb=400)
    service.client = TestClient(create_app(settings, service.store), base_url="http://localhost")
    problem = expect_problem(send(service, "name=pets", zipped(tmp_path / "own")), 422, "invalid")
    assert "needs more than 400 MB of memory" in problem["detail"]
    assert left_over(service) == ["shapes"]
