"""Which job starts where, on both databases; and several processes at once."""

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from services.domain.contract import Reason
from services.domain.diagnosis.ending import Diagnosis
from services.domain.jobs.states import State
from services.domain.memory.gpu_limit import overhead_bytes
from services.domain.memory.law import MemoryLaw, Prediction
from services.domain.plan.plan import Plan
from services.domain.precision import Precision
from services.errors import Invalid
from services.jobs import queries, submit
from services.planning.plan_json import plan_of_job
from services.scheduling.claim import Claim
from services.store.models import Device, Event, Job, Lease, Measurement
from services.users import directory
from tests.support.desk import GB, MB, Desk, ago, gpu, slot
from tests.support.waiting import waits_for

ROOT = Path(__file__).parents[3]
OVERHEAD = overhead_bytes(None)  # what TensorFlow's allocator never gets of a GPU's free memory


PLAN = Plan("efficientdet_d0", 8, 8, Precision.FLOAT32, (256, 256), 10, 0.01)  # of the usual request


def law_says() -> Prediction:
    """What the usual request is predicted to need, by the catalogue alone."""
    return MemoryLaw().predict(PLAN)


def predicted() -> int:
    return law_says().high


def predicted_on_gpu() -> int:
    return MemoryLaw(on_gpu=True).predict(PLAN).high


def claim_all(desk: Desk) -> list[Claim]:
    found = []
    while (claim := desk.claim()) is not None:
        found.append(claim)
    return found


def measure(desk: Desk, claim_or_job: int, plan: dict[str, Any], peak: int, complete: bool, kind: str = "cpu") -> None:
    with desk.store.transaction() as session:
        session.add(
            Measurement(
                job_id=claim_or_job,
                attempt=1,
                model=plan["model"],
                precision=plan["precision"],
                micro_batch=plan["micro_batch"],
                accumulation=plan["batch_size"] // plan["micro_batch"],
                height=plan["image_size"][0],
                width=plan["image_size"][1],
                proposals=plan["proposals"],
                second_stage_batch=plan["second_stage_batch"],
                device_kind=kind,
                software="test",
                peak_bytes=peak,
                complete=complete,
                created_at=ago(0),
            )
        )


# Order


def test_priority_goes_first_then_who_came_first(desk: Desk) -> None:
    desk.slots(4000)
    jobs = [desk.submit(priority=priority) for priority in (0, 5, -5, 5, 0)]
    order = []
    while (claim := desk.claim()) is not None:
        order.append(claim.job_id)
        desk.end(claim, Reason.COMPLETED)
    assert order == [jobs[1], jobs[3], jobs[0], jobs[4], jobs[2]]


def test_a_job_is_not_claimed_before_its_time(desk: Desk) -> None:
    desk.slots(4000)
    early, late = desk.submit(), desk.submit(priority=-1)
    desk.change(Job, early, not_before=ago(-60))
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == late
    desk.end(claim, Reason.COMPLETED)
    assert desk.claim() is None
    desk.change(Job, early, not_before=ago(1))
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == early
    assert desk.job(early).not_before is None


@pytest.mark.parametrize("state", [state for state in State if state is not State.QUEUED])
def test_only_what_is_queued_is_claimed(desk: Desk, state: State) -> None:
    desk.slots(4000)
    desk.change(Job, desk.submit(), state=state)
    assert desk.claim() is None


def test_a_small_job_need_not_wait_behind_one_that_waits_for_a_large_device(desk: Desk) -> None:
    desk.slots(4000, 16000)
    first = desk.submit(device={"min_memory_mb": 16000})
    waiting = [desk.submit(device={"min_memory_mb": 16000}, priority=9) for _ in range(2)]
    small = desk.submit()
    assert [claim.job_id for claim in claim_all(desk)] == [waiting[0], small]
    assert desk.job(first).state == State.QUEUED


def test_however_many_wait_the_one_that_can_start_does(desk: Desk) -> None:
    desk.slots(4000, 16000)
    desk.submit(device={"min_memory_mb": 16000})
    assert desk.claim() is not None
    with desk.store.transaction() as session:
        template = session.query(Job).first()
        values = {column.name: getattr(template, column.name) for column in Job.__table__.columns}
        for _ in range(250):
            session.add(Job(**{**values, "id": None, "state": "queued", "priority": 9, "attempts": 0}))
    small = desk.submit()
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == small


# What a claim is


def test_a_claim_is_a_job_that_runs_an_attempt_and_a_lease(desk: Desk) -> None:
    desk.slots(4000)
    job_id = desk.submit()
    claim = desk.claim()
    assert claim is not None
    job, attempt, [lease] = desk.job(job_id), desk.attempt(claim), desk.leases()
    assert (job.state, job.attempts, job.version) == (State.RUNNING, 1, 2)
    assert (lease.job_id, lease.device_id, lease.token, lease.boot_id) == (job_id, "box/cpu-0", claim.token, "boot")
    assert (lease.expires_at - lease.created_at).total_seconds() == desk.settings.lease_s
    assert (attempt.number, attempt.token, attempt.limit_bytes) == (1, claim.token, 4000 * MB)
    assert attempt.plan == job.plan == claim.plan.to_dict()
    assert desk.claim() is None


def test_an_attempt_tells_what_would_follow_should_it_run_out_and_that_follows(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False})
    rungs = desk.attempt(claim).planned["ladder"]
    needs = [rung["predicted"]["high_bytes"] for rung in rungs]
    assert 1 < len(rungs) <= 5
    assert needs == sorted(needs, reverse=True)
    assert needs[0] < predicted()
    assert all("; cost: " in rung["summary"] for rung in rungs)
    fitting = next(rung for rung in rungs if rung["fits"]["box/cpu-0"])
    desk.ran_out(claim, in_use=1000 * MB)
    assert desk.job(claim.job_id).plan == fitting["plan"]
    again = desk.claim()
    assert again is not None
    assert desk.attempt(again).planned["ladder"][0]["plan"]["micro_batch"] < again.plan.micro_batch


def test_a_leased_device_is_nobody_elses(desk: Desk) -> None:
    desk.slots(4000, 4000)
    for _ in range(3):
        desk.submit()
    claims = claim_all(desk)
    assert sorted(claim.device_key for claim in claims) == ["cpu-0", "cpu-1"]
    desk.end(claims[0], Reason.COMPLETED)
    [third] = claim_all(desk)
    assert third.device_key == claims[0].device_key


def test_each_host_claims_for_its_own_devices(desk: Desk) -> None:
    desk.slots(4000, host="elsewhere")
    desk.submit()
    assert desk.claim() is None
    claim = desk.claim(host="elsewhere")
    assert claim is not None
    assert claim.device_id == "elsewhere/cpu-0"


# Which device


def test_the_smallest_device_that_holds_a_job_is_taken(desk: Desk) -> None:
    desk.slots(16000, 100, 4000, 8000)
    desk.submit()
    claim = desk.claim()
    assert claim is not None
    assert claim.device_key == "cpu-2"


def test_starting_as_asked_takes_the_largest(desk: Desk) -> None:
    desk.slots(4000, 16000, 100)
    claim = desk.claimed(policy={"plan_ahead": False})
    assert claim.device_key == "cpu-1"


def test_starting_as_asked_does_not_care_about_predictions(desk: Desk) -> None:
    desk.slots(100)
    claim = desk.claimed(policy={"plan_ahead": False})
    assert claim.plan == plan_of_job(desk.job(claim.job_id).asked)


def test_a_device_with_a_problem_or_a_silent_host_is_not_used(desk: Desk) -> None:
    desk.report(slot(0, 4000, problem="on fire"), slot(1, 4000))
    job_id = desk.submit()
    desk.change(Device, "box/cpu-1", seen_at=ago(60))
    assert desk.claim() is None
    assert desk.job(job_id).state == State.QUEUED
    desk.change(Device, "box/cpu-1", seen_at=ago(0))
    claim = desk.claim()
    assert claim is not None
    assert claim.device_key == "cpu-1"


def test_a_gpu_that_a_neighbour_has_filled_is_passed_over(desk: Desk) -> None:
    need = predicted_on_gpu() + OVERHEAD
    desk.report(gpu(0, 8 * GB, need - MB, others=8 * GB - need + MB), gpu(1, 24 * GB, 24 * GB))
    job_id = desk.submit()
    claim = desk.claim()
    assert claim is not None
    assert claim.device_key == "gpu-1"
    desk.end(claim, Reason.STOPPED)
    desk.report(gpu(0, 8 * GB, need - MB, others=8 * GB - need + MB), gpu(1, 24 * GB, GB, others=23 * GB))
    assert desk.claim() is None
    assert "Waits for a device with enough free memory" in waits_for(desk.job(job_id))
    desk.report(gpu(0, 8 * GB, need, others=8 * GB - need), gpu(1, 24 * GB, GB, others=23 * GB))
    claim = desk.claim()
    assert claim is not None
    assert claim.device_key == "gpu-0"
    assert waits_for(desk.job(job_id)) == ""


def test_what_an_attempt_can_have_of_a_gpu_is_what_a_neighbour_left_of_it(desk: Desk) -> None:
    """Running out at that limit is no proof that the plan needs the whole device: nothing is measured by it."""
    desk.report(gpu(0, 24 * GB, 10 * GB, others=14 * GB))
    claim = desk.claimed(policy={"plan_ahead": False})
    assert desk.attempt(claim).limit_bytes == 10 * GB - OVERHEAD
    desk.ran_out(claim, in_use=9 * GB)
    assert desk.attempt(claim).diagnosis == Diagnosis.NEIGHBOUR
    assert not desk.measurements()
    assert desk.job(claim.job_id).state == State.QUEUED


def test_the_size_that_a_job_asks_for_is_the_one_on_the_box(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 24 * GB))
    assert desk.claimed(device={"min_memory_mb": 24 * 1024}).device_key == "gpu-0"


def test_a_job_that_asks_for_more_memory_than_there_is_waits_and_says_so(desk: Desk) -> None:
    desk.slots(4000)
    job_id = desk.submit(device={"min_memory_mb": 5000, "wait": True})
    assert desk.claim() is None
    assert desk.job(job_id).state == State.QUEUED
    assert waits_for(desk.job(job_id)) == "Waits for a device with at least 5000 MB of memory"
    desk.slots(4000, 5000)
    claim = desk.claim()
    assert claim is not None
    assert claim.device_key == "cpu-1"


def test_a_device_that_was_just_given_back_is_used_once_its_host_has_seen_it_free(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 24 * GB))
    desk.end(desk.claimed(), Reason.COMPLETED)
    job_id = desk.submit()
    assert desk.claim() is None
    desk.report(gpu(0, 24 * GB, 24 * GB))
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == job_id


# Jobs that fit nothing any more


def test_a_job_that_fits_no_device_any_more_is_planned_anew(desk: Desk) -> None:
    desk.slots(64_000)
    job_id = desk.submit(train={"steps": 10, "batch_size": 64})
    assert desk.job(job_id).plan["micro_batch"] == 64
    desk.slots(predicted() // MB + 1)
    claim = desk.claim()
    assert claim is not None
    assert claim.plan.micro_batch < 64
    assert claim.plan.batch_size == 64
    assert desk.job(job_id).planned["changes"][0]["field"] == "micro_batch"
    assert desk.events(job_id, "planned")


def test_a_job_that_cannot_be_made_to_fit_fails_and_names_its_floors(desk: Desk) -> None:
    desk.slots(64_000)
    policy = {"levers": ["image_size"], "min_image_size": 256}
    job_id = desk.submit(train={"steps": 10, "batch_size": 64}, policy=policy)
    desk.slots(500)
    assert desk.claim() is None
    job = desk.job(job_id)
    assert (job.state, job.attempts) == (State.FAILED, 0)
    assert job.finished_at is not None
    assert "256" in (job.reason or "")
    assert desk.events(job_id, "state")[-1]["state"] == "failed"


LARGE: dict[str, Any] = {"train": {"steps": 10, "batch_size": 64}}


def test_a_job_does_not_fail_because_the_host_it_is_meant_for_restarts(desk: Desk) -> None:
    desk.slots(64_000, host="large")
    desk.slots(500)
    job_id = desk.submit(**LARGE, policy={"levers": ["image_size"]})
    desk.change(Device, "large/cpu-0", seen_at=ago(120))
    assert desk.claim() is None
    assert desk.job(job_id).state == State.QUEUED
    assert "Waits for large/cpu-0" in waits_for(desk.job(job_id))
    desk.slots(64_000, host="large")
    assert desk.claim(host="large") is not None


def test_who_prefers_to_wait_is_not_shrunk_while_a_host_is_away_and_who_prefers_to_shrink_is(desk: Desk) -> None:
    desk.slots(64_000, host="large")
    desk.slots(4000)
    waits = desk.submit(**LARGE, policy={"prefer": "wait"})
    shrinks = desk.submit(**LARGE)
    desk.change(Device, "large/cpu-0", seen_at=ago(120))
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == shrinks
    assert desk.job(waits).plan == desk.job(waits).asked


def test_a_host_that_has_been_away_for_days_is_not_waited_for(desk: Desk) -> None:
    desk.slots(64_000, host="large")
    desk.slots(500)
    job_id = desk.submit(**LARGE, policy={"levers": ["image_size"]})
    desk.change(Device, "large/cpu-0", seen_at=ago(3 * 24 * 3600))
    assert desk.claim() is None
    assert desk.job(job_id).state == State.FAILED


# Plans that are known not to fit


def test_a_plan_that_is_known_to_run_out_gets_no_attempt(desk: Desk) -> None:
    """Another job has tried the very same at its floors. Nobody tries it again."""
    desk.slots(predicted() // MB + 1)
    policy: dict[str, Any] = {"levers": []}
    job_id = desk.submit(policy=policy)
    assert desk.job(job_id).state == State.QUEUED
    measure(desk, job_id, desk.job(job_id).plan, peak=10 * GB, complete=False)
    assert desk.claim() is None
    assert desk.job(job_id).state == State.FAILED
    assert "the policy allows no changes" in (desk.job(job_id).reason or "")
    with pytest.raises(Invalid, match="no device can hold this job"):
        desk.submit(policy=policy)


@pytest.mark.parametrize("said", [0, 50 * MB, None])
def test_one_failure_is_enough_for_every_job_with_the_same_plan(desk: Desk, said: int | None) -> None:
    """Even where the allocator had fragments left, or the trainer could not say: it needed more than there was."""
    there = law_says().bytes * 95 // 100 // MB  # may do, by the catalogue
    desk.slots(there)
    policy: dict[str, Any] = {"levers": []}
    tried = desk.claimed(policy=policy)
    if said is None:
        desk.finish(tried, desk.left(tried, -6, log="OOM when allocating tensor"))
    else:
        desk.ran_out(tried, in_use=there * MB - said, requested=0)
    assert desk.job(tried.job_id).state == State.FAILED
    with pytest.raises(Invalid, match="no device can hold this job"):
        desk.submit(policy=policy)
    waiting = desk.submit(policy={**policy, "plan_ahead": False})
    desk.change(Job, waiting, attempts=1)  # was tried before, so it no longer starts as asked
    assert desk.claim() is None
    assert desk.job(waiting).state == State.FAILED


def test_what_was_measured_on_a_cpu_says_nothing_about_a_gpu(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 24 * GB))
    job_id = desk.submit(policy={"levers": []})
    measure(desk, job_id, desk.job(job_id).plan, peak=100 * GB, complete=False, kind="cpu")
    assert desk.claim() is not None


# Several processes at once

CLAIM = """
import json, sys, time
from services.attempts import finish
from services.attempts.finish import AttemptResults
from services.domain.contract import Outcome, Reason
from services.domain.diagnosis.ending import Diagnosis, Ending
from services.scheduling import claim as scheduling
from services.settings import Settings
from services.store.engine import Store

settings = Settings.from_environment(json.loads(sys.argv[1]))
store = Store.open(settings.database_url)
done = AttemptResults(0, None, Ending(Diagnosis.COMPLETED, "done", Reason.COMPLETED))
print("ready", flush=True)
sys.stdin.readline()
idle = 0
while idle < 20:
    claim = scheduling.claim(store, settings, "boot")
    if claim is None:
        idle += 1
        time.sleep(0.01)
        continue
    idle = 0
    began = time.monotonic()
    time.sleep(0.003)
    ended = time.monotonic()
    assert finish.record_end(store, claim.job_id, claim.attempt, claim.token, done) is not None
    print(json.dumps([claim.job_id, claim.attempt, claim.device_key, began, ended]), flush=True)
"""


@pytest.mark.lengthy
def test_several_processes_claim_every_job_once_and_no_device_twice(desk: Desk) -> None:
    desk.slots(4000, 4000)
    jobs = [desk.submit(priority=number % 3) for number in range(30)]
    environment = json.dumps(desk.settings.to_environment())
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, environment],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    told = [worker.communicate("go\n", timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], [error for _, error in told]
    lives = [json.loads(line) for out, _ in told for line in out.splitlines()]
    assert sorted(life[:2] for life in lives) == [[job_id, 1] for job_id in sorted(jobs)]
    assert not overlapping(lives)
    assert all(desk.job(job_id).state == State.SUCCEEDED for job_id in jobs)
    assert desk.rows(Lease) == []
    claimed = [event for event in desk.rows(Event) if event.kind == "state" and event.data["state"] == "running"]
    assert len(claimed) == len(jobs)


def overlapping(lives: Sequence[Sequence[Any]]) -> bool:
    ordered = sorted(lives, key=lambda life: life[3])
    return any(
        one[2] == other[2] and other[3] < one[4]
        for number, one in enumerate(ordered)
        for other in ordered[number + 1 :]
    )


def test_a_look_at_a_long_queue_takes_no_time(desk: Desk) -> None:
    desk.slots(4000)
    assert desk.claimed() is not None
    with desk.store.transaction() as session:
        template = session.query(Job).first()
        values = {column.name: getattr(template, column.name) for column in Job.__table__.columns}
        for _ in range(500):
            session.add(Job(**{**values, "id": None, "state": "queued", "min_memory_bytes": 10**12}))
    desk.slots(4000, 5000)
    began = time.monotonic()
    assert desk.claim() is None
    assert time.monotonic() - began < 2.0


def test_jobs_of_a_disabled_account_wait_and_say_so(desk: Desk) -> None:
    desk.slots(4000, 4000)
    running = desk.claimed()
    held = desk.submit()
    other = desk.user("other")
    theirs = submit.submit(desk.store, desk.settings, other, desk.request(priority=-1)).job_id
    directory.change(desk.store, desk.admin, "owner", {"disabled": True})
    [claim] = claim_all(desk)
    assert claim.job_id == theirs
    assert desk.job(running.job_id).state == State.RUNNING
    desk.end(claim, Reason.COMPLETED)
    assert desk.claim() is None
    waits = "The account of owner is disabled"
    assert queries.show_job(desk.store, desk.settings, desk.admin, held)["reason"] == waits
    [shown] = queries.list_queue(desk.store, desk.settings, desk.admin, 10)["items"]
    assert (shown["id"], shown["reason"]) == (held, waits)
    directory.change(desk.store, desk.admin, "owner", {"disabled": False})
    assert [claim.job_id for claim in claim_all(desk)] == [held]


@pytest.mark.parametrize("is_private", [False, True])
def test_where_jobs_are_private_a_reason_names_none_of_another_user(desk: Desk, is_private: bool) -> None:
    desk.settings = dataclasses.replace(desk.settings, private_jobs=is_private)
    desk.slots(1000, 64_000)
    other = desk.user("other")
    large = desk.request(device={"min_memory_mb": 64_000})
    theirs = submit.submit(desk.store, desk.settings, other, large).job_id
    assert desk.claim() is not None
    waiting = [desk.submit(device={"min_memory_mb": 64_000})]
    waiting.append(submit.submit(desk.store, desk.settings, other, large).job_id)
    assert desk.claim() is None
    named = f"Waits for slot 1 (box/cpu-1, 64,000 MB), busy with job {theirs}"
    hidden = "Waits for slot 1 (box/cpu-1, 64,000 MB), busy with another user's job"
    assert [waits_for(desk.job(job_id)) for job_id in waiting] == [hidden if is_private else named, named]


@pytest.mark.parametrize("column", ["policy", "adjustments"])  # read when it is placed, and when it is leased
def test_a_job_of_a_newer_version_does_not_keep_others_from_starting(desk: Desk, column: str) -> None:
    desk.slots(4000)
    newer, other = desk.submit(), desk.submit(priority=-5)
    desk.change(Job, newer, **{column: {"of_a_later_version": 1}})
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == other
    job = desk.job(newer)
    assert (job.state, job.attempts) == (State.QUEUED, 0)
    assert desk.attempts(newer) == []
