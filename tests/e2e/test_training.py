"""The whole service with the real trainer, over HTTP: a job runs out of memory, is re-planned and succeeds."""

import io
import json
import os
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from launcher import addresses
from launcher.demo.service import Api, serving
from services.datasets import shapes
from services.domain.contract import EXIT_CODES, Reason
from services.settings import Settings
from tests.support.training.trainings import ROOT

pytestmark = pytest.mark.tensorflow

TIMEOUT_S = 900.0
FINAL = ("succeeded", "failed", "cancelled")


@contextmanager
def service(home: Path, slot_mb: int, **settings_: Any) -> Iterator[Api]:
    shapes.generate(home / "datasets" / "shapes", train=24, validation=4, seed=1)
    bind = addresses.free_bind(("127.0.0.1", 0))
    settings = Settings(home=home, devices=f"cpu:{slot_mb}", bind=bind, min_free_disk_mb=1, **settings_)
    with serving(settings) as api:
        yield api


def until(what: str, happened: Callable[[], Any], timeout_s: float = TIMEOUT_S) -> Any:
    deadline = time.monotonic() + timeout_s
    while not (found := happened()):
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        time.sleep(0.2)
    return found


def until_state(api: Api, job_id: int, *states: str) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        job: dict[str, Any] = api.get(f"/v1/jobs/{job_id}")
        assert job["state"] in states or job["state"] not in FINAL, job["reason"]
        return job if job["state"] in states else None

    found: dict[str, Any] = until(f"job {job_id} {states}", reached)
    return found


def until_attempt(api: Api, job_id: int, what: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        job = api.get(f"/v1/jobs/{job_id}")
        assert job["state"] not in FINAL, f"{what}: the job has {job['state']}: {job['reason']}"
        attempts = api.get(f"/v1/jobs/{job_id}/attempts")["items"]
        return attempts[-1] if attempts and holds(attempts[-1]) else None

    found: dict[str, Any] = until(what, reached)
    return found


def request(model: str, batch: int, steps: int, **policy: Any) -> dict[str, Any]:
    return {
        "dataset": "shapes",
        "model": model,
        "image_size": [256, 256],
        "train": {"steps": steps, "batch_size": batch},
        "policy": {"plan_ahead": False, **policy},
    }


def check_allocator_evidence(ended: dict[str, Any], log: str) -> None:
    """TensorFlow's BFC allocator failed, and the outcome contains its statistics."""
    outcome = ended["evidence"]
    assert outcome["reason"] == Reason.DEVICE_MEMORY
    assert ended["exit_status"] == EXIT_CODES[Reason.DEVICE_MEMORY]
    assert "OOM when allocating tensor" in outcome["message"]
    assert "\n" not in outcome["message"]
    allocator = outcome["allocator"]
    assert allocator["limit"] == ended["limit_bytes"]
    assert 0.5 * allocator["limit"] < allocator["in_use"] <= allocator["peak"] <= allocator["limit"]
    assert allocator["requested"] > 0
    assert str(allocator["requested"]) in log
    assert all(allocator[name] for name in ("requested_shape", "requested_op", "allocator"))
    assert (outcome["step"], outcome["saved_step"]) == (0, None)


def check_what_the_api_shows(api: Api, job_id: int, attempts: list[dict[str, Any]]) -> None:
    first, second, last = attempts[0], attempts[1], attempts[-1]
    assert first["diagnosis"] == "too_large"
    assert "ran out of memory" in first["message"]
    check_allocator_evidence(first, api.text(f"/v1/jobs/{job_id}/logs?attempt=1&q=ran out of memory trying"))
    assert second["changes"], second
    assert second["predicted"]["bytes"] <= first["limit_bytes"]
    assert last["measured_peak_bytes"] <= last["limit_bytes"]
    assert abs(last["prediction_error"]) < 0.3
    assert first["prediction_error"] is None
    assert first["ladder"]
    job = f"/v1/jobs/{job_id}"
    diff = api.get(f"{job}/attempts/2/diff")
    assert diff["changes"]
    assert all(change["reason"] for change in diff["changes"])
    assert "OOM" in api.text(f"{job}/logs?attempt=1&q=OOM")
    assert "train_config" in api.text(f"{job}/attempts/{last['number']}/config")
    names = {"Loss/total_loss", "DetectionBoxes_Precision/mAP", "input_wait"}
    metrics = api.get(f"{job}/metrics?{urlencode({'names': sorted(names)}, doseq=True)}")
    assert {series["name"] for series in metrics["series"]} == names
    assert 0 <= last["input_wait"]["share"] <= 1
    with tarfile.open(fileobj=io.BytesIO(api.request("GET", f"{job}/artifacts/export.tar.gz").content)) as archive:
        model = f"job-{job_id}/export"
        assert {f"{model}/saved_model/saved_model.pb", f"{model}/label_map.pbtxt"} <= set(archive.getnames())
        config = archive.extractfile(f"{model}/pipeline.config")
        assert config is not None
        assert b'label_map_path: "label_map.pbtxt"' in config.read()


@pytest.mark.timeout(1500)
def test_an_efficientdet_that_does_not_fit_is_requeued_smaller_resumes_and_succeeds(tmp_path: Path) -> None:
    with service(tmp_path / "home", slot_mb=768) as api:
        job_id = api.post("/v1/jobs", request("efficientdet_d0", batch=8, steps=5))["id"]
        waiting = api.post("/v1/jobs", request("efficientdet_d0", batch=2, steps=5))["id"]
        assert api.get(f"/v1/jobs/{waiting}")["state"] == "queued"

        # Paused between two steps, the job resumes from its checkpoint.
        until_attempt(api, job_id, "a step of attempt 2", lambda a: a["number"] == 2 and a["step"] >= 1)
        api.post(f"/v1/jobs/{job_id}/pause")
        until_state(api, job_id, "paused")
        paused = api.get(f"/v1/jobs/{job_id}/attempts")["items"][-1]
        assert paused["saved_step"] >= 1
        api.post(f"/v1/jobs/{job_id}/resume")

        # The pause freed the device, so the other job runs now. Cancelled while TensorFlow traces, it frees the device.
        until_attempt(api, waiting, "tracing", lambda a: a["phase"] == "tracing")
        api.post(f"/v1/jobs/{waiting}/cancel")
        until_state(api, waiting, "cancelled")

        job = until_state(api, job_id, "succeeded")
        attempts = api.get(f"/v1/jobs/{job_id}/attempts")["items"]
        assert [attempt["diagnosis"] for attempt in attempts] == ["too_large", "interrupted", "completed"]
        assert (job["plan"]["batch_size"], job["progress"]["step"]) == (8, 5)
        assert job["plan"]["micro_batch"] < 8
        resumed = api.text(f"/v1/jobs/{job_id}/artifacts/attempt-3/events.jsonl")
        assert '"resumed": true' in resumed
        check_what_the_api_shows(api, job_id, attempts)

        # The next job of this model would be planned from this one's measurements.
        estimate = api.post("/v1/estimate", {**request("efficientdet_d0", batch=8, steps=5), "policy": {}})
        assert estimate["predicted"]["points"] >= 1
        assert estimate["plan"]["micro_batch"] < estimate["plan"]["batch_size"] == 8
        assert estimate["predicted"]["high_bytes"] <= attempts[-1]["limit_bytes"]
        assert estimate["host_peak_bytes"] > 0


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("model", "batch", "slot_mb"), [("faster_rcnn_resnet50_fpn", 8, 2000), ("mask_rcnn_resnet50_fpn", 4, 2800)]
)
def test_a_two_stage_model_that_does_not_fit_is_requeued_smaller_and_succeeds(
    tmp_path: Path, model: str, batch: int, slot_mb: int
) -> None:
    with service(tmp_path / "home", slot_mb) as api:
        job_id = api.post("/v1/jobs", request(model, batch, steps=2))["id"]
        job = until("the end", lambda: (job := api.get(f"/v1/jobs/{job_id}"))["state"] in FINAL and job, 1400)
        assert job["state"] == "succeeded", job["reason"]
        attempts = api.get(f"/v1/jobs/{job_id}/attempts")["items"]
        assert job["plan"]["batch_size"] == batch
        check_what_the_api_shows(api, job_id, attempts)


def test_a_job_whose_first_attempt_finds_no_algorithm_finishes_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow raises NotFoundError where a convolution finds no memory for its workspace."""
    behaviour = tmp_path / "behaviour.json"
    behaviour.write_text(json.dumps({"step_s": 0.01, "observer": os.devnull}))
    monkeypatch.setenv("FAKE_TRAINER", str(behaviour))
    trainer = f"{sys.executable} {ROOT / 'tests' / 'support' / 'training' / 'raises_once.py'}"
    with service(tmp_path / "home", 6000, trainer=trainer) as api:
        request = {"dataset": "shapes", "model": "efficientdet_d0", "image_size": [256, 256]}
        job = api.post("/v1/jobs", {**request, "train": {"steps": 2, "batch_size": 8}, "policy": {"plan_ahead": False}})
        until_state(api, job["id"], "succeeded")
        first, second = api.get(f"/v1/jobs/{job['id']}/attempts")["items"]
    assert (first["outcome"], first["diagnosis"]) == ("device_memory", "too_large")
    assert "No algorithm worked" in first["message"] or "RESOURCE_EXHAUSTED" in first["message"]
    assert "Graph execution error" not in first["message"]
    assert second["plan"]["micro_batch"] < first["plan"]["micro_batch"]
    assert second["plan"]["batch_size"] == first["plan"]["batch_size"]
