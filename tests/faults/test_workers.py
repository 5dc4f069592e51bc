"""Workers, Redis and the database stop and come back: nothing is lost, nothing runs twice."""

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.broker import wake_workers_now
from services.domain.jobs.states import State
from services.store import migrate
from services.store.engine import Store
from tests.faults.fault_box import FaultBox, MakeBox, wait
from tests.support.databases import postgres_folder, start_postgres
from worker.process_locks import is_alive


def test_training_goes_on_after_its_worker_is_killed_and_the_next_worker_takes_over(make_box: MakeBox) -> None:
    box = make_box(broker_url="")
    box.start_redis()
    worker = box.start_worker()
    box.hold(12, step_s=0.3)
    job_id = box.submit(train={"steps": 30, "batch_size": 4})
    running = box.running(job_id)
    box.until_step(job_id, 1)
    box.kill(worker)
    box.until_step(job_id, 3)
    assert is_alive(running.trainer, running.trainer_started)
    successor = box.start_worker()
    waiting = box.submit(name="next")
    box.until_step(job_id, 12)
    box.kill(successor)
    os.kill(running.supervisor, signal.SIGKILL)  # while no worker runs
    box.until_dead(running.trainer)
    box.behave()
    box.start_worker()
    [job, following] = box.until_final(job_id, waiting)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 2, 30)
    assert (following.state, following.attempts) == (State.SUCCEEDED, 1)
    box.check()


def test_repeated_wake_ups_of_several_workers_start_each_job_once(make_box: MakeBox) -> None:
    box = make_box(broker_url="", devices="cpu:1000,cpu:1001", poll_s=0.2)
    box.start_redis()
    box.start_worker()
    box.start_worker()  # on the same host, as during an upgrade
    box.until("the devices", lambda: box.devices() == 2)
    jobs = [box.submit() for _ in range(6)]
    for _ in range(30):
        assert wake_workers_now(box.settings)
    assert all(job.state == State.SUCCEEDED and job.attempts == 1 for job in box.until_final(*jobs))
    box.check()


def test_jobs_start_without_redis(make_box: MakeBox) -> None:
    box = make_box(broker_url="")  # the private Redis, which is not started
    box.start_worker()
    began = time.monotonic()
    [job] = box.until_final(box.submit())
    assert job.state == State.SUCCEEDED
    assert time.monotonic() - began < 30
    redis = box.start_redis()  # starts late, and is killed again
    box.until_final(box.submit())
    box.kill(redis)
    [job] = box.until_final(box.submit())
    assert job.state == State.SUCCEEDED
    box.check()


def test_an_attempt_that_ends_while_the_database_is_locked_is_stored_later(make_box: MakeBox, tmp_path: Path) -> None:
    box = make_box()
    box.hold("tracing")
    job_id = box.submit(train={"steps": 5, "batch_size": 4})
    box.work()
    running = box.running(job_id)
    with contextlib.closing(sqlite3.connect(tmp_path / "test.db", timeout=10)) as other:
        other.execute("BEGIN EXCLUSIVE")
        box.go()
        box.until_dead(running.trainer)
        wait(1.0)
        assert is_alive(running.supervisor, running.supervisor_started)
        other.rollback()
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 1, 5)
    box.check()


@pytest.fixture
def own_postgres() -> Iterator[Any]:
    with postgres_folder() as folder:
        server = start_postgres(folder)
        yield server
        server.cleanup()


@pytest.fixture
def box_on_postgres(own_postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultBox]:
    store = Store.open(own_postgres.get_uri())
    migrate.upgrade(store.engine)
    box = FaultBox(tmp_path / "home", store, monkeypatch)
    yield box
    box.close()
    store.close()


def test_an_attempt_that_ends_while_the_database_is_down_is_stored_later(
    own_postgres: Any, box_on_postgres: FaultBox
) -> None:
    """Training goes on without the database, and the outcome waits on disk."""
    box = box_on_postgres
    job_id, running = box.start_training(steps=6, step_s=0.3, until_step=1)
    own_postgres._stop()
    box.go()
    box.until_step(job_id, 5)
    box.until_dead(running.trainer)
    wait(1.0)
    assert is_alive(running.supervisor, running.supervisor_started)
    own_postgres.ensure_postgres_running()
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 1, 6)
    box.check()
