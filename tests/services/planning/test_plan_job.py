"""Plans from the store's rows: which devices count, and which measurements."""

from collections.abc import Iterable
from typing import Any

import pytest

from services.attempts import ingest
from services.clock import utc_now
from services.devices.capacity import capacities_of
from services.domain.contract import AllocatorStats, Reason
from services.domain.jobs.states import State
from services.domain.memory.gpu_limit import limit_of_free, limit_of_whole
from services.domain.plan.policy import Lever, Policy
from services.domain.planner.decision import Decision, GiveUp
from services.jobs.check_request import check_request
from services.planning import plan_job
from services.scheduling.claim import Claim
from services.store import measurements
from services.store.models import Device, Job, Measurement
from tests.support.desk import GB, MB, Desk, Events, ago, gpu, slot
from tests.support.waiting import waits_for

LARGE: dict[str, Any] = {"train": {"steps": 10, "batch_size": 64}}


def again(desk: Desk) -> Claim:
    claim = desk.claim()
    assert claim is not None
    return claim


def first(desk: Desk, policy: Policy | None = None, min_bytes: int = 0, **request: Any) -> plan_job.FirstPlan:
    checked = check_request(desk.settings, desk.request(**request))
    with desk.store.reading() as session:
        return plan_job.plan_first(session, checked.asked, policy or Policy(), min_bytes, utc_now())


def test_a_first_plan_is_for_the_largest_present_device(desk: Desk) -> None:
    desk.slots(1000, 3000)
    desk.slots(64_000, host="away")
    desk.change(Device, "away/cpu-0", seen_at=ago(120))
    assert first(desk, **LARGE).capacity == 3000 * MB
    desk.slots(64_000, host="away")
    found = first(desk, **LARGE)
    assert found.capacity == 64_000 * MB
    assert isinstance(found.decision, Decision)
    assert found.decision.plan.micro_batch == 64


def test_without_devices_there_is_no_capacity_and_the_plan_is_as_asked(desk: Desk) -> None:
    found = first(desk)
    assert (found.capacity, list(found.present)) == (None, [])
    assert isinstance(found.decision, Decision)


def test_a_gpus_capacity_is_less_than_its_nominal_memory(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 24 * GB))
    assert first(desk).capacity == limit_of_whole(24 * GB, None) < 22 * GB


def test_a_job_that_fits_nowhere_is_given_up_with_the_policys_lower_limits(desk: Desk) -> None:
    desk.slots(100)
    decision = first(desk, Policy(levers=(Lever.IMAGE_SIZE,))).decision
    assert isinstance(decision, GiveUp)
    assert "even at your minimums (image 256×256)" in decision.reason


def test_own_measurements_override_the_catalogue(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    Events(desk.folder(claim)).step(1, peak=777 * MB)
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    desk.end(claim, Reason.COMPLETED, allocator=AllocatorStats(peak=777 * MB))
    found = first(desk)
    assert isinstance(found.decision, Decision)
    assert found.decision.prediction.source == "scaled"
    assert found.decision.prediction.bytes == pytest.approx(777 * MB, rel=0.01)


# After running out


def ran_out(desk: Desk, **request: Any) -> Claim:
    claim = desk.claimed(**{"policy": {"plan_ahead": False}, **request})
    desk.ran_out(claim, in_use=desk.attempt(claim).limit_bytes)
    return claim


def test_the_next_plan_is_smaller_and_names_its_capacity(desk: Desk) -> None:
    desk.slots(1000)
    claim = ran_out(desk)
    job = desk.job(claim.job_id)
    assert job.plan["micro_batch"] < 8
    assert job.plan["batch_size"] == 8
    assert job.planned["capacity_bytes"] == 1000 * MB
    assert again(desk).device_key == claim.device_key


def test_an_attempt_interrupted_by_the_host_does_not_count_towards_max_attempts(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False, "max_attempts": 2}, train={"steps": 10, "batch_size": 8})
    desk.end(claim, Reason.STOPPED)
    claim = again(desk)
    desk.ran_out(claim, in_use=1000 * MB)
    job = desk.job(claim.job_id)
    assert job.state == State.QUEUED, job.reason
    assert "attempt 2 needed more" in job.planned["summary"]


def test_a_job_that_prefers_to_shrink_is_fitted_to_free_devices(desk: Desk) -> None:
    desk.slots(1000, 64_000)
    blocker = desk.claimed(policy={"plan_ahead": False})
    assert blocker.device_key == "cpu-1"
    claim = ran_out(desk, **LARGE)
    assert claim.device_key == "cpu-0"
    assert desk.job(claim.job_id).planned["capacity_bytes"] == 1000 * MB


def test_a_job_that_prefers_to_wait_keeps_its_plan_for_the_larger_device(desk: Desk) -> None:
    desk.slots(1000, 64_000)
    blocker = desk.claimed(policy={"plan_ahead": False})
    claim = ran_out(desk, **LARGE, policy={"plan_ahead": False, "prefer": "wait"})
    job = desk.job(claim.job_id)
    assert job.plan == job.asked
    assert desk.claim() is None
    reason = waits_for(desk.job(claim.job_id))
    assert reason == f"Waits for slot 1 (box/cpu-1, 64,000 MB), busy with job {blocker.job_id}"
    desk.end(blocker, Reason.COMPLETED)
    assert again(desk).device_key == "cpu-1"


def test_a_job_that_prefers_to_wait_keeps_its_plan_while_the_larger_device_is_absent_or_broken(desk: Desk) -> None:
    waits = {**LARGE, "policy": {"plan_ahead": False, "prefer": "wait"}}
    desk.report(slot(0, 1000), slot(1, 64_000, problem="on fire"))
    claim = ran_out(desk, **waits)
    assert desk.claim() is None
    assert desk.job(claim.job_id).plan == desk.job(claim.job_id).asked
    assert waits_for(desk.job(claim.job_id)) == "Waits for slot 1 (box/cpu-1, 64,000 MB): on fire"
    desk.change(Device, "box/cpu-1", problem=None, seen_at=ago(3600))
    other = ran_out(desk, **waits)
    assert desk.claim() is None
    assert "Waits for box/cpu-1" in waits_for(desk.job(other.job_id))


def test_a_device_of_unknown_memory_does_not_fail_a_job(desk: Desk) -> None:
    unknown = gpu(0, total=0, free=0, problem="there is no driver")
    desk.report(unknown)
    job_id = desk.submit()
    assert desk.job(job_id).state == State.QUEUED
    desk.report(gpu(0, total=64 * GB, free=64 * GB))
    assert desk.claim() is not None
    large = desk.submit(device={"min_memory_mb": 32_000})
    desk.report(unknown, slot(0, 1000))
    assert desk.claim() is None
    assert waits_for(desk.job(large)) == "Waits for GPU 0 (box/gpu-0): there is no driver"


def test_a_device_that_stays_broken_is_not_waited_for_any_longer(desk: Desk) -> None:
    desk.report(slot(0, 1000), slot(1, 64_000, problem="on fire"))
    claim = ran_out(desk, **LARGE, policy={"plan_ahead": False, "prefer": "wait"})
    assert desk.claim() is None
    desk.change(Job, claim.job_id, queued_at=ago(25 * 3600))
    smaller = again(desk)
    assert smaller.device_key == "cpu-0"
    assert smaller.plan.micro_batch < 64


def test_a_plan_is_not_made_for_a_device_with_a_problem(desk: Desk) -> None:
    desk.report(slot(0, 1000), slot(1, 64_000, problem="on fire"))
    claim = ran_out(desk, **LARGE)
    assert claim.device_key == "cpu-0"
    assert desk.job(claim.job_id).planned["capacity_bytes"] == 1000 * MB


def test_no_plan_repeats_and_every_series_of_failures_ends(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False, "max_attempts": 20}, **LARGE)
    plans = []
    for _ in range(21):
        plans.append(desk.attempt(claim).plan)
        desk.ran_out(claim, in_use=1000 * MB)
        job = desk.job(claim.job_id)
        if job.state == State.FAILED:
            break
        claim = again(desk)
    assert job.state == State.FAILED
    assert job.reason
    assert len({str(plan) for plan in plans}) == len(plans) == job.attempts


def measure(desk: Desk, sizes: Iterable[tuple[int, int]], *, brief: bool = False) -> None:
    """Store measurements of micro-batches with their peaks in MB, the newest last."""
    job_id = desk.submit()
    with desk.store.transaction() as session:
        for micro_batch, peak in sizes:
            measurements.add(
                session,
                Measurement(
                    job_id=job_id, attempt=1, model="efficientdet_d0", precision="float32", micro_batch=micro_batch,
                    accumulation=1, height=256, width=256, device_kind="cpu", software="test",
                    peak_bytes=peak * MB, complete=True, brief=brief, created_at=ago(0),
                ),
            )  # fmt: skip


def test_only_the_newest_measurements_of_one_plan_count(desk: Desk) -> None:
    desk.slots(4000)
    measure(desk, [(8, 600)] * 20 + [(8, 700)] * 10)
    found = first(desk)
    assert isinstance(found.decision, Decision)
    assert found.decision.prediction.bytes == pytest.approx(700 * MB, rel=0.01)
    assert len(desk.measurements()) == 30, "the others are kept"


def test_a_plan_that_is_often_repeated_does_not_hide_other_measurements(desk: Desk) -> None:
    desk.slots(4000)
    measure(desk, [(1, 500)] + [(8, 1900)] * 30)
    found = first(desk)
    assert isinstance(found.decision, Decision)
    assert found.decision.prediction.points == 8 + 1


def test_many_short_attempts_do_not_hide_a_long_one(desk: Desk) -> None:
    desk.slots(4000)
    measure(desk, [(8, 1700)])
    measure(desk, [(8, 1500)] * 30, brief=True)
    assert [row.peak_bytes for row in desk.measurements() if row.superseded_at is None] == [1700 * MB, *[1500 * MB] * 8]


def test_the_law_of_a_ladder_reads_a_bounded_number_of_rows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "_LATEST", 3)
    desk.slots(4000)
    measure(desk, [(size, 500 + 10 * size) for size in range(1, 7)])
    found = first(desk)
    assert isinstance(found.decision, Decision)
    assert found.decision.prediction.points == 3


def test_a_capacity_has_the_free_memory_and_the_size_of_the_device(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 10 * GB, others=14 * GB), slot(0, 1000, free_mb=300))
    card, cpu = sorted(capacities_of(desk.rows(Device)), key=lambda room: room.kind, reverse=True)
    assert card.size_bytes == 24 * GB
    assert (card.usable_bytes, card.free_bytes) == (limit_of_whole(24 * GB, None), limit_of_free(10 * GB, None))
    assert (cpu.size_bytes, cpu.usable_bytes, cpu.free_bytes) == (1000 * MB, 1000 * MB, 300 * MB)
