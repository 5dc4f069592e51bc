"""Processes that survive SIGKILL: a failing driver can hold one in the kernel (state D) until the host is rebooted.

Such a process is doomed (`process_locks.is_doomed`): it can train, save or write nothing any more. So its attempt ends
without it, and its job's lock is replaced. Its device stays locked: a note names the process until it is gone.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from services.attempt_paths import stuck_dir
from services.safe_files import open_regular
from services.settings import Settings
from worker.process_locks import PROC, Lock, boot_id, is_doomed, is_free

__all__ = ["Stuck", "are_doomed", "device_problem", "leave_behind", "noted", "take_job_lock"]

_LOOK_S = 1.0
_LARGEST = 4096  # bytes of a note


@dataclass(frozen=True)
class Stuck:
    """A process of an attempt that has ended without it. `key`: of its device."""

    pid: int
    started: int
    boot: str
    job_id: int
    key: str


def leave_behind(settings: Settings, pid: int, job_id: int, key: str, proc: Path = PROC) -> str:
    """Note a doomed process, and return its device's problem.

    The caller must store the problem before it ends the attempt: that frees the device for other jobs.
    """
    folder = stuck_dir(settings)
    folder.mkdir(parents=True, exist_ok=True)
    stuck = Stuck(pid, _started(pid, proc) or 0, boot_id(), job_id, key)
    (folder / f"{pid}.json").write_text(json.dumps(asdict(stuck)))
    return _sentence(pid, proc)


def noted(settings: Settings, proc: Path = PROC) -> list[Stuck]:
    """The processes that are still there. Notes of those that are gone are deleted."""
    found = []
    for file in sorted(stuck_dir(settings).glob("*.json")):
        try:
            with open_regular(file) as opened:
                stuck = Stuck(**json.loads(opened.read(_LARGEST)))
        except (OSError, ValueError, TypeError):
            continue
        is_there = stuck.boot == boot_id() and _started(stuck.pid, proc) == stuck.started
        if is_there and is_doomed(stuck.pid, proc):
            found.append(stuck)
        else:
            file.unlink(missing_ok=True)
    return found


def device_problem(settings: Settings, key: str, lock: Path | None, proc: Path = PROC) -> str | None:
    """Why no job may start on a device: a process of an earlier one does not end. `lock`: None while a job has it."""
    pids = [stuck.pid for stuck in noted(settings, proc) if stuck.key == key]
    if not pids and lock is not None and not is_free(lock):
        holders = list(_holders(lock, proc))
        pids = holders if holders and all(is_doomed(pid, proc) for pid in holders) else []
    return _sentence(pids[0], proc) if pids else None


def _sentence(pid: int, proc: Path) -> str:
    advice = "see dmesg; reboot the host if it stays so"
    return f"process {pid} of an earlier job does not end ({_state(pid, proc)}): {advice}"


def are_doomed(settings: Settings, lock: Path, job_id: int, proc: Path = PROC) -> bool:
    """Whether only doomed processes hold the job's lock.

    One that is already exiting shows no open files. Then its note counts.
    """
    holders = list(_holders(lock, proc))
    if holders:
        return all(is_doomed(pid, proc) for pid in holders)
    return any(stuck.job_id == job_id for stuck in noted(settings, proc))


def take_job_lock(settings: Settings, path: Path, job_id: int, timeout_s: float) -> Lock | None:
    """The lock, or None if a process that may still run holds it after `timeout_s`."""
    lock = Lock(path)
    for _ in range(max(1, round(timeout_s / _LOOK_S))):
        if lock.take(_LOOK_S):
            return lock
        lock.replace(lambda: are_doomed(settings, path, job_id))
    if lock.take():
        return lock
    lock.close()
    return None


def _holders(lock: Path, proc: Path) -> Iterator[int]:
    """The processes that hold the exclusive lock, without this one.

    By their threads: a process whose main thread has exited shows its files only there.
    """
    for folder in proc.glob("[0-9]*"):
        if int(folder.name) != os.getpid() and any(_holds(thread, lock) for thread in folder.glob("task/[0-9]*")):
            yield int(folder.name)


def _holds(thread: Path, lock: Path) -> bool:
    try:
        files = [file for file in (thread / "fd").iterdir() if _is_same(file, lock)]
        details = [(thread / "fdinfo" / file.name).read_text() for file in files]
    except OSError:  # it has just ended, or is another user's
        return False
    return any("FLOCK" in line and "WRITE" in line for text in details for line in text.splitlines())


def _is_same(file: Path, lock: Path) -> bool:
    try:
        return file.samefile(lock)
    except OSError:
        return False


def _started(pid: int, proc: Path) -> int | None:
    """As `process_locks.start_time`, but also of a process whose main thread has exited."""
    try:
        return int((proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def _state(pid: int, proc: Path) -> str:
    for thread in sorted((proc / str(pid) / "task").glob("[0-9]*")):
        try:
            letter = (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            continue
        if letter == "D":
            return "state D, waiting in the kernel"
    return "SIGKILL is pending"
