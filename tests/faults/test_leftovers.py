"""Processes that an attempt leaves behind, and errors while an attempt starts or ends."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from services.attempt_paths import attempt_dir
from services.attempts import finish
from services.domain.jobs.states import State
from tests.faults.fault_box import TRAINER, MakeBox
from worker import dispatch

PARENT = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], close_fds=False)  # inherits the locks
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def test_a_child_of_a_dead_trainer_does_not_block_its_job(make_box: MakeBox, tmp_path: Path) -> None:
    """Supervisor and trainer are killed; a process that the trainer started still holds the job's lock."""
    program = tmp_path / "parent.py"
    program.write_text(PARENT)
    box = make_box(trainer=f"{sys.executable} {program} {TRAINER.split(maxsplit=1)[1]}")
    box.behave(step_s=60)
    job_id = box.submit()
    box.work()
    running = box.running(job_id)
    box.until_phase(job_id, "training")
    box.behave()
    box.kill_both(running)
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    box.check()


def test_an_attempt_that_cannot_be_finished_does_not_block_others(
    make_box: MakeBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make_box(devices="cpu:1000,cpu:1001")
    box.behave(step_s=60)
    broken, other = box.submit(), box.submit()
    box.work()
    running = [box.running(job_id) for job_id in (broken, other)]
    box.rest()
    for one in running:
        os.kill(one.supervisor, signal.SIGKILL)
        box.until_dead(one.trainer)
    box.behave()
    record_end = finish.record_end

    def fail(store: Any, job_id: int, *rest: Any) -> Any:
        if job_id == broken:
            raise RuntimeError("an unexpected row")
        return record_end(store, job_id, *rest)

    monkeypatch.setattr(finish, "record_end", fail)
    box.work()
    [job] = box.until_final(other)
    assert job.state == State.SUCCEEDED
    monkeypatch.undo()
    monkeypatch.setenv("FAKE_TRAINER", str(box.behaviour_file))
    box.until_final(broken)
    box.check()


def test_a_job_that_cannot_be_started_fails_with_the_reason_and_others_start(
    make_box: MakeBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make_box()
    build_config = dispatch._build_config

    def fail(settings: Any, claim: Any, host: Any) -> Any:
        if claim.job_id == broken:
            raise LookupError("an unexpected error")
        return build_config(settings, claim, host)

    monkeypatch.setattr(dispatch, "_build_config", fail)
    broken, other = box.submit(), box.submit(priority=-5)
    box.work()
    [job, following] = box.until_final(broken, other)
    assert (job.state, following.state) == (State.FAILED, State.SUCCEEDED)
    assert "an unexpected error" in (job.reason or "")
    box.check()


def test_the_end_is_stored_in_the_database_even_if_its_note_cannot_be_written(
    make_box: MakeBox, tmp_path: Path
) -> None:
    """As on a full disk. The note is needed only while the database is unavailable."""
    box = make_box()
    box.behave(step_s=0.2)
    job_id = box.submit(train={"steps": 8, "batch_size": 4})
    box.work()
    box.running(job_id)
    note = attempt_dir(box.settings, job_id, 1) / "exit.json"
    note.mkdir()
    (note / "file").touch()
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 1)
    box.check()
