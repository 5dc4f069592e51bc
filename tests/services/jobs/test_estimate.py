"""Estimates of a request without submitting it."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from services.attempts import ingest
from services.datasets.statistics import Histogram
from services.domain.contract import AllocatorStats, Reason
from services.domain.memory.gpu_limit import limit_of_free
from services.errors import Invalid
from services.jobs.estimate import estimate
from services.store.models import Event, Job
from tests.support.desk import GB, MB, Desk, Events, gpu

LARGE: dict[str, Any] = {"train": {"steps": 10, "batch_size": 64}}


def test_an_estimate_is_the_plan_that_submitting_gives_and_leaves_no_trace(desk: Desk) -> None:
    desk.slots(1000, 3000)
    shown = estimate(desk.store, desk.settings, desk.owner, desk.request(**LARGE))
    assert (desk.rows(Job), desk.rows(Event)) == ([], [])
    job = desk.job(desk.submit(**LARGE))
    assert shown["plan"] == job.plan
    assert shown["asked"] == job.asked
    assert shown["summary"] == job.planned["summary"]
    assert shown["changes"] == job.planned["changes"]
    assert shown["possible"] is True
    json.dumps(shown, allow_nan=False)


def test_every_device_is_in_the_estimate(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 3 * GB, others=21 * GB))
    desk.slots(100, host="small")
    desk.report(gpu(0, 24 * GB, 24 * GB, problem="its fan stands still"), host="sick")
    shown = {
        device["id"]: device for device in estimate(desk.store, desk.settings, desk.owner, desk.request())["devices"]
    }
    assert (shown["box/gpu-0"]["fits"], shown["box/gpu-0"]["fits_now"]) == (True, False)
    assert shown["small/cpu-0"]["fits"] is False
    assert (shown["sick/gpu-0"]["fits"], shown["sick/gpu-0"]["fits_now"]) == (True, False)
    assert shown["sick/gpu-0"]["problem"] == "its fan stands still"
    assert shown["box/gpu-0"]["free_bytes"] == limit_of_free(3 * GB, None)


def test_the_ladder_goes_from_the_request_down_to_the_policys_lower_limits(desk: Desk) -> None:
    desk.slots(1000)
    shown = estimate(desk.store, desk.settings, desk.owner, desk.request(**LARGE))
    ladder = shown["ladder"]
    assert ladder[0]["plan"] == shown["asked"]
    assert ladder[0]["lever"] is None
    needs = [rung["predicted"]["high_bytes"] for rung in ladder]
    assert needs == sorted(needs, reverse=True)
    assert [rung["fits"]["box/cpu-0"] for rung in ladder] == [need <= 1000 * MB for need in needs]
    assert all(rung["summary"] for rung in ladder)
    assert [rung["cost"] is None for rung in ladder] == [True] + [False] * (len(ladder) - 1)


def test_the_estimate_names_the_source_of_its_prediction(desk: Desk) -> None:
    desk.slots(4000)
    cold = estimate(desk.store, desk.settings, desk.owner, desk.request())
    assert (cold["predicted"]["source"], cold["predicted"]["points"], cold["host_peak_bytes"]) == ("catalogue", 0, None)
    claim = desk.claimed()
    Events(desk.folder(claim)).step(1, peak=777 * MB)
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    desk.end(claim, Reason.COMPLETED, allocator=AllocatorStats(peak=777 * MB), host_peak_bytes=2 * GB)
    warm = estimate(desk.store, desk.settings, desk.owner, desk.request())
    assert (warm["predicted"]["source"], warm["predicted"]["points"]) == ("scaled", 1)
    assert warm["host_peak_bytes"] == 2 * GB
    assert "one measurement of efficientdet_d0" in warm["summary"]


@pytest.mark.parametrize(
    ("capability", "half"),
    [(None, "bfloat16"), ("6.1", None), ("7.0", "float16"), ("7.5", "float16"), ("8.6", "bfloat16")],
)
def test_the_ladder_includes_the_precision_that_the_largest_device_is_fast_at(
    desk: Desk, capability: str | None, half: str | None
) -> None:
    desk.slots(1000)
    assert "precision" not in levers(estimate(desk.store, desk.settings, desk.owner, desk.request(**LARGE)))
    desk.report(gpu(0, 24 * GB, 24 * GB, capability=capability))
    shown = estimate(desk.store, desk.settings, desk.owner, desk.request(**LARGE))
    assert {rung["plan"]["precision"] for rung in shown["ladder"]} - {"float32"} == ({half} if half else set())


def levers(shown: dict[str, Any]) -> set[str]:
    return {rung["lever"] for rung in shown["ladder"]}


def test_an_impossible_request_gets_an_estimate_with_its_problem(desk: Desk) -> None:
    desk.slots(100)
    shown = estimate(desk.store, desk.settings, desk.owner, desk.request(policy={"levers": ["image_size"]}))
    assert (shown["possible"], shown["plan"]) == (False, None)
    assert "256" in shown["summary"]


def test_without_devices_there_is_still_an_estimate(desk: Desk) -> None:
    shown = estimate(desk.store, desk.settings, desk.owner, desk.request())
    assert shown["possible"] is True
    assert shown["devices"] == []
    assert all(rung["fits"] == {} for rung in shown["ladder"])


def test_an_estimate_checks_a_request_as_submitting_does(desk: Desk) -> None:
    with pytest.raises(Invalid):
        estimate(desk.store, desk.settings, desk.owner, desk.request(dataset="none"))


@pytest.fixture
def boxes(desk: Desk) -> Iterator[Callable[[dict[float, int]], Path]]:
    """A dataset "boxes" whose boxes have these sizes, as shares of their image's size; returns its manifest."""
    desk.slots(8000)
    folder = desk.settings.datasets_dir / "boxes"

    def make(shares: dict[float, int]) -> Path:
        shutil.copytree(desk.settings.datasets_dir / "shapes", folder)
        manifest = json.loads((folder / "dataset.json").read_text())
        histogram = Histogram((0, 0.01, 0.02, 0.05, 0.1, 0.5))
        for share, count in shares.items():
            for _ in range(count):
                histogram.add(share)
        manifest["statistics"] = {"train": {"box_share": histogram.as_json()}}
        (folder / "dataset.json").write_text(json.dumps(manifest))
        return folder / "dataset.json"

    yield make
    shutil.rmtree(folder)


def box_warnings(desk: Desk, **request: Any) -> list[str]:
    found: list[str] = estimate(desk.store, desk.settings, desk.owner, desk.request(dataset="boxes", **request))[
        "warnings"
    ]
    return found


@pytest.mark.parametrize(
    ("model", "size", "words"),
    [
        # Anchors from 32, 16 and 64 pixels: half of that at this size is 6, 3 and 12 % of the image.
        ("efficientdet_d0", 256, "About 20% of the training boxes are, at 256x256, less than half as large as the"),
        ("faster_rcnn_resnet50_fpn", 256, None),
        ("faster_rcnn_resnet50", 256, "smallest anchor (64 pixels) and will hardly be found: train at "),
        ("efficientdet_d0", 512, None),
    ],
)
def test_boxes_that_no_anchor_reaches_give_a_warning(
    desk: Desk, boxes: Callable[[dict[float, int]], Path], model: str, size: int, words: str | None
) -> None:
    boxes({0.08: 160, 0.3: 40})
    found = box_warnings(desk, model=model, image_size=[size, size])
    assert len(found) == (words is not None)
    assert all(words in sentence for sentence in found if words), found


def test_where_no_size_reaches_the_boxes_another_remedy_is_named(
    desk: Desk, boxes: Callable[[dict[float, int]], Path]
) -> None:
    boxes({0.0005: 10, 0.3: 10})
    [sentence] = box_warnings(desk)
    assert sentence.endswith("cut the images into tiles.")


def test_a_dataset_without_statistics_gives_no_warning(desk: Desk, boxes: Callable[[dict[float, int]], Path]) -> None:
    file = boxes({0.001: 10})
    assert box_warnings(desk)
    file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "statistics"}))
    assert box_warnings(desk) == []
