"""Notes on disk that are missing, damaged or of another version: what the kernel knows decides."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from services.attempt_paths import attempt_dir, job_lock
from services.domain.jobs.states import State
from services.jobs import actions
from services.store import leases
from services.store.models import Lease
from tests.faults.house import House, wait
from worker import attempt_processes, notes, reaper
from worker.notes import Running
from worker.process_locks import Lock, is_alive, is_free, start_time

MakeHouse = Callable[..., House]


def note_of(house: House, job_id: int, number: int = 1) -> Path:
    return attempt_dir(house.settings, job_id, number) / "supervisor.json"


def deaf(house: House) -> tuple[int, Running]:
    """A job whose trainer does not hear SIGTERM."""
    house.behave(die="deaf", die_at_step=1)
    job_id = house.submit()
    house.work()
    running = house.running(job_id)
    house.until_step(job_id, 1)
    house.behave()
    return job_id, running


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim is old at once. Nothing here starts so slowly that it would be missed."""
    monkeypatch.setattr(reaper, "_STARTING_S", 0.0)


def test_without_a_note_a_deaf_trainer_without_its_supervisor_is_ended_and_the_job_resumes(
    make_house_on_both: MakeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make_house_on_both()
    job_id, running = deaf(house)
    hurry(monkeypatch)
    note_of(house, job_id).unlink()
    os.kill(running.supervisor, signal.SIGKILL)
    house.until_dead(running.trainer)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    assert house.attempts(job_id)[0].diagnosis == "unknown_kill"
    house.check()


def test_without_a_note_a_cancelled_job_ends(make_house: MakeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    house = make_house()
    job_id, running = deaf(house)
    hurry(monkeypatch)
    note_of(house, job_id).unlink()
    os.kill(running.supervisor, signal.SIGKILL)
    actions.cancel(house.store, house.owner, job_id)
    house.until_dead(running.trainer)
    [job] = house.until_final(job_id)
    assert job.state == State.CANCELLED
    house.check()


def test_without_a_note_a_living_supervisor_keeps_its_trainer_even_when_it_is_stopped(
    make_house: MakeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make_house(lease_s=0.7)
    house.behave(step_s=0.2)
    job_id = house.submit(train={"steps": 15, "batch_size": 4})
    house.work()
    running = house.running(job_id)
    hurry(monkeypatch)
    note_of(house, job_id).unlink()
    os.kill(running.supervisor, signal.SIGSTOP)
    wait(3.0)  # longer than a trainer without a supervisor is given
    assert is_alive(running.trainer, running.trainer_started)
    os.kill(running.supervisor, signal.SIGCONT)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 1)
    house.check()


def more(note: dict[str, Any]) -> Any:
    return {**note, "of_a_later_version": {"a": 1}}


def fewer(note: dict[str, Any]) -> Any:
    return {"trainer": note["trainer"]}


def of_others(note: dict[str, Any]) -> Any:
    """Numbers of a living process that is none of ours: this very one."""
    mine = {"supervisor": os.getpid(), "supervisor_started": start_time(os.getpid())}
    return {**mine, "trainer": os.getpid(), "trainer_started": start_time(os.getpid())}


def of_everybody(note: dict[str, Any]) -> Any:
    """`kill` takes 0 and -1 for groups."""
    return {"supervisor": 0, "supervisor_started": 1, "trainer": -1, "trainer_started": 1}


def of_odd_kinds(note: dict[str, Any]) -> Any:
    return {"supervisor": "1", "supervisor_started": 1e9, "trainer": True, "trainer_started": [2**70]}


@pytest.mark.parametrize("garble", [more, fewer, of_others, of_everybody, of_odd_kinds])
def test_a_note_of_another_version_or_a_damaged_one_stops_nothing(
    make_house: MakeHouse, monkeypatch: pytest.MonkeyPatch, garble: Callable[[dict[str, Any]], Any]
) -> None:
    """Neither the attempt, while its supervisor lives, nor its end, nor the start of others."""
    house = make_house(devices="cpu:1000,cpu:1001")
    job_id, running = deaf(house)
    hurry(monkeypatch)
    note = note_of(house, job_id)
    note.write_text(json.dumps(garble(json.loads(note.read_text()))))
    [other] = house.until_final(house.submit())
    assert other.state == State.SUCCEEDED
    assert is_alive(running.trainer, running.trainer_started)
    os.kill(running.supervisor, signal.SIGKILL)
    house.until_dead(running.trainer)
    [job] = house.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    house.check()


def test_an_attempt_that_cannot_be_looked_at_does_not_keep_others_from_starting(
    make_house: MakeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make_house(devices="cpu:1000,cpu:1001")
    house.behave(waits_for=str(house.home / "go"))
    poisoned = house.submit()
    house.work()
    house.running(poisoned)
    house.until_step(poisoned, 2)
    house.behave()
    read = Running.read

    def fail(folder: Path) -> Any:
        if folder.parent.name == str(poisoned):
            raise LookupError("something that nobody has foreseen")
        return read(folder)

    with monkeypatch.context() as patched:
        patched.setattr(Running, "read", fail)
        [other] = house.until_final(house.submit())
        assert other.state == State.SUCCEEDED
    (house.home / "go").touch()
    house.until_final(poisoned)
    house.check()


GARBAGE = [b"", b"{", b"[]", b"7", b"null", b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 5000, b" " * 2**21]


@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: ascii(text[:10]))
def test_a_note_that_is_none_is_none(tmp_path: Path, text: bytes) -> None:
    for name in ("supervisor.json", "exit.json", "facts.json", "environment.json"):
        (tmp_path / name).write_bytes(text)
    assert Running.read(tmp_path) is None
    assert notes.read_exit(tmp_path) == (None, None)
    assert notes.read_facts(tmp_path) == notes.read_environment(tmp_path) == {}


def test_a_pipe_in_place_of_a_note_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "supervisor.json")
    assert Running.read(tmp_path) is None


@pytest.mark.parametrize("status", ["0", 0.0, True, 10**30, -(10**30), [0], {"a": 0}, 256])
def test_an_exit_status_that_is_none_was_not_seen(tmp_path: Path, status: Any) -> None:
    (tmp_path / "exit.json").write_text(json.dumps({"exit_status": status, "killed_because": 7, "new": 1}))
    assert notes.read_exit(tmp_path) == (None, None)


@contextmanager
def sleeping(**options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_processes_are_found_by_mark_by_lock_and_by_session_and_nobody_else_is(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "job.lock")
    assert lock.take()
    mark = {attempt_processes.MARK: attempt_processes.mark_of("ours")}
    another = {attempt_processes.MARK: attempt_processes.mark_of("another")}
    with (
        sleeping(env={**os.environ, **mark}, start_new_session=True) as marked,
        sleeping(env={}, pass_fds=[lock.descriptor], start_new_session=True) as holding,
        sleeping(env={**os.environ, **another}, start_new_session=True) as others,
        (tmp_path / "job.lock").open() as looked_at,
        sleeping(env={}, pass_fds=[looked_at.fileno()]) as looking,
    ):
        lock.close()  # the child has it
        found = {process.pid for process in attempt_processes.of_attempt("ours", tmp_path / "job.lock")}
        assert found == {marked.pid, holding.pid}
        for process in attempt_processes.of_attempt("ours", tmp_path / "job.lock"):
            attempt_processes.kill(process)
        assert {marked.wait(), holding.wait()} == {-signal.SIGKILL}
        assert others.poll() is None
        assert looking.poll() is None
        assert attempt_processes.of_attempt("ours", tmp_path / "job.lock") == []
        assert is_free(tmp_path / "job.lock")


def test_the_next_attempt_of_a_job_holds_its_lock_and_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "job.lock")
    assert lock.take()
    mark = {attempt_processes.MARK: attempt_processes.mark_of("next")}
    with sleeping(env={**os.environ, **mark}, pass_fds=[lock.descriptor], start_new_session=True) as following:
        lock.close()
        assert attempt_processes.of_attempt("before", tmp_path / "job.lock") == []
        assert [one.pid for one in attempt_processes.of_attempt("next", tmp_path / "job.lock")] == [following.pid]


def test_nothing_is_ended_for_an_attempt_whose_lease_is_gone(make_house: MakeHouse) -> None:
    """Concluded by somebody else between the look at the leases and the look at the processes."""
    house = make_house()
    job_id, running = deaf(house)
    with house.store.reading() as session:
        lease = leases.of_job(session, job_id)
    assert lease
    living = attempt_processes.of_attempt(lease.token, job_lock(house.settings, job_id))
    assert running.trainer in {process.pid for process in living}
    reaping = reaper.Reaper(house.store, house.settings)
    reaping._found_at[lease.token] = 0.0  # long ago
    gone = Lease(job_id=job_id, attempt=1, token="concluded")
    reaping._found_at[gone.token] = 0.0

    reaping._kill_after_grace(gone, living)
    assert is_alive(running.trainer, running.trainer_started)
    reaping._kill_after_grace(lease, living)
    house.until_dead(running.trainer)
    house.until_final(job_id)


def test_a_process_that_has_got_the_number_of_a_dead_one_is_not_signalled() -> None:
    with sleeping() as process:
        started = start_time(process.pid)
        assert started is not None
        attempt_processes.kill(attempt_processes.Process(process.pid, started - 1))
        assert process.poll() is None
        attempt_processes.kill(attempt_processes.Process(process.pid, started))
        assert process.wait() == -signal.SIGKILL
