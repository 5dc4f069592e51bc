"""Supervisors and trainers that die, stop or hang: training goes on once, or ends with a reason."""

import datetime
import os
import signal
from collections.abc import Callable

import pytest

from services.attempt_paths import attempt_dir, job_dir
from services.clock import utc_now
from services.domain.jobs.states import State
from services.jobs import actions
from services.scheduling import claim
from services.store.models import Attempt, Job, Lease
from tests.faults.house import House, wait
from worker import notes, reaper
from worker.process_locks import boot_id, is_alive, start_time

MakeHouse = Callable[..., House]


def test_a_supervisor_that_is_killed_ends_its_trainer_and_the_job_resumes(make_house_on_both: MakeHouse) -> None:
    house = make_house_on_both()
    house.behave(step_s=0.3)
    job_id = house.submit(train={"steps": 5, "batch_size": 4})
    house.work()
    running = house.running(job_id)
    house.until_step(job_id, 2)
    os.kill(running.supervisor, signal.SIGKILL)
    house.until_dead(running.trainer)
    [job] = house.until_final(job_id)
    assert (job.state, job.step, job.attempts) == (State.SUCCEEDED, 5, 2)
    first, second = house.attempts(job_id)
    assert (first.diagnosis, first.exit_status) == ("interrupted", None)
    assert (first.saved_step or 0) >= 2
    assert second.diagnosis == "completed"
    house.check()


def test_a_deaf_trainer_without_its_supervisor_is_killed(make_house: MakeHouse) -> None:
    house = make_house()
    house.behave(die="deaf", die_at_step=1)
    job_id = house.submit()
    house.work()
    running = house.running(job_id)
    house.until_step(job_id, 1)
    house.behave()
    os.kill(running.supervisor, signal.SIGKILL)
    house.until_dead(running.trainer)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    assert house.attempts(job_id)[0].diagnosis == "unknown_kill"
    house.check()


def complete_unseen(house: House, *, spoil: str | None = None) -> int:
    """The trainer completes while its supervisor is stopped, which is then killed: nobody sees the exit status.
    `spoil`: a file of the job that is taken away meanwhile."""
    house.behave(phases_s={"tracing": 1.5})
    job_id = house.submit()
    house.work()
    running = house.running(job_id)
    os.kill(running.supervisor, signal.SIGSTOP)
    outcome = attempt_dir(house.settings, job_id, 1) / "outcome.json"
    house.until("the outcome", outcome.exists)
    house.until_dead(running.trainer)
    assert house.job(job_id).state == State.RUNNING
    if spoil:
        (job_dir(house.settings, job_id) / spoil).unlink()
    os.kill(running.supervisor, signal.SIGKILL)
    return job_id


def test_a_success_that_nobody_saw_is_one_where_all_that_it_leaves_is_there(make_house_on_both: MakeHouse) -> None:
    house = make_house_on_both()
    [job] = house.until_final(complete_unseen(house))
    [attempt] = house.attempts(job.id)
    assert (job.state, job.step, attempt.exit_status) == (State.SUCCEEDED, job.steps, None)
    assert attempt.message == "trained to step 3 (exit status unknown; its checkpoint and export are complete)"
    house.check()


@pytest.mark.parametrize(
    ("file", "missing"),
    [
        ("export/saved_model/variables/variables.data-00000-of-00001", "the exported model is incomplete"),
        ("checkpoints/efficientdet_d0/ckpt-3.index", "the checkpoint of step 3 is incomplete"),
    ],
)
def test_a_success_that_nobody_saw_is_none_where_something_is_missing(
    make_house: MakeHouse, file: str, missing: str
) -> None:
    house = make_house()
    job_id = complete_unseen(house, spoil=file)
    house.until("the second attempt", lambda: house.job(job_id).attempts == 2)
    first = house.attempts(job_id)[0]
    assert (first.exit_status, first.diagnosis) == (None, "unknown_kill")
    assert missing in (first.message or "")
    house.until_final(job_id)


def test_a_trainer_that_is_killed_twice_without_a_new_checkpoint_fails_with_a_reason(make_house: MakeHouse) -> None:
    house = make_house()
    house.behave(step_s=60)
    job_id = house.submit()
    house.work()
    for number in (1, 2):
        os.kill(house.running(job_id, number).trainer, signal.SIGKILL)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.FAILED, 2)
    assert "SIGKILL" in (job.reason or "")
    assert "killed for the second time without a new checkpoint" in (job.reason or "")
    house.check()


@pytest.mark.parametrize("with_supervisor", [False, True], ids=["trainer", "trainer and supervisor"])
def test_a_trainer_that_is_killed_again_and_again_goes_on_as_long_as_it_gets_on(
    make_house_on_both: MakeHouse, with_supervisor: bool
) -> None:
    """More often than the policy allows attempts, too: what gets on is not what the policy is there to end."""
    house = make_house_on_both()
    house.behave(step_s=0.2)
    job_id = house.submit(train={"steps": 12, "batch_size": 4}, policy={"max_attempts": 2})
    house.work()
    for number in (1, 2, 3):
        running = house.running(job_id, number)
        house.until_step(job_id, 3 * number, number)
        if with_supervisor:
            os.kill(running.supervisor, signal.SIGSTOP)  # so that it does not see the end of the other
        os.kill(running.trainer, signal.SIGKILL)
        if with_supervisor:
            os.kill(running.supervisor, signal.SIGKILL)
    [job] = house.until_final(job_id)
    assert (job.state, job.step, job.attempts) == (State.SUCCEEDED, 12, 4)
    assert [attempt.diagnosis for attempt in house.attempts(job_id)] == [*["unknown_kill"] * 3, "completed"]
    house.check()


def test_a_container_that_ends_before_a_first_checkpoint_only_requeues(make_house: MakeHouse) -> None:
    """All its processes at once, twice: nobody saw what became of the trainer, which is no word about the job."""
    house = make_house()
    house.behave(step_s=60)
    job_id = house.submit(policy={"max_attempts": 1})
    house.work()
    for number in (1, 2):
        running = house.running(job_id, number)
        if number == 2:
            house.behave()
        os.kill(running.supervisor, signal.SIGSTOP)
        os.kill(running.trainer, signal.SIGKILL)
        os.kill(running.supervisor, signal.SIGKILL)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 3)
    house.check()


def test_a_supervisor_that_is_stopped_is_not_replaced_and_goes_on(make_house: MakeHouse) -> None:
    house = make_house(devices="cpu:1000,cpu:1001", lease_s=0.7)
    house.behave(step_s=0.2)
    job_id = house.submit(train={"steps": 10, "batch_size": 4})
    house.work()
    running = house.running(job_id)
    house.until_step(job_id, 1)
    os.kill(running.supervisor, signal.SIGSTOP)
    house.until("the lease's end", lambda: _has_expired(house))
    wait(1.0)
    assert house.job(job_id).attempts == 1
    os.kill(running.supervisor, signal.SIGCONT)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 1)
    house.check()


def _has_expired(house: House) -> bool:
    with house.store.reading() as session:
        return all(lease.expires_at < utc_now() for lease in session.query(Lease))


def test_a_supervisor_whose_lease_is_gone_ends_its_trainer_and_touches_nothing(make_house: MakeHouse) -> None:
    house = make_house()
    house.behave(step_s=0.2)
    job_id = house.submit(train={"steps": 500, "batch_size": 4})
    house.work()
    running = house.running(job_id)
    house.until_step(job_id, 1)
    with house.store.transaction() as session:
        session.query(Lease).update({"token": "somebody else's"})
    house.until_dead(running.trainer)
    house.until_dead(running.supervisor)
    # Nobody holds that token: the reaper finds it without a supervisor, and the job resumes.
    house.until("the second attempt", lambda: house.job(job_id).attempts == 2)
    assert house.attempts(job_id)[0].diagnosis == "interrupted"
    actions.cancel(house.store, house.owner, job_id)
    house.until_final(job_id)
    house.check()


def test_after_a_reboot_every_lease_of_the_host_is_dead_and_jobs_resume(make_house: MakeHouse) -> None:
    house = make_house()
    house.behave(step_s=0.2)
    job_id = house.submit(train={"steps": 6, "batch_size": 4})
    house.work()
    running = house.running(job_id)
    house.until_step(job_id, 2)
    house.rest()
    for pid in (running.supervisor, running.trainer):
        os.kill(pid, signal.SIGKILL)
        house.until_dead(pid)
    with house.store.transaction() as session:
        session.query(Lease).update({"boot_id": "the boot before"})
    # Its numbers may be anybody's by now, who must not be signalled: here, this very process.
    folder = attempt_dir(house.settings, job_id, 1)
    notes.Running(os.getpid(), start_time(os.getpid()), os.getpid(), start_time(os.getpid())).write(folder)
    house.work()
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 2, 6)
    assert house.attempts(job_id)[0].message == "the host was restarted"
    house.check()


def test_a_claim_without_a_supervisor_is_taken_back(make_house: MakeHouse) -> None:
    """The worker died between the claim and the start."""
    house = make_house()
    job_id = house.submit()
    house.worker.poll()  # reports the devices, and starts the job
    house.until_final(job_id)
    house.rest()
    job_id = house.submit()
    assert claim.claim(house.store, house.settings, boot_id()) is not None
    # This one alone is too old: the next needs time for its supervisor to start, and a busy machine takes it.
    with house.store.transaction() as session:
        session.query(Lease).update({"created_at": utc_now() - datetime.timedelta(seconds=reaper._STARTING_S)})
    house.work()
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    assert "lost before training began" in (house.attempts(job_id)[0].message or "")
    house.check()


def test_a_second_attempt_waits_until_the_first_is_really_gone(make_house: MakeHouse) -> None:
    """Its lease was given away behind its back, and its trainer is deaf: the locks alone keep the two apart."""
    house = make_house()
    house.behave(die="deaf", die_at_step=1)
    job_id = house.submit()
    house.work()
    running = house.running(job_id)
    house.until_step(job_id, 1)
    house.behave()
    with house.store.transaction() as session:
        session.query(Lease).delete()
        session.query(Job).update({"state": State.QUEUED})
        session.query(Attempt).update({"ended_at": utc_now()})
    house.until("the second claim", lambda: house.job(job_id).attempts == 2)
    assert is_alive(running.trainer, running.trainer_started)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    house.check()
