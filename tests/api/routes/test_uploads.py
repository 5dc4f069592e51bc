"""Uploads of datasets and checkpoints as archives."""

import dataclasses
import errno
import io
import shutil
import struct
import tarfile
from pathlib import Path
from typing import Any, Literal

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.upload_queue import MAX_PENDING, MAX_PENDING_PER_USER
from services.bounded_process import Processes, ProcessLimits
from services.domain import catalogue
from services.domain.tfrecord import masked_crc32c
from services.library import upload_check
from services.store.models import AuditEntry
from services.users import directory
from tests.support.api_service import BODY, Service, expect_problem
from tests.support.training.checkpoint_index import index_of, shapes_of

TAR = {"Content-Type": "application/x-tar"}
TarMode = Literal["w", "w:gz"]


def tarred(files: dict[str, bytes], mode: TarMode = "w") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return made.getvalue()


@pytest.fixture
def records(sample: Path) -> dict[str, bytes]:
    """The files of a dataset, as a user has them in a folder."""
    train, validation = sorted(sample.glob("train*.tfrecord")), sorted(sample.glob("val*.tfrecord"))
    assert train
    assert validation
    files = {f"mine/{file.name}": file.read_bytes() for file in (*train, *validation)}
    return {**files, "mine/labels.pbtxt": (sample / "label_map.pbtxt").read_bytes()}


def send(service: Service, path: str, content: Any, headers: dict[str, str] = TAR, **options: Any) -> Any:
    return service.post(path, content=content, headers=headers, **options)


def left_over(service: Service) -> list[str]:
    found = [*service.settings.home.glob(".*"), *service.settings.datasets_dir.glob(".*")]
    return [path.name for path in found]


@pytest.mark.parametrize(("mode", "kind"), [("w", "application/x-tar"), ("w:gz", "application/gzip")])
def test_a_dataset_that_is_sent_can_be_trained_on(
    service: Service, records: dict[str, bytes], mode: TarMode, kind: str
) -> None:
    made = send(service, "/v1/datasets?name=mine", tarred(records, mode), {"Content-Type": kind})
    assert made.status_code == 201, made.text
    assert made.headers["location"] == "/v1/datasets/mine"
    assert (made.json()["images"], made.json()["validation_images"], made.json()["problem"]) == (4, 2, None)
    added = made.json()
    assert (added["format"], added["version"][:7], added.pop("warnings")) == ("TFRecord", "sha256:", [])
    assert service.get(made.headers["location"]).json().items() >= added.items()
    assert service.post("/v1/jobs", json={**BODY, "dataset": "mine"}).status_code == 202
    assert left_over(service) == []
    page = directory.audit_page(service.store, service.principals["admin"], 50)
    assert ("dataset.add", "dataset mine", "anna") in [
        (entry["action"], entry["target"], entry["user"]) for entry in page.items
    ]


def test_a_share_can_be_put_aside(service: Service, records: dict[str, bytes]) -> None:
    files = {name: data for name, data in records.items() if "val" not in name}
    refused = expect_problem(send(service, "/v1/datasets?name=mine", tarred(files)), 422, "invalid")
    assert "with val, or hold back a share of the training images (validation_share=0.1)" in refused["detail"]
    made = send(service, "/v1/datasets?name=mine&validation_share=0.25", tarred(files)).json()
    assert (made["images"], made["validation_images"]) == (3, 1)


def test_an_invalid_archive_is_refused_without_our_paths_and_nothing_is_added(
    service: Service, records: dict[str, bytes]
) -> None:
    name = next(name for name in records if "train" in name)
    broken = {**records, name: records[name][:-5]}
    problem = expect_problem(send(service, "/v1/datasets?name=mine", tarred(broken)), 422, "invalid")
    assert problem["errors"][0]["field"] == "archive"
    assert Path(name).name in problem["detail"]
    assert str(service.settings.home) not in problem["detail"]
    without_labels = {name: data for name, data in records.items() if not name.endswith(".pbtxt")}
    problem = expect_problem(send(service, "/v1/datasets?name=mine", tarred(without_labels)), 422, "invalid")
    assert "0 label maps" in problem["detail"]
    labels = {name: data for name, data in records.items() if name.endswith(".pbtxt")}
    problem = expect_problem(send(service, "/v1/datasets?name=mine", tarred(labels)), 422, "invalid")
    assert "has no training files" in problem["detail"]
    problem = expect_problem(send(service, "/v1/datasets?name=mine", b"no archive"), 422, "invalid")
    assert "cannot be read as a tar" in problem["detail"]
    expect_problem(service.get("/v1/datasets/mine"), 404)
    assert left_over(service) == []


def test_a_name_is_given_once_and_is_a_name(service: Service, records: dict[str, bytes]) -> None:
    before = service.get("/v1/datasets/shapes").json()
    expect_problem(send(service, "/v1/datasets?name=shapes", tarred(records)), 409, "name_taken")
    assert service.get("/v1/datasets/shapes").json() == before
    for name in ("", "..", ".hidden", "a/b", "%2e%2e%2fup", "a%00"):
        expect_problem(send(service, f"/v1/datasets?name={name}", tarred(records)), 422, "invalid")
    expect_problem(send(service, "/v1/datasets", tarred(records)), 422, "invalid")


def test_sent_again_with_its_key_it_is_there_once(service: Service, records: dict[str, bytes]) -> None:
    headers = {**TAR, "Idempotency-Key": "k"}
    first, again = (send(service, "/v1/datasets?name=mine", tarred(records), headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["idempotency-replayed"] == "true"
    assert first.json() == again.json()
    other = {**records, "mine/labels.pbtxt": records["mine/labels.pbtxt"] + b"\n"}
    expect_problem(send(service, "/v1/datasets?name=mine", tarred(other), headers), 409, "key_reused")
    with service.store.reading() as session:
        assert session.query(AuditEntry).filter_by(action="dataset.add").count() == 1


def test_an_archive_is_no_larger_than_the_setting(service: Service, records: dict[str, bytes]) -> None:
    settings = dataclasses.replace(service.settings, max_upload_mb=1)
    service.client = TestClient(create_app(settings, service.store), base_url="http://localhost")
    padded = tarred({**records, "mine/train-more": bytes(2**20)})
    for content in (padded, iter([padded])):  # with Content-Length, and without
        problem = expect_problem(send(service, "/v1/datasets?name=mine", content), 413, "too_large")
        assert problem["detail"] == "the limit for an archive is 1 MB"
    packed = tarred({**records, "mine/train-more": bytes(2**20)}, "w:gz")
    problem = expect_problem(send(service, "/v1/datasets?name=mine", packed), 422, "invalid")
    assert "more than 1 MB" in problem["detail"]
    assert left_over(service) == []


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data", ""])
def test_what_is_no_archive_is_refused_by_its_kind(service: Service, kind: str) -> None:
    expect_problem(send(service, "/v1/datasets?name=mine", b"{}", {"Content-Type": kind}), 415)
    expect_problem(send(service, "/v1/jobs", b"{}", TAR), 415)


def test_where_the_disk_is_full_nothing_is_taken(
    service: Service, records: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    object.__setattr__(service.settings, "min_free_disk_mb", 10**9)
    expect_problem(send(service, "/v1/datasets?name=mine", tarred(records)), 507, "no_space")
    assert left_over(service) == []


def test_a_small_archive_that_holds_much_leaves_training_its_disk(
    service: Service, records: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = service.settings.min_free_disk_mb * 2**20
    usage = shutil.disk_usage(service.settings.home)._replace(free=kept + 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert send(service, "/v1/datasets?name=mine", tarred(records)).status_code == 201
    packed = tarred({**records, "mine/train-more": bytes(2**20)}, "w:gz")
    problem = expect_problem(send(service, "/v1/datasets?name=more", packed), 507, "no_space")
    assert "are reserved for training" in problem["detail"]
    assert left_over(service) == []


@pytest.mark.parametrize(
    ("number", "status", "code"), [(errno.ENOSPC, 507, "no_space"), (errno.EROFS, 500, "internal")]
)
def test_a_disk_that_cannot_be_written_while_unpacking_is_not_the_senders_fault(
    service: Service,
    records: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    status: int,
    code: str,
) -> None:
    def full(*_: Any) -> None:
        raise OSError(number, "No write")

    def checked_here(
        processes: Processes, module: str, request: dict[str, Any], limits: ProcessLimits
    ) -> dict[str, Any]:
        return dataclasses.asdict(upload_check.check(upload_check.CheckRequest(**request)))

    monkeypatch.setattr("services.library.unpack._copy", full)
    monkeypatch.setattr(Processes, "run", checked_here)
    expect_problem(send(service, "/v1/datasets?name=mine", tarred(records)), status, code)
    assert left_over(service) == []


def with_settings(service: Service, **settings: Any) -> None:
    changed = dataclasses.replace(service.settings, **settings)
    service.client = TestClient(create_app(changed, service.store), base_url="http://localhost")


def test_the_check_of_an_archive_is_bounded_in_memory(service: Service, records: dict[str, bytes]) -> None:
    with_settings(service, upload_check_mb=400)
    length = struct.pack("<Q", 600 * 2**20)
    header = length + struct.pack("<I", masked_crc32c(length))
    packed = tarred({**records, "mine/train-huge": header + bytes(600 * 2**20 + 4)}, "w:gz")
    problem = expect_problem(send(service, "/v1/datasets?name=mine", packed), 422, "invalid")
    assert "could not be checked: it needs more than 400 MB of memory" in problem["detail"]
    assert send(service, "/v1/datasets?name=mine", tarred(records)).status_code == 201
    assert left_over(service) == []


def test_the_check_of_an_archive_is_bounded_in_time(service: Service, records: dict[str, bytes]) -> None:
    with_settings(service, upload_check_s=0.01)
    problem = expect_problem(send(service, "/v1/datasets?name=mine", tarred(records)), 422, "invalid")
    assert "could not be checked: it took longer than 0.01 s" in problem["detail"]
    expect_problem(service.get("/v1/datasets/mine"), 404)
    assert left_over(service) == []


def test_a_class_name_without_end_is_refused_and_not_repeated(service: Service, records: dict[str, bytes]) -> None:
    labels = records["mine/labels.pbtxt"].replace(b"circle", b"circle" * 3000)
    broken = {**records, "mine/labels.pbtxt": labels}
    problem = expect_problem(send(service, "/v1/datasets?name=mine", tarred(broken)), 422, "invalid")
    assert "the name has 18,000 characters: shorten it to 256" in problem["detail"]
    assert len(problem["detail"]) < 200


def test_an_archive_beyond_the_limit_is_refused_with_a_retry_time(service: Service, records: dict[str, bytes]) -> None:
    queue = service.client.app.state.context.upload_queue  # type: ignore[attr-defined]
    anna = service.principals["anna"].user_id
    queue._pending[anna] = MAX_PENDING_PER_USER
    expect_problem(send(service, "/v1/datasets?name=mine", tarred(records)), 429, "limit_reached")
    queue._pending[-1] = MAX_PENDING - MAX_PENDING_PER_USER
    refused = send(service, "/v1/datasets?name=mine", tarred(records), by="admin")
    expect_problem(refused, 503, "busy")
    assert int(refused.headers["retry-after"]) > 0
    del queue._pending[-1]
    assert send(service, "/v1/datasets?name=mine", tarred(records), by="admin").status_code == 201


def test_who_may_only_look_sends_nothing(service: Service, records: dict[str, bytes]) -> None:
    for path in ("/v1/datasets?name=mine", "/v1/checkpoints?name=mine"):
        expect_problem(send(service, path, tarred(records), by="vera"), 403, "forbidden")


INDEX = index_of(shapes_of(catalogue.get("efficientdet_d0")))
ZOO = {
    "efficientdet_d0/checkpoint/ckpt-0.index": INDEX,
    "efficientdet_d0/checkpoint/ckpt-0.data-00000-of-00001": b"data",
    "efficientdet_d0/checkpoint/checkpoint": b"model_checkpoint_path: ckpt-0",
    "efficientdet_d0/saved_model/variables/variables.index": b"other",
    "efficientdet_d0/saved_model/variables/variables.data-00000-of-00001": b"other",
    "efficientdet_d0/pipeline.config": b"model {}",
}


def test_a_checkpoint_of_the_zoo_is_taken_as_it_is(service: Service) -> None:
    made = send(service, "/v1/checkpoints?name=zoo", tarred(ZOO, "w:gz"), {"Content-Type": "application/gzip"})
    assert made.status_code == 201, made.text
    assert (made.json()["name"], made.json()["bytes"]) == ("zoo", len(INDEX) + 4)
    assert service.get(made.headers["location"]).json().items() >= made.json().items()
    files = sorted(path.name for path in (service.settings.checkpoints_dir / "zoo").iterdir())
    assert files == ["ckpt-0.data-00000-of-00001", "ckpt-0.index"]
    assert service.post("/v1/jobs", json={**BODY, "checkpoint": "zoo"}).status_code == 202
    expect_problem(send(service, "/v1/checkpoints?name=zoo", tarred(ZOO)), 409, "name_taken")
    expect_problem(service.get("/v1/checkpoints/none"), 404)


@pytest.mark.parametrize(
    "files",
    [
        {"a/ckpt-0.index": b"i"},
        {"a/ckpt-0.data-00000-of-00001": b"d"},
        {"a/ckpt-0.index": b"i", "a/ckpt-0.data-00000-of-00002": b"d"},
        {"a/ckpt-0.index": b"i", "a/ckpt-0.data-00000-of-00001": b"d", "a/ckpt-1.index": b"i"},
        {"a/ckpt-0.index": b"i", "a/ckpt-1.data-00000-of-00001": b"d"},
        {"variables.index": b"i", "variables.data-00000-of-00001": b"d"},
        {"a/ckpt-0.index": b"no index at all", "a/ckpt-0.data-00000-of-00001": b"d"},
    ],
)
def test_a_checkpoint_that_is_not_whole_is_refused(service: Service, files: dict[str, bytes]) -> None:
    problem = expect_problem(send(service, "/v1/checkpoints?name=zoo", tarred(files)), 422, "invalid")
    assert problem["errors"][0]["field"] == "archive"
    assert service.get("/v1/checkpoints").json() == {"items": []}
    assert left_over(service) == []
