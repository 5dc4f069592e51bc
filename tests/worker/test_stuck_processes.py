"""Processes that survive SIGKILL. Most tests write the files of /proc; a real one is in tests/faults/test_stuck.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.settings import Settings
from worker import stuck_processes
from worker.process_locks import Lock, boot_id, is_doomed, is_free
from worker.stuck_processes import are_doomed, device_problem, leave_behind, noted, take_job_lock

PENDING, NOTHING, EXITING = "0000000000000100", "0000000000000000", 0x4


def thread(
    proc: Path, pid: int, tid: int, state: str, pending: str = NOTHING, flags: int = 0, holds: Path | None = None
) -> None:
    """Write a thread as the kernel shows it. The name has a bracket and spaces, as it may."""
    line = f"{tid} (a ) R b) {state} 1 1 1 0 -1 {flags} {'0 ' * 12}4711 0\n"
    folder = proc / str(pid) / "task" / str(tid)
    for name in ("fd", "fdinfo"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(line)
    (folder / "status").write_text(f"Name:\tx\nState:\t{state}\nSigPnd:\t{pending}\nShdPnd:\t{NOTHING}\n")
    (proc / str(pid) / "stat").write_text(line)
    if holds:
        (folder / "fd" / "5").symlink_to(holds)
        (folder / "fdinfo" / "5").write_text("pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 1 fd:00:1 0 EOF\n")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def lock(settings: Settings) -> Path:
    path = settings.locks_dir / "job-1.lock"
    Lock(path).close()
    return path


def test_a_process_is_doomed_if_the_kernel_holds_each_thread_for_good(tmp_path: Path) -> None:
    thread(tmp_path, 10, 10, "D", PENDING)
    assert is_doomed(10, tmp_path)
    thread(tmp_path, 10, 11, "D", flags=EXITING)  # it is stuck in its exit: SIGKILL is no longer pending
    assert is_doomed(10, tmp_path)
    thread(tmp_path, 10, 12, "D")  # waits, and was not killed
    assert not is_doomed(10, tmp_path)


def test_a_main_thread_that_has_exited_does_not_hide_the_others(tmp_path: Path) -> None:
    thread(tmp_path, 10, 10, "Z")
    assert not is_doomed(10, tmp_path)  # nothing of it is left
    thread(tmp_path, 10, 11, "D", PENDING)
    assert is_doomed(10, tmp_path)


def test_living_and_ended_processes_are_not_doomed(tmp_path: Path) -> None:
    assert not is_doomed(os.getpid())
    assert not is_doomed(2**22 + 1)
    thread(tmp_path, 10, 10, "S", "0000000000000200")  # another signal
    assert not is_doomed(10, tmp_path)


def test_a_lock_counts_as_abandoned_only_if_all_its_holders_are_doomed(
    tmp_path: Path, settings: Settings, lock: Path
) -> None:
    thread(tmp_path, 10, 10, "Z")
    thread(tmp_path, 10, 11, "D", PENDING, holds=lock)
    assert are_doomed(settings, lock, 1, tmp_path)
    thread(tmp_path, 20, 20, "S", holds=lock)
    assert not are_doomed(settings, lock, 1, tmp_path)


def test_a_process_that_shows_no_files_any_more_counts_by_its_note(
    tmp_path: Path, settings: Settings, lock: Path
) -> None:
    thread(tmp_path, 10, 10, "D", flags=EXITING)
    assert not are_doomed(settings, lock, 1, tmp_path)
    leave_behind(settings, 10, 1, "gpu-0", tmp_path)
    assert are_doomed(settings, lock, 1, tmp_path)
    assert not are_doomed(settings, lock, 2, tmp_path)


def test_a_device_has_a_problem_until_the_process_is_gone(tmp_path: Path, settings: Settings) -> None:
    free = settings.locks_dir / "device-gpu-0.lock"
    thread(tmp_path, 10, 10, "D", PENDING)
    leave_behind(settings, 10, 1, "gpu-0", tmp_path)
    said = device_problem(settings, "gpu-0", free, tmp_path) or ""
    assert "process 10 of an earlier job does not end (state D, waiting in the kernel)" in said
    assert "reboot the host" in said
    assert device_problem(settings, "gpu-1", free, tmp_path) is None
    thread(tmp_path, 10, 10, "Z")
    assert device_problem(settings, "gpu-0", free, tmp_path) is None
    thread(tmp_path, 10, 10, "D", PENDING)  # a later process with the same number
    assert noted(settings, tmp_path) == []


def test_notes_of_an_earlier_boot_and_damaged_ones_count_for_nothing(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread(tmp_path, 10, 10, "D", PENDING)
    with monkeypatch.context() as patched:
        patched.setattr(stuck_processes, "boot_id", lambda: "an earlier boot")
        leave_behind(settings, 10, 1, "gpu-0", tmp_path)
    assert boot_id() != "an earlier boot"
    assert noted(settings, tmp_path) == []
    (settings.locks_dir / "stuck" / "11.json").write_text('{"pid": ')
    assert noted(settings, tmp_path) == []


HOLDER = """
import sys, time
from pathlib import Path
from worker.process_locks import Lock
lock = Lock(Path(sys.argv[1])); assert lock.take(); print("held", flush=True); time.sleep(600)
"""


@pytest.fixture
def holder(lock: Path) -> "subprocess.Popen[str]":
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], cwd=root, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_the_lock_of_a_living_process_is_waited_for(
    settings: Settings, lock: Path, holder: "subprocess.Popen[str]"
) -> None:
    with holder:
        assert take_job_lock(settings, lock, 1, 1.0) is None
        holder.kill()


def test_the_lock_of_a_doomed_process_is_replaced_once(
    settings: Settings, lock: Path, holder: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stuck_processes, "is_doomed", lambda pid, *_: pid == holder.pid)
    with holder:
        late = Lock(lock)  # opened before the lock was replaced
        taken = take_job_lock(settings, lock, 1, 5.0)
        assert taken is not None
        assert not is_free(lock)
        late.replace(lambda: True)  # it is no longer the lock at this path: nothing happens
        assert not late.take()
        holder.kill()
    assert not late.take(), "the death of the first holder must not give it a lock that counts for nothing"
    taken.close()
    assert late.take()
    late.close()
