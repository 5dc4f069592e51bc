"""Artifacts: listed, downloaded, and never from outside the job's directory."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from services.domain.jobs.states import State
from tests.support.api_service import Service, expect_problem


@pytest.fixture
def job(service: Service) -> int:
    return service.job(attempts=2, state=State.SUCCEEDED)


def folder(service: Service, job: int) -> Path:
    return service.settings.jobs_dir / str(job)


def test_artifacts_are_listed_and_can_all_be_had(service: Service, job: int) -> None:
    answer = service.get(f"/v1/jobs/{job}/artifacts").json()
    names = [item["name"] for item in answer["items"]]
    assert names[0] == "export.tar.gz"
    assert "export/saved_model/saved_model.pb" in names
    assert "attempt-1/samples/step-1.png" in names
    assert "attempt-2/train.log" in names
    assert not any(name.endswith("attempt.json") for name in names)  # it contains paths of the host
    assert answer["is_complete"] is True
    for item in answer["items"]:
        had = service.get(item["link"])
        assert had.status_code == 200, item
        assert item["bytes"] is None or len(had.content) == item["bytes"]


def test_the_exported_model_is_one_archive(service: Service, job: int) -> None:
    answer = service.get(f"/v1/jobs/{job}/artifacts/export.tar.gz")
    assert answer.headers["content-type"] == "application/gzip"
    model = folder(service, job) / "export" / "saved_model" / "saved_model.pb"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        assert archive.getnames() == [f"job-{job}/export/saved_model/saved_model.pb"]
        extracted = archive.extractfile(archive.getnames()[0])
        assert extracted is not None
        assert extracted.read() == model.read_bytes()


def test_what_is_shown_in_a_browser_is_an_image_or_is_saved(service: Service, job: int) -> None:
    (folder(service, job) / "export" / "page.html").write_text("<script>")
    image = service.get(f"/v1/jobs/{job}/artifacts/attempt-1/samples/step-1.png")
    page = service.get(f"/v1/jobs/{job}/artifacts/export/page.html")
    assert image.headers["content-type"] == "image/png"
    assert "content-disposition" not in image.headers
    assert page.headers["content-type"] == "application/octet-stream"
    assert page.headers["content-disposition"] == 'attachment; filename="page.html"'


@pytest.mark.parametrize(
    "name",
    [
        "attempt-1/attempt.json",
        "attempt-1",
        "export",
        "export/",
        "export/nothing",
        "export/%2e%2e/attempt-1/attempt.json",
        "export/..%2f..%2f..%2fadmin-token",
        "..%2f..%2fadmin-token",
        "%2e%2e/%2e%2e/admin-token",
        "export/%2fetc%2fpasswd",
        "/etc/passwd",
        "export/%2e/saved_model/saved_model.pb",
        "export//saved_model/saved_model.pb",
        "export/%00",
        "export/" + "x" * 300,
        "attempt-1/samples/%2e%2e/attempt.json",
        "attempt-99/train.log",
    ],
)
def test_what_is_not_given_away_is_not_found(service: Service, job: int, name: str) -> None:
    expect_problem(service.get(f"/v1/jobs/{job}/artifacts/{name}"), 404)


def test_no_link_leads_out(service: Service, job: int) -> None:
    secret = service.settings.admin_token_file
    root = folder(service, job)
    (root / "export" / "link").symlink_to(secret)
    (root / "export" / "home").symlink_to(service.settings.home)
    (root / "checkpoints").symlink_to(service.settings.home)
    os.mkfifo(root / "export" / "pipe")
    (root / "attempt-2" / "train.log").unlink()
    (root / "attempt-2" / "train.log").symlink_to(secret)

    for name in ("export/link", "export/home/admin-token", "checkpoints/admin-token", "export/pipe"):
        expect_problem(service.get(f"/v1/jobs/{job}/artifacts/{name}"), 404)
    assert service.get(f"/v1/jobs/{job}/logs?tail=5").text == ""
    listed = [item["name"] for item in service.get(f"/v1/jobs/{job}/artifacts").json()["items"]]
    for name in ("export/link", "export/home", "checkpoints/admin-token", "export/pipe", "attempt-2/train.log"):
        assert name not in listed
    archive = service.get(f"/v1/jobs/{job}/artifacts/export.tar.gz").content
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        assert len(opened.getnames()) == 1


def test_a_job_that_has_not_started_has_no_artifacts(service: Service) -> None:
    job = service.job()
    assert service.get(f"/v1/jobs/{job}/artifacts").json() == {"items": [], "is_complete": True}
    expect_problem(service.get(f"/v1/jobs/{job}/artifacts/export.tar.gz"), 404)
    expect_problem(service.get("/v1/jobs/99/artifacts"), 404)
    expect_problem(service.get("/v1/jobs/99/artifacts/export.tar.gz"), 404)
