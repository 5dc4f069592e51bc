"""Remedies applied after an attempt: the next attempt has the remedy, reports it, and changes nothing else."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from services.attempts import ingest
from services.attempts.finish import AttemptResults
from services.datasets import library
from services.domain import pipeline_config
from services.domain.contract import AllocatorStats, Outcome, Reason
from services.domain.diagnosis.ending import Diagnosis, Ending
from services.domain.jobs.states import State
from services.domain.plan.adjustments import NONE, Adjustments
from services.jobs import config_diff, views
from services.planning import attempt_config
from services.scheduling.claim import Claim
from services.store.models import Attempt, Job
from tests.support.desk import GB, MB, Desk, Events, ago, gpu
from tests.support.waiting import waits_for

HOST_MB = 64_000


@pytest.fixture
def running(desk: Desk) -> Claim:
    desk.slots(4000)
    return desk.claimed()


def end(
    desk: Desk, claim: Claim, diagnosis: Diagnosis, message: str = "it ended", outcome: Outcome | None = None
) -> None:
    assert desk.finish(claim, AttemptResults(None, outcome, Ending(diagnosis, message, None))) is not None


def again(desk: Desk, job_id: int) -> Claim:
    """Let the job start at once, and claim its next attempt."""
    desk.change(Job, job_id, not_before=ago(1))
    claim = desk.claim()
    assert claim is not None, desk.job(job_id).reason
    assert claim.job_id == job_id
    return claim


def compose(desk: Desk, claim: Claim) -> pipeline_config.Config:
    """Compose and store the attempt's configuration, as the worker does."""
    dataset = dataclasses.replace(
        library.find(desk.settings.datasets_dir, claim.dataset), records=100_000, most_boxes=80
    )
    config = attempt_config.compose(
        pipeline_config.parse(claim.base_config),
        claim.plan,
        dataset,
        host_memory_mb=HOST_MB,
        adjustments=claim.adjustments,
    )
    desk.change(Attempt, (claim.job_id, claim.attempt), config=pipeline_config.to_text(config))
    return config


def difference(desk: Desk, claim: Claim) -> dict[str, Any]:
    shown = config_diff.show_diff(desk.store, desk.owner, claim.job_id, claim.attempt)
    return {change["field"]: change for change in shown["changes"]}


def train(desk: Desk, claim: Claim, *steps: int, peak: int = 100 * MB) -> None:
    events = Events(desk.folder(claim))
    for step in steps:
        events.step(step, peak=peak)
    events.write("checkpoint", step=steps[-1])
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))


# The host


def test_after_host_oom_the_input_is_smaller_and_the_model_the_same(desk: Desk, running: Claim) -> None:
    before = compose(desk, running)
    end(desk, running, Diagnosis.HOST)
    second = again(desk, running.job_id)
    after = compose(desk, second)
    assert second.plan == running.plan
    sizes, old = pipeline_config.input_sizes(after), pipeline_config.input_sizes(before)
    assert sizes.shuffle_buffer_size == old.shuffle_buffer_size // 8
    assert (
        (sizes.num_parallel_batches, sizes.num_prefetch_batches)
        == (1, 1)
        < (
            old.num_parallel_batches,
            old.num_prefetch_batches,
        )
    )
    assert (before.model, before.train_config) == (after.model, after.train_config)
    changed = difference(desk, second)
    assert "train_input_reader.shuffle_buffer_size" in changed
    for change in changed.values():
        assert change["lever"] is None
        assert change["reason"] == "box ran out of memory: the input pipeline is made smaller, the model is not changed"
    shown = views.attempt_view(desk.attempt(second))
    assert shown["adjustments"] == {"shuffle_buffer_size": 1250, "num_readers": 1, "batches": 1}
    assert "smaller input pipeline (shuffle buffer 1250" in shown["summary"]
    assert desk.attempt(running).followed_by == shown["summary"]


def test_a_remedy_is_still_reported_if_the_plan_changes_before_the_start(desk: Desk, running: Claim) -> None:
    compose(desk, running)
    end(desk, running, Diagnosis.HOST)
    desk.slots(700)  # now the device is a smaller one
    second = again(desk, running.job_id)
    compose(desk, second)
    assert second.plan.micro_batch < running.plan.micro_batch
    changed = difference(desk, second)
    assert changed["micro_batch"]["lever"] == "micro_batch"
    assert "input pipeline is made smaller" in changed["train_input_reader.shuffle_buffer_size"]["reason"]


def test_host_oom_with_the_smallest_input_fails_and_names_the_need(desk: Desk, running: Claim) -> None:
    claim = running
    for _ in range(3):
        compose(desk, claim)
        end(desk, claim, Diagnosis.HOST, "out of host memory")
        assert desk.job(running.job_id).state == State.QUEUED
        claim = again(desk, running.job_id)
    assert claim.adjustments.shuffle_buffer_size == 32
    compose(desk, claim)
    end(
        desk,
        claim,
        Diagnosis.HOST,
        "out of host memory",
        Outcome(reason=Reason.HOST_MEMORY, message="", host_peak_bytes=3 * GB),
    )
    job = desk.job(running.job_id)
    assert job.state == State.FAILED
    assert "at its smallest" in (job.reason or "")
    assert "3072 MB" in (job.reason or "")


# Fragments


def on_gpu(desk: Desk) -> Claim:
    desk.report(gpu(0, 8 * GB, 8 * GB))
    claim = desk.claimed()
    compose(desk, claim)
    return claim


def free_again(desk: Desk) -> None:
    desk.report(gpu(0, 8 * GB, 8 * GB))


def test_fragmentation_gets_the_other_allocator_and_then_a_smaller_plan(desk: Desk) -> None:
    claim = on_gpu(desk)
    assert claim.adjustments == NONE
    end(desk, claim, Diagnosis.FRAGMENTATION)
    free_again(desk)
    second = again(desk, claim.job_id)
    compose(desk, second)
    assert second.plan == claim.plan
    assert second.adjustments == Adjustments(async_allocator=True)
    assert difference(desk, second)["async_allocator"]["after"] == "cuda_malloc_async"
    assert desk.measurements() == []
    end(desk, second, Diagnosis.FRAGMENTATION)
    free_again(desk)
    third = again(desk, claim.job_id)
    assert third.plan.micro_batch < second.plan.micro_batch
    assert third.adjustments.async_allocator, "what helped against fragments stays"
    [row] = desk.measurements()
    assert not row.complete


# Neighbours


def test_waits_for_a_neighbour_grow_name_it_and_do_not_count_as_attempts(desk: Desk) -> None:
    desk.report(gpu(0, 8 * GB, 8 * GB))
    claim = desk.claimed(policy={"max_attempts": 1})
    plan = claim.plan
    for seconds in (30, 60, 120, 240, 480, 600, 600):
        desk.report(gpu(0, 8 * GB, 2 * GB, others=6 * GB))
        end(desk, claim, Diagnosis.NEIGHBOUR, "the device ran out of memory")
        job = desk.job(claim.job_id)
        assert job.state == State.QUEUED
        assert waits_for(job) == (
            f"the device ran out of memory: python (process 4711) holds 6144 MB of GPU 0; retried after {seconds} s"
        )
        assert "python (process 4711) holds 6144 MB of GPU 0" in (desk.attempt(claim).followed_by or "")
        assert job.not_before is not None
        assert abs((job.not_before - ago(-seconds)).total_seconds()) < 5
        assert desk.claim() is None
        free_again(desk)
        claim = again(desk, claim.job_id)
        assert (claim.plan, claim.adjustments) == (plan, NONE)
        assert desk.attempt(claim).planned["changes"] == []


def test_a_job_that_waits_for_free_memory_names_the_process_that_uses_it(desk: Desk) -> None:
    desk.report(gpu(0, 8 * GB, 1 * GB, others=7 * GB))
    job_id = desk.submit()
    assert desk.claim() is None
    assert "python (process 4711) holds 7168 MB of GPU 0" in waits_for(desk.job(job_id))


# Disks


def test_a_full_disk_makes_the_job_wait_and_names_the_host(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed(policy={"max_attempts": 1})
    end(desk, claim, Diagnosis.DISK, "the disk is full")
    job = desk.job(claim.job_id)
    assert job.state == State.QUEUED
    assert waits_for(job).startswith("the disk is full: free disk space on box")
    assert job.not_before is not None
    assert abs((job.not_before - ago(-60)).total_seconds()) < 5
    assert again(desk, claim.job_id).plan == claim.plan


# Leaks and spikes


def test_a_leak_is_resumed_once_and_fails_with_its_slope(desk: Desk, running: Claim) -> None:
    claim = running
    for state in (State.QUEUED, State.FAILED):
        events = Events(desk.folder(claim))
        for step in range(1, 400):
            events.step(step, peak=500 * MB + step * 3 * MB)
        ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
        end(desk, claim, Diagnosis.LEAK, "it ran out")
        job = desk.job(claim.job_id)
        assert job.state == state
        assert "device memory grew by 3 MB a step" in (desk.attempt(claim).followed_by or "")
        if state == State.QUEUED:
            claim = again(desk, claim.job_id)
            assert claim.plan == running.plan
    assert (job.reason or "").startswith("it ran out (for the second time): device memory grew by 3 MB a step")
    assert desk.measurements() == [], "what a leak came to is not what the plan needs"


def test_a_leak_without_a_series_is_reported_without_a_slope(desk: Desk, running: Claim) -> None:
    end(desk, running, Diagnosis.LEAK)
    assert desk.attempt(running).followed_by == "the same plan again, from the start, once"


def test_a_spike_limits_the_boxes_and_the_next_one_shrinks_the_plan(desk: Desk, running: Claim) -> None:
    compose(desk, running)
    end(desk, running, Diagnosis.SPIKE)
    second = again(desk, running.job_id)
    config = compose(desk, second)
    assert second.plan == running.plan
    assert config.train_input_reader.max_number_of_boxes == config.train_config.max_number_of_boxes == 40
    changed = difference(desk, second)
    assert {change["lever"] for change in changed.values()} == {None}
    assert all("at most 40 boxes an image" in change["reason"] for change in changed.values())
    end(desk, second, Diagnosis.SPIKE)
    third = again(desk, running.job_id)
    assert third.plan.micro_batch < second.plan.micro_batch
    assert third.adjustments.max_number_of_boxes == 40


# The result stays honest


def ran_out(desk: Desk, claim: Claim) -> None:
    allocator = AllocatorStats(limit=1000 * MB, in_use=990 * MB, peak=990 * MB, requested=200 * MB)
    desk.end(claim, Reason.DEVICE_MEMORY, allocator=allocator, step=40, saved_step=40)


def test_a_smaller_batch_keeps_the_images_seen_in_plan_schedule_and_progress(desk: Desk) -> None:
    desk.slots(1000)
    policy = {"plan_ahead": False, "levers": ["batch_size"]}
    claim = desk.claimed(policy=policy, train={"steps": 100, "batch_size": 8, "learning_rate": 0.08})
    before = compose(desk, claim)
    train(desk, claim, 20, 40)
    ran_out(desk, claim)
    job = desk.job(claim.job_id)
    batch = job.plan["batch_size"]
    assert batch < 8
    assert (job.step * batch, job.steps * batch) == (40 * 8, 100 * 8)
    second = again(desk, claim.job_id)
    after = compose(desk, second)
    assert second.plan.learning_rate == pytest.approx(0.08 * batch / 8)
    cosine = [
        config.train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate
        for config in (before, after)
    ]
    for steps in ("total_steps", "warmup_steps"):
        assert getattr(cosine[1], steps) * batch == pytest.approx(getattr(cosine[0], steps) * 8, abs=batch)
    for rate in ("learning_rate_base", "warmup_learning_rate"):
        assert getattr(cosine[1], rate) == pytest.approx(getattr(cosine[0], rate) * batch / 8)
    levers = {change["field"]: change["lever"] for change in difference(desk, second).values()}
    assert levers["train_config.batch_size"] == levers["train_config.num_steps"] == "batch_size"


def test_a_job_that_no_plan_helps_keeps_its_last_step(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False, "levers": []}, train={"steps": 100, "batch_size": 8})
    train(desk, claim, 20, 40, 60)
    ran_out(desk, claim)
    job = desk.job(claim.job_id)
    assert (job.state, job.step) == (State.FAILED, 60)


@pytest.mark.parametrize("registered", [True, False])
def test_another_backbone_starts_at_step_0_and_reports_the_lost_steps(
    desk: Desk, tmp_path: Path, registered: bool
) -> None:
    desk.slots(1000)
    policy = {"plan_ahead": False, "levers": ["backbone"]}
    claim = desk.claimed(model="efficientdet_d1", policy=policy, train={"steps": 100, "batch_size": 4})
    compose(desk, claim)
    train(desk, claim, 20, 40)
    ran_out(desk, claim)
    assert desk.job(claim.job_id).step == 0
    if registered:
        (tmp_path / "checkpoints" / "efficientdet_d0").mkdir(parents=True)
        (tmp_path / "checkpoints" / "efficientdet_d0" / "ckpt-0.index").touch()
    second = again(desk, claim.job_id)
    compose(desk, second)
    assert second.plan.model == "efficientdet_d0"
    assert second.checkpoint == ("efficientdet_d0" if registered else None)
    start = difference(desk, second)["start"]
    origin = "the registered checkpoint efficientdet_d0" if registered else "from scratch"
    assert (start["lever"], start["before"], start["after"]) == ("backbone", "step 40 of efficientdet_d1", origin)
    words = f"starts {'from ' if registered else ''}{origin}: 40 steps of efficientdet_d1 are lost"
    assert start["reason"] == words
    assert words in desk.attempt(second).planned["summary"]
    end(desk, second, Diagnosis.INTERRUPTED)
    third = again(desk, claim.job_id)
    assert third.checkpoint == second.checkpoint, "the same start, should there be no checkpoint yet"
    assert desk.attempt(third).planned["changes"] == [], "which gives nothing up any more"


@pytest.mark.parametrize("lever", ["micro_batch", "image_size"])
def test_a_change_that_keeps_the_variables_keeps_the_progress(desk: Desk, lever: str) -> None:
    desk.slots(1000)
    policy = {"plan_ahead": False, "levers": [lever]}
    claim = desk.claimed(policy=policy, image_size=[512, 512], train={"steps": 100, "batch_size": 4})
    train(desk, claim, 20, 40)
    ran_out(desk, claim)
    job = desk.job(claim.job_id)
    assert (job.state, job.step, job.steps) == (State.QUEUED, 40, 100)
    assert "start" not in [change["field"] for change in desk.attempt(again(desk, claim.job_id)).planned["changes"]]
