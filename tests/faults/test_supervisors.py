"""Supervisors and trainers that die, stop or hang: training goes on once, or ends with a reason."""

import datetime
import os
import signal
from collections.abc import Callable

from services import lifecycle, scheduling
from services.clock import utc_now
from services.domain.states import State
from services.store.models import Attempt, Job, Lease
from tests.faults.house import House, wait
from worker import places, reaper
from worker.host import boot_id, is_alive, start_time

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
    assert first.saved_step >= 2
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


def test_a_success_that_nobody_saw_is_none(make_house: MakeHouse) -> None:
    """The trainer completes while its supervisor is stopped, which is then killed: no exit status, no success."""
    house = make_house()
    house.behave(phases_s={"tracing": 1.5})
    job_id = house.submit()
    house.work()
    running = house.running(job_id)
    os.kill(running.supervisor, signal.SIGSTOP)
    outcome = places.attempt_dir(house.settings, job_id, 1) / "outcome.json"
    house.until("the outcome", outcome.exists)
    house.until_dead(running.trainer)
    assert house.job(job_id).state == State.RUNNING
    os.kill(running.supervisor, signal.SIGKILL)
    [job] = house.until_final(job_id)
    first, second = house.attempts(job_id)
    assert (first.exit_status, first.diagnosis) == (None, "unknown_kill")
    assert (second.exit_status, second.diagnosis, job.state) == (0, "completed", State.SUCCEEDED)
    house.check()


def test_a_trainer_that_is_killed_twice_fails_with_a_reason(make_house: MakeHouse) -> None:
    house = make_house()
    house.behave(step_s=60)
    job_id = house.submit()
    house.work()
    for number in (1, 2):
        os.kill(house.running(job_id, number).trainer, signal.SIGKILL)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.FAILED, 2)
    assert "SIGKILL" in job.reason
    assert "second time" in job.reason
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
    lifecycle.cancel(house.store, house.owner, job_id)
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
    folder = places.attempt_dir(house.settings, job_id, 1)
    places.Running(os.getpid(), start_time(os.getpid()), os.getpid(), start_time(os.getpid())).note(folder)
    house.work()
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 2, 6)
    assert house.attempts(job_id)[0].message == "the host was restarted"
    house.check()


def test_a_claim_without_a_supervisor_is_taken_back(make_house: MakeHouse) -> None:
    """The worker died between the claim and the start."""
    house = make_house()
    job_id = house.submit()
    house.worker.look()  # reports the devices, and starts the job
    house.until_final(job_id)
    house.rest()
    job_id = house.submit()
    assert scheduling.claim(house.store, house.settings, boot_id()) is not None
    # This one alone is too old: the next needs time for its supervisor to start, and a busy machine takes it.
    with house.store.transaction() as session:
        session.query(Lease).update({"created_at": utc_now() - datetime.timedelta(seconds=reaper._STARTING_S)})
    house.work()
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    assert "lost before training began" in house.attempts(job_id)[0].message
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
