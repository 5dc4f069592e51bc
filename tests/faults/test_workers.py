"""Workers, Redis and the database that go away and come back: nothing is lost, nothing runs twice."""

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from services.broker import wake_workers_now
from services.domain.jobs.states import State
from services.store import migrate
from services.store.engine import Store
from tests.faults.house import House, wait
from tests.support.databases import postgres_folder, start_postgres
from worker.process_locks import is_alive

MakeHouse = Callable[..., House]


def test_a_worker_that_is_killed_leaves_training_alone_and_its_successor_takes_it_up(make_house: MakeHouse) -> None:
    house = make_house(broker_url="")
    house.start_redis()
    worker = house.start_worker()
    house.behave(step_s=0.3)
    job_id = house.submit(train={"steps": 30, "batch_size": 4})
    running = house.running(job_id)
    house.until_step(job_id, 1)
    house.kill(worker)
    house.until_step(job_id, 3)
    assert is_alive(running.trainer, running.trainer_started)
    successor = house.start_worker()
    waiting = house.submit(name="next")
    house.until_step(job_id, 12)
    house.kill(successor)
    os.kill(running.supervisor, signal.SIGKILL)  # with nobody there to see it
    house.until_dead(running.trainer)
    house.behave()
    house.start_worker()
    [job, following] = house.until_final(job_id, waiting)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 2, 30)
    assert (following.state, following.attempts) == (State.SUCCEEDED, 1)
    house.check()


def test_wake_ups_may_come_many_times_and_to_several_workers(make_house: MakeHouse) -> None:
    house = make_house(broker_url="", devices="cpu:1000,cpu:1001", poll_s=0.2)
    house.start_redis()
    house.start_worker()
    house.start_worker()  # of the same host, as in an upgrade that overlaps
    house.until("the devices", lambda: house.devices() == 2)
    jobs = [house.submit() for _ in range(6)]
    for _ in range(30):
        assert wake_workers_now(house.settings)
    assert all(job.state == State.SUCCEEDED and job.attempts == 1 for job in house.until_final(*jobs))
    house.check()


def test_without_redis_jobs_start_all_the_same(make_house: MakeHouse) -> None:
    house = make_house(broker_url="")  # and nobody starts one
    house.start_worker()
    began = time.monotonic()
    [job] = house.until_final(house.submit())
    assert job.state == State.SUCCEEDED
    assert time.monotonic() - began < 30
    redis = house.start_redis()  # comes late, and goes again
    house.until_final(house.submit())
    house.kill(redis)
    [job] = house.until_final(house.submit())
    assert job.state == State.SUCCEEDED
    house.check()


def test_a_database_that_is_locked_while_an_attempt_ends_is_told_later(make_house: MakeHouse, tmp_path: Path) -> None:
    house = make_house()
    house.behave(step_s=0.1)
    job_id = house.submit(train={"steps": 5, "batch_size": 4})
    house.work()
    running = house.running(job_id)
    with contextlib.closing(sqlite3.connect(tmp_path / "test.db", timeout=10)) as other:
        other.execute("BEGIN EXCLUSIVE")
        house.until_dead(running.trainer)
        wait(1.0)
        assert is_alive(running.supervisor, running.supervisor_started)
        other.rollback()
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 1, 5)
    house.check()


@pytest.fixture
def own_postgres() -> Iterator[Any]:
    with postgres_folder() as folder:
        server = start_postgres(folder)
        yield server
        server.cleanup()


@pytest.fixture
def house_on_it(own_postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    store = Store.open(own_postgres.get_uri())
    migrate.upgrade(store.engine)
    house = House(tmp_path / "home", store, monkeypatch)
    yield house
    house.close()
    store.close()


def test_a_database_that_is_away_while_an_attempt_ends_is_told_later(own_postgres: Any, house_on_it: House) -> None:
    """Training goes on without it, and the outcome waits."""
    house = house_on_it
    house.behave(step_s=0.3)
    job_id = house.submit(train={"steps": 6, "batch_size": 4})
    house.work()
    running = house.running(job_id)
    house.until_step(job_id, 1)
    own_postgres._stop()
    house.until_step(job_id, 5)
    house.until_dead(running.trainer)
    wait(1.0)
    assert is_alive(running.supervisor, running.supervisor_started)
    own_postgres.ensure_postgres_running()
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 1, 6)
    house.check()
