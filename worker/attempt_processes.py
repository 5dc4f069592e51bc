"""Find the processes of an attempt through the kernel. Notes on disk may be missing or wrong.

A trainer and its descendants inherit a mark in their environment; most of them hold the job's lock too. A process is
signalled only if it belongs to this user and has the mark or the lock, or is in the session of a process that has one.
All attempts of a job use the same lock, so a process with the mark of another attempt is left alone.
"""

import contextlib
import hashlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worker.process_locks import is_doomed, start_time

__all__ = ["MARK", "Process", "is_supervisor", "kill", "mark_of", "of_attempt", "supervisor_of"]

MARK = "TRAINER_OF_DOWNSHIFT"  # without the settings' prefix: settings are removed from a trainer's environment
_SUPERVISOR = "worker.supervisor"
_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """The start time tells it apart from a later process with the same pid."""

    pid: int
    started: int


def mark_of(token: str) -> str:
    """The mark in the environment of the attempt's processes. The lease token cannot be computed from it."""
    return hashlib.sha256(token.encode()).hexdigest()


def of_attempt(token: str, lock: Path) -> list[Process]:
    """The living processes of an attempt, and those of the sessions that they lead.

    A process belongs to it by its mark, or, if it has no mark at all, by the job's lock.
    """
    ours = [
        process for process in _own_processes() if process.pid != os.getpid() and not _is_any_supervisor(process.pid)
    ]
    found = {process for process in ours if _is_of_attempt(process.pid, mark_of(token), lock)}
    leaders = {process.pid for process in found if _session(process.pid) == process.pid}
    found |= {process for process in ours if _session(process.pid) in leaders}
    return sorted(found, key=lambda process: process.pid)


def supervisor_of(token: str) -> Process | None:
    """The living supervisor that was started with this lease token; None if there is none."""
    return next((process for process in _own_processes() if token in _supervisor_arguments(process.pid)), None)


def is_supervisor(pid: int, job_id: int, number: int) -> bool:
    """Whether this process is a supervisor of this attempt."""
    return _supervisor_arguments(pid)[:2] == [str(job_id), str(number)]


def kill(process: Process) -> None:
    """Kill this process, but not a later one with the same pid."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        descriptor = os.pidfd_open(process.pid)
        try:
            if start_time(process.pid) == process.started:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def _own_processes() -> Iterator[Process]:
    """The living processes of this user."""
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            started = start_time(int(folder.name))
            if started is not None and folder.stat().st_uid == os.geteuid():
                yield Process(int(folder.name), started)


def _is_of_attempt(pid: int, mark: str, lock: Path) -> bool:
    found = _mark(pid)
    return found == mark or (found is None and _holds(pid, lock))


def _mark(pid: int) -> str | None:
    if is_doomed(pid):  # reading its memory could wait for ever
        return None
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    start = f"{MARK}=".encode()
    return next(
        (one.removeprefix(start).decode(errors="replace") for one in environment if one.startswith(start)), None
    )


def _holds(pid: int, lock: Path) -> bool:
    """Whether the process has the exclusive lock on the file. Others may have the file open without it."""
    folder = _PROC / str(pid)
    try:
        files = [file.name for file in (folder / "fd").iterdir() if _is_same(file, lock)]
        details = [(folder / "fdinfo" / name).read_text() for name in files]
    except OSError:  # it has just ended
        return False
    locks = [line.split() for text in details for line in text.splitlines() if line.startswith("lock:")]
    return any("FLOCK" in words and "WRITE" in words for words in locks)


def _is_same(file: Path, lock: Path) -> bool:
    try:
        return file.samefile(lock)
    except OSError:
        return False


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _is_any_supervisor(pid: int) -> bool:
    return bool(_supervisor_arguments(pid))


def _supervisor_arguments(pid: int) -> list[str]:
    """The arguments of `python -m worker.supervisor`; [] for any other process."""
    if is_doomed(pid):
        return []
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
    if words[1:3] != ["-m", _SUPERVISOR]:
        return []
    return words[3:]
