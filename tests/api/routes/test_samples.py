"""Samples of a dataset over REST, and what is known about one dataset."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from services.datasets import examples, importer, record_index, shapes
from services.datasets.annotations import Annotated
from services.domain import tfrecord
from services.library import samples
from tests.support.api_service import Service, expect_problem

MAP = "item { id: 4 name: 'cat' } item { id: 7 name: 'dog' display_name: 'Dog' }"
SMALL, LARGE = (0.2, 0.2, 0.3, 0.3), (0.0, 0.25, 1.0, 0.75)


def record(number: int, texts: list[str], boxes: list[Any], size: tuple[int, int]) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (number, 0, 0)).save(buffer, "PNG" if number else "JPEG")
    return examples.encode(
        byte_lists={
            "image/encoded": [buffer.getvalue()],
            "image/filename": [f"{number}.png".encode()],
            "image/object/class/text": [text.encode() for text in texts],
        },
        floats={
            f"image/object/bbox/{side}": [box[place] for box in boxes]
            for place, side in enumerate(("ymin", "xmin", "ymax", "xmax"))
        },
    )


@pytest.fixture
def pets(service: Service, tmp_path: Path) -> Path:
    """Three training images: landscape, portrait, and one without objects. One for validation."""
    records = [
        record(0, ["cat", "cat"], [LARGE, LARGE], (80, 40)),
        record(1, ["dog", "cat", "dog"], [LARGE, SMALL, LARGE], (40, 80)),
        record(2, [], [], (40, 40)),
    ]
    tfrecord.write(tmp_path / "train", records)
    tfrecord.write(tmp_path / "validation", [record(3, ["cat", "dog"], [LARGE, SMALL], (40, 40))])
    (tmp_path / "map").write_text(MAP)
    return importer.add(
        service.settings.datasets_dir,
        "pets",
        train=[tmp_path / "train"],
        validation=[tmp_path / "validation"],
        labels=tmp_path / "map",
        keep=importer.Keep.COPY,
    ).dataset.folder


def ids(service: Service, query: str = "") -> list[str]:
    return [item["id"] for item in service.get(f"/v1/datasets/pets/samples{query}").json()["items"]]


def test_a_sample_has_its_boxes_with_labels(service: Service, pets: Path) -> None:
    answer = service.get("/v1/datasets/pets/samples").json()
    assert (answer["count"], answer["next"], answer["problem"]) == (3, None, None)
    first, second, third = answer["items"]
    assert (first["id"], first["name"], first["width"], first["height"]) == ("train-0", "0.png", 80, 40)
    assert [box["label"] for box in second["boxes"]] == ["Dog", "cat", "Dog"]
    sides = [second["boxes"][1][side] for side in ("ymin", "xmin", "ymax", "xmax")]
    assert sides == pytest.approx(SMALL)
    assert (third["objects"], third["boxes"]) == (0, [])


def test_samples_are_chosen_and_sorted(service: Service, pets: Path) -> None:
    assert ids(service, "?class=dog") == ids(service, "?class=Dog") == ["train-1"]
    assert ids(service, "?sort=smallest") == ["train-1", "train-0", "train-2"]
    assert ids(service, "?sort=most_boxes") == ["train-1", "train-0", "train-2"]
    assert ids(service, "?class=cat&sort=smallest") == ["train-1", "train-0"]
    assert ids(service, "?split=validation") == ["validation-0"]


def test_samples_come_in_pages(service: Service, pets: Path) -> None:
    found, cursor = [], ""
    while True:
        page = service.get(f"/v1/datasets/pets/samples?limit=2&sort=smallest{cursor}").json()
        found += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert found == ids(service, "?sort=smallest")
    assert len(found) == 3


def test_a_page_ends_early_where_records_are_large(
    service: Service, pets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "_MOST_BYTES_OF_LIST", 10)
    page = service.get("/v1/datasets/pets/samples").json()
    assert [item["id"] for item in page["items"]] == ["train-0"]
    assert page["next"]


def test_an_image_is_served_as_it_is_stored(service: Service, pets: Path) -> None:
    for sample, kind, size in (("train-0", "jpeg", (80, 40)), ("train-1", "png", (40, 80))):
        answer = service.get(f"/v1/datasets/pets/samples/{sample}/image")
        assert answer.headers["content-type"] == f"image/{kind}"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert Image.open(io.BytesIO(answer.content)).size == size


@pytest.mark.parametrize("path", ["pets/samples/train-3/image", "none/samples/train-0/image", "none/samples"])
def test_what_is_not_there_is_not_found(service: Service, pets: Path, path: str) -> None:
    expect_problem(service.get(f"/v1/datasets/{path}"), 404)


@pytest.mark.parametrize(
    ("query", "field"),
    [("?class=cta", "class"), ("?cursor=x", "cursor"), ("?sort=biggest", "sort"), ("?limit=49", "limit")],
)
def test_a_wrong_choice_is_refused(service: Service, pets: Path, query: str, field: str) -> None:
    problem = expect_problem(service.get(f"/v1/datasets/pets/samples{query}"), 422)
    assert problem["errors"][0]["field"] == field
    if field == "class":
        assert "did you mean 'cat'" in problem["errors"][0]["message"]


def test_an_image_of_another_kind_is_never_served(service: Service, pets: Path) -> None:
    """Nothing but JPEG and PNG gets past the checks. Should it, a browser must not run it."""
    payload = examples.encode(byte_lists={"image/encoded": [b"<html><script>alert(1)</script>"]})
    length = tfrecord.write(pets / "train-00000-of-00001.tfrecord", [payload]).bytes
    index = record_index.FileIndex()
    index.add(length, Annotated(size=(1, 1)))
    record_index.write(pets, "train", [index])
    manifest = json.loads((pets / "dataset.json").read_text())
    manifest["train"]["bytes"] = length
    (pets / "dataset.json").write_text(json.dumps(manifest))
    assert service.get("/v1/datasets/pets/samples").json()["items"][0]["problem"] is None
    expect_problem(service.get("/v1/datasets/pets/samples/train-0/image"), 404)


def test_a_record_that_was_changed_is_said_to_be(service: Service, pets: Path) -> None:
    file = pets / "train-00000-of-00001.tfrecord"
    data = bytearray(file.read_bytes())
    data[40] ^= 1
    file.write_bytes(data)
    first, second, _ = service.get("/v1/datasets/pets/samples").json()["items"]
    assert "was changed" in first["problem"]
    assert second["problem"] is None
    expect_problem(service.get("/v1/datasets/pets/samples/train-0/image"), 404)


def test_a_dataset_from_before_says_what_it_lacks(service: Service) -> None:
    folder = service.settings.datasets_dir / "shapes"
    for file in folder.glob("*.index"):
        file.unlink()
    manifest = json.loads((folder / "dataset.json").read_text())
    del manifest["findings"], manifest["statistics"]
    (folder / "dataset.json").write_text(json.dumps(manifest))
    answer = service.get("/v1/datasets/shapes/samples").json()
    assert answer["items"] == []
    assert "was added by an older version" in answer["problem"]
    shown = service.get("/v1/datasets/shapes").json()
    assert (shown["problem"], shown["findings"], shown["statistics"]) == (None, None, None)
    assert shown["class_counts"]


def test_a_broken_dataset_says_why_it_has_no_samples(service: Service) -> None:
    (service.settings.datasets_dir / "shapes" / "dataset.json").write_text('{"format_version": 99}')
    assert "damaged" in service.get("/v1/datasets/shapes/samples").json()["problem"]
    assert "damaged" in service.get("/v1/datasets/shapes").json()["problem"]


def test_a_dataset_shows_its_findings_and_statistics(service: Service, pets: Path) -> None:
    shown = service.get("/v1/datasets/pets").json()
    [finding] = shown["findings"]
    assert (finding["code"], finding["count"], finding["severity"]) == ("image_without_objects", 1, "warning")
    assert finding["places"][0]["record"] == "record 2"
    assert shown["class_counts"] == [
        {"name": "cat", "train": 3, "validation": 1},
        {"name": "Dog", "train": 2, "validation": 1},
    ]
    boxes = shown["statistics"]["train"]["boxes_per_image"]
    assert boxes["bins"] == [{"from": n, "to": n + 1, "count": count} for n, count in enumerate((1, 0, 1, 1))]
    assert str(service.settings.home) not in json.dumps(shown)


def test_of_many_classes_the_most_frequent_are_listed(service: Service) -> None:
    folder = service.settings.datasets_dir / "shapes"
    manifest = json.loads((folder / "dataset.json").read_text())
    manifest["classes"] = [f"class {number}" for number in range(1200)]
    for split in ("train", "validation"):
        manifest[split]["objects_per_class"] = {name: number for number, name in enumerate(manifest["classes"])}
    (folder / "dataset.json").write_text(json.dumps(manifest))
    shown = service.get("/v1/datasets/shapes").json()
    assert (len(shown["class_counts"]), shown["other_classes"]) == (1000, 200)
    assert shown["class_counts"][0]["name"] == "class 1199"


def test_the_samples_of_the_generated_dataset(service: Service, tmp_path: Path) -> None:
    dataset = shapes.generate(
        service.settings.datasets_dir / "mixed", train=4, validation=1, size=[(96, 128), (128, 96)]
    )
    found = service.get("/v1/datasets/mixed/samples").json()["items"]
    assert {(item["width"], item["height"]) for item in found} == {(128, 96), (96, 128)}
    assert (
        sum(item["objects"] for item in found)
        == json.loads((dataset.folder / "dataset.json").read_text())["train"]["objects"]
    )
