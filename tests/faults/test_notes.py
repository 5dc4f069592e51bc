"""Notes on disk that are missing, damaged or of another version: the kernel's information decides."""

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
from services.store.devices import leases
from services.store.models import Lease
from tests.faults.fault_box import FaultBox, MakeBox, wait
from worker import attempt_processes, notes, reaper
from worker.notes import Running
from worker.process_locks import Lock, is_alive, is_free, start_time


def note_of(box: FaultBox, job_id: int, number: int = 1) -> Path:
    return attempt_dir(box.settings, job_id, number) / "supervisor.json"


def reap_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the note of a new supervisor. The tests call this after it has started."""
    monkeypatch.setattr(reaper, "_STARTING_S", 0.0)


def test_without_a_note_an_orphaned_trainer_is_killed_and_the_job_resumes(
    make_box_on_both: MakeBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make_box_on_both()
    job_id, running = box.start_deaf_trainer()
    reap_at_once(monkeypatch)
    note_of(box, job_id).unlink()
    os.kill(running.supervisor, signal.SIGKILL)
    box.until_dead(running.trainer)
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    assert box.attempts(job_id)[0].diagnosis == "unknown_kill"
    box.check()


def test_without_a_note_a_job_can_be_cancelled(make_box: MakeBox, monkeypatch: pytest.MonkeyPatch) -> None:
    box = make_box()
    job_id, running = box.start_deaf_trainer()
    reap_at_once(monkeypatch)
    note_of(box, job_id).unlink()
    os.kill(running.supervisor, signal.SIGKILL)
    actions.cancel(box.store, box.owner, job_id)
    box.until_dead(running.trainer)
    [job] = box.until_final(job_id)
    assert job.state == State.CANCELLED
    box.check()


def test_without_a_note_a_stopped_supervisor_keeps_its_trainer(
    make_box: MakeBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make_box(lease_s=0.7)
    box.hold("tracing")
    job_id = box.submit()
    box.work()
    running = box.running(job_id)
    reap_at_once(monkeypatch)
    note_of(box, job_id).unlink()
    os.kill(running.supervisor, signal.SIGSTOP)
    wait(3.0)  # longer than the grace period of an orphaned trainer
    assert is_alive(running.trainer, running.trainer_started)
    os.kill(running.supervisor, signal.SIGCONT)
    box.go()
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 1)
    box.check()


def with_unknown_field(note: dict[str, Any]) -> Any:
    return {**note, "of_a_later_version": {"a": 1}}


def with_missing_fields(note: dict[str, Any]) -> Any:
    return {"trainer": note["trainer"]}


def with_foreign_pids(note: dict[str, Any]) -> Any:
    """The pid of a living process that does not belong to the attempt: this test."""
    mine = {"supervisor": os.getpid(), "supervisor_started": start_time(os.getpid())}
    return {**mine, "trainer": os.getpid(), "trainer_started": start_time(os.getpid())}


def with_group_pids(note: dict[str, Any]) -> Any:
    """`kill` interprets 0 and -1 as groups of processes."""
    return {"supervisor": 0, "supervisor_started": 1, "trainer": -1, "trainer_started": 1}


def with_wrong_types(note: dict[str, Any]) -> Any:
    return {"supervisor": "1", "supervisor_started": 1e9, "trainer": True, "trainer_started": [2**70]}


@pytest.mark.parametrize(
    "garble", [with_unknown_field, with_missing_fields, with_foreign_pids, with_group_pids, with_wrong_types]
)
def test_a_damaged_note_or_one_of_another_version_does_no_harm(
    make_box: MakeBox, monkeypatch: pytest.MonkeyPatch, garble: Callable[[dict[str, Any]], Any]
) -> None:
    """The attempt goes on while its supervisor lives, it is reaped afterwards, and other jobs start."""
    box = make_box(devices="cpu:1000,cpu:1001")
    job_id, running = box.start_deaf_trainer()
    reap_at_once(monkeypatch)
    note = note_of(box, job_id)
    note.write_text(json.dumps(garble(json.loads(note.read_text()))))
    [other] = box.until_final(box.submit())
    assert other.state == State.SUCCEEDED
    assert is_alive(running.trainer, running.trainer_started)
    os.kill(running.supervisor, signal.SIGKILL)
    box.until_dead(running.trainer)
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    box.check()


def test_an_attempt_that_cannot_be_checked_does_not_prevent_other_jobs_from_starting(
    make_box: MakeBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make_box(devices="cpu:1000,cpu:1001")
    box.hold(2)
    broken = box.submit()
    box.work()
    box.running(broken)
    box.until_step(broken, 2)
    box.behave()
    read = Running.read

    def fail(folder: Path) -> Any:
        if folder.parent.name == str(broken):
            raise LookupError("an unexpected error")
        return read(folder)

    with monkeypatch.context() as patched:
        patched.setattr(Running, "read", fail)
        [other] = box.until_final(box.submit())
        assert other.state == State.SUCCEEDED
    box.go()
    box.until_final(broken)
    box.check()


GARBAGE = [b"", b"{", b"[]", b"7", b"null", b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 5000, b" " * 2**21]


@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: ascii(text[:10]))
def test_an_unreadable_note_counts_as_missing(tmp_path: Path, text: bytes) -> None:
    for name in ("supervisor.json", "exit.json", "facts.json", "environment.json"):
        (tmp_path / name).write_bytes(text)
    assert Running.read(tmp_path) is None
    assert notes.read_exit(tmp_path) == (None, None)
    assert notes.read_observations(tmp_path) == notes.read_environment(tmp_path) == {}


def test_a_named_pipe_instead_of_a_note_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "supervisor.json")
    assert Running.read(tmp_path) is None


@pytest.mark.parametrize("status", ["0", 0.0, True, 10**30, -(10**30), [0], {"a": 0}, 256])
def test_an_invalid_exit_status_counts_as_missing(tmp_path: Path, status: Any) -> None:
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


def test_processes_are_found_by_mark_or_lock_and_no_others_are(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "job.lock")
    assert lock.take()
    mark = {attempt_processes.MARK: attempt_processes.mark_of("ours")}
    another = {attempt_processes.MARK: attempt_processes.mark_of("another")}
    with (
        sleeping(env={**os.environ, **mark}, start_new_session=True) as marked,
        sleeping(env={}, pass_fds=[lock.descriptor], start_new_session=True) as holding,
        sleeping(env={**os.environ, **another}, start_new_session=True) as others,
        (tmp_path / "job.lock").open() as unlocked,
        sleeping(env={}, pass_fds=[unlocked.fileno()]) as reading,
    ):
        lock.close()  # the child still has it
        found = {process.pid for process in attempt_processes.of_attempt("ours", tmp_path / "job.lock")}
        assert found == {marked.pid, holding.pid}
        for process in attempt_processes.of_attempt("ours", tmp_path / "job.lock"):
            attempt_processes.kill(process)
        assert {marked.wait(), holding.wait()} == {-signal.SIGKILL}
        assert others.poll() is None
        assert reading.poll() is None
        assert attempt_processes.of_attempt("ours", tmp_path / "job.lock") == []
        assert is_free(tmp_path / "job.lock")


def test_the_next_attempt_of_a_job_is_not_taken_for_the_previous_one(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "job.lock")
    assert lock.take()
    mark = {attempt_processes.MARK: attempt_processes.mark_of("next")}
    with sleeping(env={**os.environ, **mark}, pass_fds=[lock.descriptor], start_new_session=True) as following:
        lock.close()
        assert attempt_processes.of_attempt("before", tmp_path / "job.lock") == []
        assert [one.pid for one in attempt_processes.of_attempt("next", tmp_path / "job.lock")] == [following.pid]


def test_no_process_is_killed_for_a_lease_that_no_longer_holds(make_box: MakeBox) -> None:
    """The attempt was finished after the reaper read its lease and before it looked for its processes."""
    box = make_box()
    job_id, running = box.start_deaf_trainer()
    with box.store.reading() as session:
        lease = leases.of_job(session, job_id)
    assert lease
    living = attempt_processes.of_attempt(lease.token, job_lock(box.settings, job_id))
    assert running.trainer in {process.pid for process in living}
    the_reaper = reaper.Reaper(box.store, box.settings)
    the_reaper._found_at[lease.token] = 0.0  # long ago
    gone = Lease(job_id=job_id, attempt=1, token="finished")
    the_reaper._found_at[gone.token] = 0.0

    the_reaper._kill_after_grace(gone, living)
    assert is_alive(running.trainer, running.trainer_started)
    the_reaper._kill_after_grace(lease, living)
    box.until_dead(running.trainer)
    box.until_final(job_id)


def test_a_process_that_reuses_the_pid_of_a_dead_one_is_not_killed() -> None:
    with sleeping() as process:
        started = start_time(process.pid)
        assert started is not None
        attempt_processes.kill(attempt_processes.Process(process.pid, started - 1))
        assert process.poll() is None
        attempt_processes.kill(attempt_processes.Process(process.pid, started))
        assert process.wait() == -signal.SIGKILL
