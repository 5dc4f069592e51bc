"""What may be left of an attempt, and what may go wrong while it is looked after."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.attempt_paths import attempt_dir
from services.attempts import finish
from services.domain.jobs.states import State
from tests.faults.house import TRAINER, House
from worker import dispatch

MakeHouse = Callable[..., House]

PARENT = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], close_fds=False)  # inherits the locks
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def test_a_child_of_a_dead_trainer_does_not_keep_its_job_for_ever(make_house: MakeHouse, tmp_path: Path) -> None:
    """Supervisor and trainer are killed; a process that the trainer has started holds the job's lock."""
    program = tmp_path / "parent.py"
    program.write_text(PARENT)
    house = make_house(trainer=f"{sys.executable} {program} {TRAINER.split(maxsplit=1)[1]}")
    house.behave(step_s=60)
    job_id = house.submit()
    house.work()
    running = house.running(job_id)
    house.until_phase(job_id, "training")
    house.behave()
    os.kill(running.supervisor, signal.SIGSTOP)
    os.kill(running.trainer, signal.SIGKILL)
    os.kill(running.supervisor, signal.SIGKILL)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    house.check()


def test_one_attempt_that_cannot_be_concluded_does_not_hold_up_the_others(
    make_house: MakeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make_house(devices="cpu:1000,cpu:1001")
    house.behave(step_s=60)
    poisoned, other = house.submit(), house.submit()
    house.work()
    running = [house.running(job_id) for job_id in (poisoned, other)]
    house.rest()
    for one in running:
        os.kill(one.supervisor, signal.SIGKILL)
        house.until_dead(one.trainer)
    house.behave()
    concluded = finish.conclude

    def fail(store: Any, job_id: int, *rest: Any) -> Any:
        if job_id == poisoned:
            raise RuntimeError("a row that nobody has foreseen")
        return concluded(store, job_id, *rest)

    monkeypatch.setattr(finish, "conclude", fail)
    house.work()
    [job] = house.until_final(other)
    assert job.state == State.SUCCEEDED
    monkeypatch.undo()
    monkeypatch.setenv("FAKE_TRAINER", str(house.behaviour_file))
    house.until_final(poisoned)
    house.check()


def test_a_job_that_cannot_be_started_fails_with_the_reason_and_others_start(
    make_house: MakeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make_house()
    composed = dispatch._build_config

    def fail(settings: Any, claim: Any) -> Any:
        if claim.job_id == poisoned:
            raise LookupError("something that nobody has foreseen")
        return composed(settings, claim)

    monkeypatch.setattr(dispatch, "_build_config", fail)
    poisoned, other = house.submit(), house.submit(priority=-5)
    house.work()
    [job, following] = house.until_final(poisoned, other)
    assert (job.state, following.state) == (State.FAILED, State.SUCCEEDED)
    assert "something that nobody has foreseen" in (job.reason or "")
    house.check()


def test_a_disk_without_room_for_a_note_does_not_keep_the_end_from_the_database(
    make_house: MakeHouse, tmp_path: Path
) -> None:
    """The note of the exit status is for when the database is away; here it is there."""
    house = make_house()
    house.behave(step_s=0.2)
    job_id = house.submit(train={"steps": 8, "batch_size": 4})
    house.work()
    house.running(job_id)
    note = attempt_dir(house.settings, job_id, 1) / "exit.json"
    note.mkdir()
    (note / "in the way").touch()
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 1)
    house.check()
