"""The end of an attempt changes its job once, whether the supervisor or the reaper reports it."""

import json
import math
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from services.attempts import finish, ingest
from services.attempts.finish import AttemptResults, Finished, TrainerEnd
from services.domain.contract import EXIT_CODES, AllocatorStats, BestMetric, Exported, Kept, Outcome, Reason
from services.domain.diagnosis.ending import Diagnosis, Ending
from services.domain.jobs.states import FINAL, State, Stop
from services.jobs import actions, views
from services.scheduling.claim import Claim
from services.store.models import Job
from tests.support.desk import GB, MB, Desk, Events


@pytest.fixture
def running(desk: Desk) -> Claim:
    desk.slots(4000)
    return desk.claimed()


def left(diagnosis: Diagnosis, message: str = "it ended", exit_status: int | None = -9) -> AttemptResults:
    return AttemptResults(exit_status, None, Ending(diagnosis, message, None))


def again(desk: Desk) -> Claim:
    claim = desk.claim()
    assert claim is not None
    return claim


def train(desk: Desk, claim: Claim, *steps: int, peak: int = 100 * MB) -> None:
    events = Events(desk.folder(claim))
    for step in steps:
        events.step(step, peak=peak)
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))


def values(job: Job) -> dict[str, Any]:
    return {column.name: getattr(job, column.name) for column in Job.__table__.columns}


# Each end has one consequence

FOLLOWS = {
    Diagnosis.COMPLETED: (State.SUCCEEDED, State.SUCCEEDED, State.SUCCEEDED),
    Diagnosis.INTERRUPTED: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.TOO_LARGE: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.NEIGHBOUR: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.FRAGMENTATION: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.LEAK: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.SPIKE: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.HOST: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.DISK: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.DEVICE: (State.QUEUED, State.CANCELLED, State.PAUSED),
    Diagnosis.BUG: (State.FAILED, State.CANCELLED, State.FAILED),
    Diagnosis.UNKNOWN_KILL: (State.QUEUED, State.CANCELLED, State.PAUSED),
}


@pytest.mark.parametrize("diagnosis", Diagnosis)
def test_each_diagnosis_leads_to_its_state_with_or_without_a_requested_stop(desk: Desk, diagnosis: Diagnosis) -> None:
    desk.slots(4000)
    for stop, expected in zip((None, Stop.CANCEL, Stop.PAUSE), FOLLOWS[diagnosis], strict=True):
        claim = desk.claimed()
        if stop:
            desk.change(Job, claim.job_id, stop=stop)
        finished = desk.finish(claim, left(diagnosis))
        job, attempt = desk.job(claim.job_id), desk.attempt(claim)
        assert finished is not None
        assert finished.state == job.state == expected
        assert (attempt.diagnosis, attempt.message) == (diagnosis, "it ended")
        assert attempt.ended_at is not None
        assert attempt.followed_by
        assert desk.leases() == []
        assert job.stop is None
        assert (job.finished_at is not None) == (job.state in FINAL)
        assert desk.events(claim.job_id, "state")[-1]["state"] == expected
        assert desk.events(claim.job_id, "ended") == [
            {"diagnosis": diagnosis, "message": "it ended", "followed_by": attempt.followed_by}
        ]
        if expected == State.FAILED:
            assert job.reason == "it ended"
        if job.state not in FINAL:
            actions.cancel(desk.store, desk.owner, claim.job_id)


def test_success_needs_a_status_and_an_outcome_that_agree(desk: Desk) -> None:
    desk.slots(4000)
    done = Outcome(reason=Reason.COMPLETED, message="done", step=10)
    for status, outcome, expected in [
        (0, done, State.SUCCEEDED),
        (None, done, State.QUEUED),
        (-9, done, State.QUEUED),
        (1, done, State.FAILED),
        (0, None, State.FAILED),
    ]:
        claim = desk.claimed()
        desk.finish(claim, desk.left(claim, status, outcome))
        assert desk.job(claim.job_id).state == expected, status
        if expected == State.QUEUED:
            actions.cancel(desk.store, desk.owner, claim.job_id)


def test_a_finished_job_is_at_its_last_step_and_keeps_the_outcome(desk: Desk, running: Claim) -> None:
    desk.end(running, Reason.COMPLETED, step=10, saved_step=10, metrics={"mAP": 0.5}, export="export")
    job, attempt = desk.job(running.job_id), desk.attempt(running)
    assert (job.step, job.steps, job.reason) == (10, 10, None)
    assert (attempt.saved_step, attempt.exit_status, attempt.reason) == (10, 0, "completed")
    assert attempt.outcome is not None
    assert attempt.outcome["metrics"] == {"mAP": 0.5}


def test_a_job_that_stopped_early_is_done_and_says_why_and_what_was_exported(desk: Desk, running: Claim) -> None:
    desk.end(
        running,
        Reason.COMPLETED,
        step=4,
        saved_step=4,
        export="export",
        stopped_early=True,
        exported=Exported(Kept.BEST, 2, BestMetric.MAP, 0.5),
    )
    job = desk.job(running.job_id)
    view = views.job_view(job, "owner", None)
    assert (job.state, job.step, job.steps, job.plan["steps"]) == (State.SUCCEEDED, 4, 4, 10)
    assert view["stopped_early"] == "It was completed."
    assert view["exported_checkpoint"] == {"which": "best", "step": 2, "metric": "mAP", "value": 0.5}


def test_an_attempt_of_an_older_version_has_no_best_checkpoint(desk: Desk, running: Claim) -> None:
    desk.end(running, Reason.COMPLETED, step=10, saved_step=10, export="export")
    view = views.job_view(desk.job(running.job_id), "owner", None)
    assert [view[name] for name in ("best", "stopped_early", "exported_checkpoint")] == [None, None, None]


def test_an_outcome_that_no_database_can_store_does_not_block_the_end(desk: Desk, running: Claim) -> None:
    """NaN metrics are common; other people's code may write the other values."""
    allocator = AllocatorStats(limit=10**30, in_use=10**30, peak=10**30, evaluation_peak=-5)
    said = Outcome(
        reason=Reason.COMPLETED,
        message="fine\0\ud800",
        step=10**30,
        saved_step=2**63,
        allocator=allocator,
        metrics={"nan": math.nan, "in\0f": math.inf},
        host_peak_bytes=10**30,
    )
    train(desk, running, 1)
    desk.finish(running, desk.left(running, 0, said))
    assert desk.job(running.job_id).state == State.SUCCEEDED
    attempt = desk.attempt(running)
    assert attempt.outcome is not None
    assert attempt.outcome["metrics"] == {"nan": None, "inf": None}
    assert attempt.message == "fine?"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\xfe", b"{}", b"[" * 100_000, b'{"reason": "made up"}'])
def test_an_unreadable_outcome_is_ignored(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "outcome.json").write_bytes(text)
    assert finish.read_results(tmp_path, TrainerEnd(0)).outcome is None
    assert finish.read_results(tmp_path, TrainerEnd(0)).ending.diagnosis is Diagnosis.BUG


def test_an_outcome_of_another_version_is_read(tmp_path: Path) -> None:
    said = {"reason": "completed", "message": "done", "of_a_later_version": {"a": 1}}
    (tmp_path / "outcome.json").write_text(json.dumps(said))
    assert finish.read_results(tmp_path, TrainerEnd(0)).ending.diagnosis is Diagnosis.COMPLETED


def test_named_pipes_instead_of_files_do_not_block(tmp_path: Path) -> None:
    for name in ("outcome.json", "train.log", "events.jsonl", "attempt.json"):
        os.mkfifo(tmp_path / name)
    assert finish.read_results(tmp_path, TrainerEnd(1)).ending.diagnosis is Diagnosis.BUG
    assert ingest._read_from(tmp_path / "events.jsonl", 0) == b""


def test_a_long_log_is_read_completely(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_bytes(b"\xff" * 2**20 + b"\nOOM when allocating tensor\n")
    assert finish.read_results(tmp_path, TrainerEnd(1)).ending.diagnosis is Diagnosis.TOO_LARGE
    (tmp_path / "train.log").write_bytes(b"OOM when allocating tensor\n" + b"x\n" * 2**20)
    assert finish.read_results(tmp_path, TrainerEnd(1)).ending.diagnosis is Diagnosis.TOO_LARGE


# Once


def test_a_stale_token_changes_nothing(desk: Desk, running: Claim) -> None:
    before = values(desk.job(running.job_id))
    for token in ("", "another supervisor's"):
        assert finish.record_end(desk.store, running.job_id, 1, token, left(Diagnosis.COMPLETED)) is None
    assert finish.record_end(desk.store, running.job_id, 2, running.token, left(Diagnosis.COMPLETED)) is None
    assert finish.record_end(desk.store, 999, 1, running.token, left(Diagnosis.COMPLETED)) is None
    assert values(desk.job(running.job_id)) == before
    assert desk.attempt(running).ended_at is None
    assert len(desk.leases()) == 1


def test_the_second_end_changes_nothing(desk: Desk, running: Claim) -> None:
    """The reaper and the supervisor, one after the other."""
    assert desk.finish(running, left(Diagnosis.COMPLETED)) is not None
    kept = desk.attempt(running)
    assert desk.finish(running, left(Diagnosis.UNKNOWN_KILL)) is None
    assert desk.job(running.job_id).state == State.SUCCEEDED
    assert desk.attempt(running).diagnosis == kept.diagnosis == "completed"
    assert len(desk.events(running.job_id, "ended")) == 1


def test_simultaneous_ends_count_once(desk: Desk) -> None:
    desk.slots(4000)
    for _ in range(5):
        claim = desk.claimed()
        results: list[Finished | None] = []
        gate = threading.Barrier(4)

        def finish(diagnosis: Diagnosis, claim: Claim, gate: threading.Barrier, results: list[Any]) -> None:
            gate.wait()
            results.append(desk.finish(claim, left(diagnosis)))

        ends = [Diagnosis.COMPLETED, Diagnosis.BUG, Diagnosis.COMPLETED, Diagnosis.BUG]
        threads = [threading.Thread(target=finish, args=[end, claim, gate, results]) for end in ends]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(result is not None for result in results) == 1
        assert len(desk.events(claim.job_id, "ended")) == 1
        won = next(result for result in results if result is not None)
        assert desk.job(claim.job_id).state == won.state


def test_an_earlier_supervisor_cannot_end_the_next_attempt(desk: Desk, running: Claim) -> None:
    desk.finish(running, left(Diagnosis.INTERRUPTED))
    second = again(desk)
    assert desk.finish(running, left(Diagnosis.COMPLETED)) is None
    assert finish.record_end(desk.store, running.job_id, 1, second.token, left(Diagnosis.COMPLETED)) is None
    assert desk.job(running.job_id).state == State.RUNNING
    assert desk.finish(second, left(Diagnosis.COMPLETED)) is not None


# Wishes to stop


@pytest.mark.parametrize("wish", [actions.cancel, actions.pause])
def test_a_job_that_completes_while_it_is_asked_to_stop_has_succeeded(desk: Desk, running: Claim, wish: Any) -> None:
    wish(desk.store, desk.owner, running.job_id)
    desk.end(running, Reason.COMPLETED)
    assert desk.job(running.job_id).state == State.SUCCEEDED


def test_a_job_that_runs_out_while_pausing_is_paused_with_a_smaller_plan(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False})
    actions.pause(desk.store, desk.owner, claim.job_id)
    desk.ran_out(claim, in_use=1000 * MB)
    job = desk.job(claim.job_id)
    assert job.state == State.PAUSED
    assert job.plan["micro_batch"] < 8
    assert job.planned["changes"]
    actions.resume(desk.store, desk.settings, desk.owner, claim.job_id)
    assert again(desk).plan.micro_batch == job.plan["micro_batch"]


def test_a_trainer_that_must_be_killed_can_be_paused_twice(desk: Desk, running: Claim) -> None:
    """We killed it, so this is not the second unknown kill."""
    for _ in range(3):
        actions.pause(desk.store, desk.owner, running.job_id)
        killed = finish.read_results(
            desk.folder(running), TrainerEnd(-9, "paused, and the trainer did not stop by itself")
        )
        desk.finish(running, killed)
        assert desk.job(running.job_id).state == State.PAUSED
        assert "did not stop by itself" in (desk.attempt(running).message or "")
        actions.resume(desk.store, desk.settings, desk.owner, running.job_id)
        running = again(desk)


def test_a_hang_is_retried_once(desk: Desk, running: Claim) -> None:
    for state in (State.QUEUED, State.FAILED):
        desk.finish(running, finish.read_results(desk.folder(running), TrainerEnd(-9, "the trainer reported nothing")))
        job = desk.job(running.job_id)
        assert job.state == state
        if state == State.QUEUED:
            running = again(desk)
    assert job.reason == "the trainer reported nothing (killed for the second time without a new checkpoint in between)"


# How often


def test_a_failure_that_is_retried_once_fails_the_second_time_with_its_reason(desk: Desk, running: Claim) -> None:
    desk.finish(running, left(Diagnosis.UNKNOWN_KILL, "killed"))
    desk.finish(again(desk), left(Diagnosis.UNKNOWN_KILL, "killed"))
    job = desk.job(running.job_id)
    why = "killed (killed for the second time without a new checkpoint in between)"
    assert (job.state, job.attempts, job.reason) == (State.FAILED, 2, why)


def test_a_kill_after_a_new_checkpoint_does_not_count(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed(train={"steps": 1000, "batch_size": 8}, policy={"max_attempts": 2})
    for saved in (115, 417, 600):
        events = Events(desk.folder(claim))
        events.write("checkpoint", step=saved)
        ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
        desk.finish(claim, left(Diagnosis.UNKNOWN_KILL, "killed"))
        assert desk.job(claim.job_id).state == State.QUEUED
        claim = again(desk)
    desk.finish(claim, left(Diagnosis.UNKNOWN_KILL, "killed"))  # before it saved anything new
    claim = again(desk)
    # A checkpoint of an earlier step is not a new one.
    Events(desk.folder(claim)).write("checkpoint", step=600)
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    desk.finish(claim, left(Diagnosis.UNKNOWN_KILL, "killed"))
    assert desk.job(claim.job_id).state == State.FAILED


@pytest.mark.parametrize("diagnosis", [Diagnosis.UNKNOWN_KILL, Diagnosis.HOST, Diagnosis.LEAK, Diagnosis.SPIKE])
def test_there_are_no_more_attempts_than_the_policy_allows(desk: Desk, diagnosis: Diagnosis) -> None:
    desk.slots(4000)
    claim = desk.claimed(policy={"max_attempts": 1})
    desk.finish(claim, left(diagnosis))
    job = desk.job(claim.job_id)
    assert (job.state, job.attempts) == (State.FAILED, 1)
    assert "used all 1 attempts that the policy allows" in (job.reason or "")


def test_attempts_that_run_out_are_counted_in_the_reason(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False, "max_attempts": 2})
    desk.ran_out(claim, in_use=1000 * MB)
    second = again(desk)
    desk.ran_out(second, in_use=1000 * MB)
    job = desk.job(claim.job_id)
    assert (job.state, job.attempts) == (State.FAILED, 2)
    assert "All 2 attempts that the policy allows are used" in (job.reason or "")


def test_interruptions_by_the_host_do_not_count_as_attempts(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed(policy={"max_attempts": 2})
    for step in range(1, 8):
        train(desk, claim, step)
        desk.finish(claim, left(Diagnosis.INTERRUPTED))
        assert desk.job(claim.job_id).state == State.QUEUED
        claim = again(desk)
    desk.finish(claim, left(Diagnosis.DISK))
    assert desk.job(claim.job_id).state == State.QUEUED


def test_a_job_whose_attempts_never_reach_a_step_fails_in_the_end(desk: Desk, running: Claim) -> None:
    """If every attempt is interrupted before its first step, the job must fail with a reason in the end."""
    for _ in range(4):
        desk.finish(running, left(Diagnosis.INTERRUPTED, "the worker was lost before training began"))
        assert desk.job(running.job_id).state == State.QUEUED
        running = again(desk)
    desk.finish(running, left(Diagnosis.INTERRUPTED, "the worker was lost before training began"))
    job = desk.job(running.job_id)
    assert job.state == State.FAILED
    assert job.reason == "the worker was lost before training began (stopped 5 times in a row before the first step)"


def test_a_repeated_plan_does_not_show_earlier_changes_again(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False})
    desk.ran_out(claim, in_use=1000 * MB)
    second = again(desk)
    assert desk.attempt(second).planned["changes"]
    desk.finish(second, left(Diagnosis.INTERRUPTED))
    third = again(desk)
    assert third.plan == second.plan
    assert desk.attempt(third).planned["changes"] == []
    assert desk.attempt(third).planned["summary"] == "the same plan again, from the start"


def test_a_resumed_job_is_at_the_step_of_its_checkpoint(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    train(desk, claim, 7)
    desk.finish(claim, left(Diagnosis.INTERRUPTED))
    assert (desk.job(claim.job_id).step, desk.attempt(claim).step) == (0, 7)
    assert desk.attempt(claim).followed_by == "the same plan again, from the start"

    second = again(desk)
    train(desk, second, 5)
    Events(desk.folder(second)).write("checkpoint", step=5)
    train(desk, second, 8)
    desk.finish(second, left(Diagnosis.INTERRUPTED))
    assert desk.job(claim.job_id).step == 5
    assert desk.attempt(second).followed_by == "the same plan again, from its checkpoint at step 5"

    third = again(desk)
    desk.finish(third, left(Diagnosis.NEIGHBOUR))  # before it had resumed
    assert desk.job(claim.job_id).step == 5
    assert "from its checkpoint at step 5 after 30 s" in (desk.attempt(third).followed_by or "")


# Measurements


def test_an_attempt_that_trained_is_a_measurement(desk: Desk, running: Claim) -> None:
    train(desk, running, 1, 2, peak=700 * MB)
    allocator = AllocatorStats(limit=4000 * MB, in_use=500 * MB, peak=800 * MB, evaluation_peak=900 * MB)
    desk.end(running, Reason.COMPLETED, step=10, allocator=allocator, host_peak_bytes=GB)
    [row] = desk.measurements()
    assert (row.peak_bytes, row.evaluation_peak_bytes, row.host_peak_bytes) == (800 * MB, 900 * MB, GB)
    assert row.complete
    assert (row.model, row.micro_batch, row.accumulation, row.height, row.width) == ("efficientdet_d0", 8, 1, 256, 256)
    assert (row.device_kind, row.precision) == ("cpu", "float32")


@pytest.mark.parametrize(
    ("step", "runs", "is_brief"),
    [(9, 9, True), (10, 10, False), (509, 9, True), (5, 20, False), (9, None, True), (10, None, False)],
)
def test_a_measurement_of_few_steps_is_brief(
    desk: Desk, running: Claim, step: int, runs: int | None, is_brief: bool
) -> None:
    """Counts the micro-batches of this attempt only, not those before the checkpoint."""
    train(desk, running, 1, peak=700 * MB)
    desk.end(running, Reason.STOPPED, step=step, runs=runs, allocator=AllocatorStats(peak=800 * MB))
    assert [row.brief for row in desk.measurements()] == [is_brief]


def test_without_an_outcome_the_ingested_steps_decide_whether_it_is_brief(desk: Desk, running: Claim) -> None:
    train(desk, running, 1, 2, peak=700 * MB)
    desk.finish(running, desk.left(running, -9))
    assert [row.brief for row in desk.measurements()] == [True]


def test_an_attempt_that_ran_out_is_a_lower_bound_above_its_limit(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False})
    desk.ran_out(claim, in_use=900 * MB, requested=300 * MB)
    [row] = desk.measurements()
    assert (row.peak_bytes, row.evaluation_peak_bytes, row.complete) == (1200 * MB, None, False)
    assert not row.brief, "a bound is one however early it was met"


def test_without_an_outcome_an_attempt_that_ran_out_needed_more_than_its_limit(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False})
    desk.finish(claim, desk.left(claim, -6, log="OOM when allocating tensor"))
    [row] = desk.measurements()
    assert row.peak_bytes == 1000 * MB + 1


def test_an_attempt_that_ran_out_evaluating_keeps_the_peak_of_training(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False})
    train(desk, claim, 1, 2, peak=600 * MB)
    Events(desk.folder(claim)).write("phase", phase="evaluating", step=2)
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    allocator = AllocatorStats(limit=1000 * MB, in_use=900 * MB, peak=600 * MB, requested=200 * MB)
    desk.end(claim, Reason.DEVICE_MEMORY, allocator=allocator, step=2)
    [row] = desk.measurements()
    assert (row.peak_bytes, row.evaluation_peak_bytes, row.complete) == (600 * MB, 1100 * MB, False)


def test_an_attempt_that_ran_out_training_has_no_evaluation_peak(desk: Desk) -> None:
    desk.slots(1000)
    claim = desk.claimed(policy={"plan_ahead": False})
    train(desk, claim, 1, 2, peak=600 * MB)
    allocator = AllocatorStats(limit=1000 * MB, in_use=950 * MB, peak=950 * MB, evaluation_peak=700 * MB, requested=MB)
    desk.end(claim, Reason.DEVICE_MEMORY, allocator=allocator, step=2)
    [row] = desk.measurements()
    assert (row.peak_bytes, row.evaluation_peak_bytes, row.complete) == (1000 * MB + 1, None, False)


def test_an_attempt_without_a_step_is_not_a_measurement(desk: Desk, running: Claim) -> None:
    """It resumed at step 500 and was stopped while tracing, so its peak is not that of training."""
    Events(desk.folder(running)).write("phase", phase="training", step=500, resumed=True)
    ingest.ingest(desk.store, running.job_id, running.attempt, running.token, desk.folder(running))
    desk.end(running, Reason.STOPPED, step=500, allocator=AllocatorStats(in_use=MB, peak=50 * MB))
    assert desk.measurements() == []


def test_results_are_read_from_the_trainers_files(desk: Desk, running: Claim) -> None:
    said = Outcome(reason=Reason.BAD_DATASET, message="record 7 is damaged", step=3)
    found = desk.left(running, EXIT_CODES[Reason.BAD_DATASET], said)
    assert (found.outcome, found.ending.message, found.killed) == (said, "record 7 is damaged", False)
    desk.finish(running, found)
    assert desk.job(running.job_id).reason == "record 7 is damaged"


def test_a_new_plan_is_an_event_with_every_change_and_its_reason(desk: Desk, running: Claim) -> None:
    desk.ran_out(running, 3 * GB)
    job = desk.job(running.job_id)
    [event] = desk.events(running.job_id, "replanned")
    assert event["plan"] == job.plan != job.asked
    assert event["changes"] == job.planned["changes"]
    assert all(change["reason"] for change in event["changes"])
    desk.finish(again(desk), left(Diagnosis.INTERRUPTED))
    assert len(desk.events(running.job_id, "replanned")) == 1  # the same plan again is no event
