"""A job that was shrunk for a small device grows again on a larger one, and its owner is notified."""

import json
from typing import Any

import pytest

from services.domain.contract import Reason
from services.domain.jobs.states import State
from services.scheduling.claim import Claim
from services.store.models import Delivery, Device
from services.webhooks import subscriptions
from tests.support.desk import MB, Desk, ago, gpu, slot
from tests.support.waiting import waits_for

FREE = {"policy": {"plan_ahead": False}}


def again(desk: Desk) -> Claim:
    claim = desk.claim()
    assert claim is not None
    return claim


def shrunk(desk: Desk, mb: int = 1000, **request: Any) -> Claim:
    """A job that ran out on a slot of this size and runs there again with a smaller plan."""
    desk.slots(mb)
    claim = desk.claimed(**{**FREE, **request})
    desk.ran_out(claim, in_use=mb * MB)
    claim = again(desk)
    assert claim.plan.to_dict() != desk.job(claim.job_id).asked
    return claim


def only(desk: Desk, number: int, mb: int) -> None:
    """Replace all devices by this one."""
    for device in desk.rows(Device):
        desk.change(Device, device.id, seen_at=ago(3 * 24 * 3600))
    desk.report(slot(number, mb))


def test_a_grown_job_gets_a_new_plan_and_its_owner_is_notified(desk: Desk) -> None:
    subscriptions.create(desk.store, desk.settings, desk.owner, "https://hooks.example/x", ["job.replanned"])
    claim = shrunk(desk)
    desk.end(claim, Reason.STOPPED)
    before, messages = desk.job(claim.job_id).version, len(desk.rows(Delivery))
    only(desk, 1, 64_000)

    again(desk)

    *_, last = desk.rows(Delivery)
    assert len(desk.rows(Delivery)) == messages + 1
    assert json.loads(last.body)["data"]["summary"].startswith("Raised again")
    assert desk.job(claim.job_id).version == before + 2  # one for the plan, one for the claim


@pytest.mark.parametrize("ended", [Reason.STOPPED, Reason.DISK_FULL])
def test_a_later_attempt_on_a_larger_device_gets_the_requested_plan_again(desk: Desk, ended: Reason) -> None:
    claim = shrunk(desk)
    desk.end(claim, ended)
    desk.set("jobs", not_before=None)
    only(desk, 1, 64_000)

    grown = again(desk)

    job, attempt = desk.job(claim.job_id), desk.attempt(grown)
    assert grown.plan.to_dict() == job.asked == job.plan == attempt.plan
    [change] = attempt.planned["changes"]
    assert (change["lever"], change["before"], change["after"]) == (
        "micro_batch",
        str(claim.plan.micro_batch),
        "8",
    )
    assert attempt.planned["summary"].startswith("Raised again towards what was asked for.")
    assert "reduced to fit 1000 MB" in attempt.planned["summary"]
    assert attempt.planned["capacity_bytes"] == 64_000 * MB
    assert desk.events(job.id, "planned")[-1]["summary"] == attempt.planned["summary"]


def test_on_the_same_device_the_plan_stays(desk: Desk) -> None:
    claim = shrunk(desk)
    desk.end(claim, Reason.STOPPED)
    same = again(desk)
    assert same.plan == claim.plan
    assert desk.attempt(same).planned["changes"] == []


def test_a_smaller_backbone_is_not_grown_back(desk: Desk) -> None:
    request = {"model": "efficientdet_d1", "policy": {"plan_ahead": False, "levers": ["micro_batch", "backbone"]}}
    claim = shrunk(desk, 420, **request)
    assert (claim.plan.model, claim.plan.micro_batch) == ("efficientdet_d0", 1)
    desk.end(claim, Reason.STOPPED)
    only(desk, 1, 64_000)
    grown = again(desk)
    assert (grown.plan.model, grown.plan.micro_batch) == ("efficientdet_d0", 8)


def test_a_grown_job_shrinks_back_if_only_a_small_device_is_free(desk: Desk) -> None:
    claim = shrunk(desk)
    desk.end(claim, Reason.STOPPED)
    only(desk, 1, 64_000)
    grown = again(desk)
    desk.end(grown, Reason.STOPPED)
    desk.slots(1000, 64_000)
    blocker = desk.claimed(device={"min_memory_mb": 64_000}, priority=9)
    assert blocker.device_key == "cpu-1"

    small = again(desk)

    assert (small.device_key, small.plan) == ("cpu-0", claim.plan)
    assert desk.attempt(small).planned["changes"][0]["field"] == "micro_batch"
    failed = [attempt for attempt in desk.attempts(claim.job_id) if attempt.diagnosis == "too_large"]
    assert small.plan.to_dict() not in [attempt.plan for attempt in failed]


def test_a_grown_job_that_prefers_to_wait_waits_for_the_larger_device(desk: Desk) -> None:
    claim = shrunk(desk, policy={"plan_ahead": False, "prefer": "wait"})
    desk.end(claim, Reason.STOPPED)
    only(desk, 1, 64_000)
    desk.end(again(desk), Reason.STOPPED)
    desk.slots(1000, 64_000)
    blocker = desk.claimed(device={"min_memory_mb": 64_000}, priority=9)
    assert desk.claim() is None
    assert desk.job(claim.job_id).state == State.QUEUED
    reason = waits_for(desk.job(claim.job_id))
    assert reason == f"Waits for slot 1 (box/cpu-1, 64,000 MB), busy with job {blocker.job_id}"


HALF: dict[str, Any] = {
    "train": {"steps": 10, "batch_size": 64},
    "policy": {"levers": ["precision"]},
}  # needs it on 11 GB


def only_gpu(desk: Desk, number: int, gigabytes: int, capability: str) -> None:
    for device in desk.rows(Device):
        desk.change(Device, device.id, seen_at=ago(3 * 24 * 3600))
    desk.report(gpu(number, gigabytes * 1024 * MB, gigabytes * 1024 * MB, capability=capability))


def test_a_plan_in_bfloat16_runs_in_float16_on_a_card_that_is_fast_in_that(desk: Desk) -> None:
    only_gpu(desk, 0, 11, "8.6")
    job = desk.submit(**HALF)
    assert desk.job(job).plan["precision"] == "bfloat16"
    only_gpu(desk, 1, 11, "7.5")

    claim = again(desk)

    assert claim.plan.precision == "float16"
    planned = desk.attempt(claim).planned
    assert planned is not None
    (change,) = planned["changes"]
    assert (change["field"], change["before"], change["after"]) == ("precision", "bfloat16", "float16")
    assert "not fast in bfloat16" in planned["summary"]


@pytest.mark.parametrize("gigabytes", [11, 24])
def test_a_card_that_is_fast_in_neither_computes_in_float32(desk: Desk, gigabytes: int) -> None:
    only_gpu(desk, 0, 11, "8.6")
    desk.submit(**HALF)
    only_gpu(desk, 1, gigabytes, "6.1")
    assert again(desk).plan.precision == "float32"
