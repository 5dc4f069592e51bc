"""Supervisors and trainers that die, stop or hang: the job resumes and never runs twice, or ends with a reason."""

import datetime
import os
import signal

import pytest

from services.attempt_paths import attempt_dir, job_dir
from services.clock import utc_now
from services.domain.jobs.states import State
from services.jobs import actions
from services.scheduling import claim
from services.store.models import Attempt, Job, Lease
from tests.faults.fault_box import FaultBox, MakeBox, wait
from worker import notes, reaper
from worker.process_locks import boot_id, is_alive, start_time


def test_when_a_supervisor_is_killed_its_trainer_ends_and_the_job_resumes(make_box_on_both: MakeBox) -> None:
    box = make_box_on_both()
    job_id, running = box.start_training(steps=5, step_s=0.3, until_step=2)
    os.kill(running.supervisor, signal.SIGKILL)
    box.until_dead(running.trainer)
    [job] = box.until_final(job_id)
    assert (job.state, job.step, job.attempts) == (State.SUCCEEDED, 5, 2)
    first, second = box.attempts(job_id)
    assert (first.diagnosis, first.exit_status) == ("interrupted", None)
    assert (first.saved_step or 0) >= 2
    assert second.diagnosis == "completed"
    box.check()


def test_an_orphaned_trainer_that_ignores_sigterm_is_killed(make_box: MakeBox) -> None:
    box = make_box()
    job_id, running = box.start_deaf_trainer()
    os.kill(running.supervisor, signal.SIGKILL)
    box.until_dead(running.trainer)
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    assert box.attempts(job_id)[0].diagnosis == "unknown_kill"
    box.check()


def complete_unseen(box: FaultBox, *, delete: str | None = None) -> int:
    """The trainer completes while its supervisor is stopped. Then that is killed, so the exit status is never known.

    `delete`: a file of the job to delete before that.
    """
    box.hold("tracing")
    job_id = box.submit()
    box.work()
    running = box.running(job_id)
    os.kill(running.supervisor, signal.SIGSTOP)
    box.go()
    outcome = attempt_dir(box.settings, job_id, 1) / "outcome.json"
    box.until("the outcome", outcome.exists)
    box.until_dead(running.trainer)
    assert box.job(job_id).state == State.RUNNING
    if delete:
        (job_dir(box.settings, job_id) / delete).unlink()
    os.kill(running.supervisor, signal.SIGKILL)
    return job_id


def test_without_an_exit_status_a_complete_result_is_a_success(make_box_on_both: MakeBox) -> None:
    box = make_box_on_both()
    [job] = box.until_final(complete_unseen(box))
    [attempt] = box.attempts(job.id)
    assert (job.state, job.step, attempt.exit_status) == (State.SUCCEEDED, job.steps, None)
    assert attempt.message == "trained to step 3 (exit status unknown; its checkpoint and export are complete)"
    box.check()


@pytest.mark.parametrize(
    ("file", "missing"),
    [
        ("export/saved_model/variables/variables.data-00000-of-00001", "the exported model is incomplete"),
        ("checkpoints/efficientdet_d0/ckpt-3.index", "the checkpoint of step 3 is incomplete"),
    ],
)
def test_without_an_exit_status_an_incomplete_result_is_not_a_success(
    make_box: MakeBox, file: str, missing: str
) -> None:
    box = make_box()
    job_id = complete_unseen(box, delete=file)
    box.until("the second attempt", lambda: box.job(job_id).attempts == 2)
    first = box.attempts(job_id)[0]
    assert (first.exit_status, first.diagnosis) == (None, "unknown_kill")
    assert missing in (first.message or "")
    box.until_final(job_id)


def test_a_job_whose_trainer_is_killed_twice_without_a_new_checkpoint_fails_with_a_reason(make_box: MakeBox) -> None:
    box = make_box()
    box.behave(step_s=60)
    job_id = box.submit()
    box.work()
    for number in (1, 2):
        os.kill(box.running(job_id, number).trainer, signal.SIGKILL)
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.FAILED, 2)
    assert "SIGKILL" in (job.reason or "")
    assert "killed for the second time without a new checkpoint" in (job.reason or "")
    box.check()


@pytest.mark.parametrize("with_supervisor", [False, True], ids=["trainer", "trainer and supervisor"])
def test_a_job_whose_trainer_is_killed_repeatedly_resumes_as_long_as_it_makes_progress(
    make_box_on_both: MakeBox, with_supervisor: bool
) -> None:
    """Also more often than `max_attempts` of the policy: attempts that made progress do not count."""
    box = make_box_on_both()
    box.hold(3)
    job_id = box.submit(train={"steps": 12, "batch_size": 4}, policy={"max_attempts": 2})
    box.work()
    for number in (1, 2, 3):
        running = box.running(job_id, number)
        box.until_step(job_id, 3 * number, number)
        box.hold(3 * (number + 1))  # the last one does not get there
        if with_supervisor:
            box.kill_both(running)
        else:
            os.kill(running.trainer, signal.SIGKILL)
    [job] = box.until_final(job_id)
    assert (job.state, job.step, job.attempts) == (State.SUCCEEDED, 12, 4)
    assert [attempt.diagnosis for attempt in box.attempts(job_id)] == [*["unknown_kill"] * 3, "completed"]
    box.check()


def test_a_container_that_ends_before_the_first_checkpoint_only_requeues_its_job(make_box: MakeBox) -> None:
    """All its processes are killed at once, twice. Nobody saw how the trainer ended, so the job is not to blame."""
    box = make_box()
    box.behave(step_s=60)
    job_id = box.submit(policy={"max_attempts": 1})
    box.work()
    for number in (1, 2):
        running = box.running(job_id, number)
        if number == 2:
            box.behave()
        box.kill_both(running)
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 3)
    box.check()


def test_a_stopped_supervisor_is_not_replaced_and_goes_on_later(make_box: MakeBox) -> None:
    box = make_box(devices="cpu:1000,cpu:1001", lease_s=0.7)
    job_id, running = box.start_training(steps=10, step_s=0.2, until_step=1)
    os.kill(running.supervisor, signal.SIGSTOP)
    box.until("the lease's end", lambda: _has_expired(box))
    wait(1.0)
    assert box.job(job_id).attempts == 1
    os.kill(running.supervisor, signal.SIGCONT)
    box.go()
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 1)
    box.check()


def _has_expired(box: FaultBox) -> bool:
    with box.store.reading() as session:
        return all(lease.expires_at < utc_now() for lease in session.query(Lease))


def test_a_supervisor_that_lost_its_lease_stops_its_trainer_and_changes_nothing(make_box: MakeBox) -> None:
    box = make_box()
    job_id, running = box.start_training(steps=500, step_s=0.2, until_step=1)
    with box.store.transaction() as session:
        session.query(Lease).update({"token": "somebody else's"})
    box.until_dead(running.trainer)
    box.until_dead(running.supervisor)
    # No supervisor has that token, so the reaper finishes the attempt and the job resumes.
    box.until("the second attempt", lambda: box.job(job_id).attempts == 2)
    assert box.attempts(job_id)[0].diagnosis == "interrupted"
    actions.cancel(box.store, box.owner, job_id)
    box.until_final(job_id)
    box.check()


def test_after_a_reboot_no_lease_of_the_host_holds_and_its_jobs_resume(make_box: MakeBox) -> None:
    box = make_box()
    job_id, running = box.start_training(steps=6, step_s=0.2, until_step=2)
    box.rest()
    for pid in (running.supervisor, running.trainer):
        os.kill(pid, signal.SIGKILL)
        box.until_dead(pid)
    with box.store.transaction() as session:
        session.query(Lease).update({"boot_id": "the previous boot"})
    # By now its pids may belong to other processes, which must not be killed: here, this test.
    folder = attempt_dir(box.settings, job_id, 1)
    notes.Running(os.getpid(), start_time(os.getpid()), os.getpid(), start_time(os.getpid())).write(folder)
    box.work()
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 2, 6)
    assert box.attempts(job_id)[0].message == "the host was restarted"
    box.check()


def test_a_claim_without_a_supervisor_is_returned(make_box: MakeBox) -> None:
    """The worker died between the claim and the start."""
    box = make_box()
    job_id = box.submit()
    box.worker.poll()  # reports the devices, and starts the job
    box.until_final(job_id)
    box.rest()
    job_id = box.submit()
    assert claim.claim(box.store, box.settings, boot_id()) is not None
    # Only this claim is too old: the next one's supervisor needs time to start on a busy machine.
    with box.store.transaction() as session:
        session.query(Lease).update({"created_at": utc_now() - datetime.timedelta(seconds=reaper._STARTING_S)})
    box.work()
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    assert "lost before training began" in (box.attempts(job_id)[0].message or "")
    box.check()


def test_a_second_attempt_waits_until_all_processes_of_the_first_have_ended(make_box: MakeBox) -> None:
    """The first lost its lease, and its trainer ignores SIGTERM: only the locks prevent that both run."""
    box = make_box()
    job_id, running = box.start_deaf_trainer()
    with box.store.transaction() as session:
        session.query(Lease).delete()
        session.query(Job).update({"state": State.QUEUED})
        session.query(Attempt).update({"ended_at": utc_now()})
    box.until("the second claim", lambda: box.job(job_id).attempts == 2)
    assert is_alive(running.trainer, running.trainer_started)
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    box.check()
