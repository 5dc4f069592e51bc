"""Estimates of a request without submitting it."""

import json
from typing import Any

import pytest

from services.attempts import ingest
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
