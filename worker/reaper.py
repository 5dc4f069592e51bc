"""Finish attempts whose supervisor has died. An attempt is finished only after all its processes have ended, or can
never run again."""

import datetime
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from services.attempt_paths import attempt_dir, job_lock
from services.attempts import finish
from services.attempts.evidence import HostEvidence
from services.attempts.finish import AttemptResults, HeldAttempt, TrainerEnd, finish_attempt
from services.broker import wake_workers
from services.clock import utc_now
from services.devices import quarantine
from services.domain.contract import EVENTS_FILE, OUTCOME_FILE
from services.domain.diagnosis.ending import Diagnosis, Ending
from services.settings import Settings
from services.store.devices import leases
from services.store.engine import Store, StoreUnavailable
from services.store.models import Lease
from worker import attempt_processes, notes, stuck_processes
from worker.attempt_processes import Process, is_supervisor, supervisor_of
from worker.notes import Running
from worker.process_locks import boot_id, is_alive, is_doomed, is_free
from worker.supervisor.observer import read_saved_evidence

__all__ = ["Reaper"]

_STARTING_S = 15.0  # from the claim until the supervisor must have written its note
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Orphan:
    """An attempt without a supervisor."""

    lease: Lease
    folder: Path
    rebooted: bool


class Reaper:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._found_at: dict[str, float] = {}  # by token: when the trainer was first seen without its supervisor

    def reap(self) -> int:
        """Check every lease of this host once; returns how many attempts were finished."""
        with self._store.reading() as session:
            held = list(leases.of_host(session, self._settings.host))
        self._found_at = {token: at for token, at in self._found_at.items() if token in {lease.token for lease in held}}
        reaped = sum(self._reap_lease(lease) for lease in held)
        if reaped:
            wake_workers(self._settings)
        return reaped

    def _reap_lease(self, lease: Lease) -> bool:
        """An error is logged: one attempt that cannot be checked must not block the others and the queue."""
        try:
            orphan = self._orphan(lease)
            return orphan is not None and self._reap_orphan(orphan)
        except StoreUnavailable:
            raise
        except Exception:
            _log.exception("job %s, attempt %s could not be checked", lease.job_id, lease.attempt)
            return False

    def _orphan(self, lease: Lease) -> _Orphan | None:
        folder = attempt_dir(self._settings, lease.job_id, lease.attempt)
        rebooted = lease.boot_id != boot_id()
        if not rebooted:
            running = Running.read(folder)
            if running is None and utc_now() - lease.created_at < datetime.timedelta(seconds=_STARTING_S):
                return None
            # A supervisor that is stopped or cannot reach the database is not dead: it holds its locks and will go on.
            if _is_supervised(lease, running):
                return None
        return _Orphan(lease, folder, rebooted)

    def _reap_orphan(self, orphan: _Orphan) -> bool:
        """Finish the attempt if none of its processes will run again; returns whether it was finished."""
        lease, lock = orphan.lease, job_lock(self._settings, orphan.lease.job_id)
        living = [] if orphan.rebooted else attempt_processes.of_attempt(lease.token, lock)
        if living and not self._are_stuck(lease, living):
            self._kill_after_grace(lease, living)
            return False
        if not is_free(lock) and not stuck_processes.are_doomed(self._settings, lock, lease.job_id):
            return False
        key = lease.device_id.rpartition("/")[2]
        for process in living:
            problem = stuck_processes.leave_behind(self._settings, process.pid, lease.job_id, key)
            quarantine.set_problem(self._store, lease.device_id, problem)
        _log.warning("job %s, attempt %s: its supervisor has died", lease.job_id, lease.attempt)
        return self._finish(orphan)

    def _kill_after_grace(self, lease: Lease, living: Sequence[Process]) -> None:
        """The kernel sent SIGTERM to the trainer when its supervisor died. Kill it if it does not end in time."""
        found_at = self._found_at.setdefault(lease.token, time.monotonic())
        if time.monotonic() - found_at > self._settings.stop_grace_s and self._is_held(lease):
            for process in living:
                _log.warning("job %s, attempt %s: killing process %s", lease.job_id, lease.attempt, process.pid)
                attempt_processes.kill(process)

    def _are_stuck(self, lease: Lease, living: Sequence[Process]) -> bool:
        """Whether the kernel does not let them die, long after they were killed."""
        found_at = self._found_at.setdefault(lease.token, time.monotonic())
        waited = time.monotonic() - found_at > self._settings.stop_grace_s + self._settings.unkillable_s
        return waited and all(is_doomed(process.pid) for process in living)

    def _is_held(self, lease: Lease) -> bool:
        """Whether this lease still holds: the attempt may have been finished since the lease was read."""
        with self._store.reading() as session:
            current = leases.of_job(session, lease.job_id)
            return current is not None and current.token == lease.token

    def _finish(self, orphan: _Orphan) -> bool:
        lease = orphan.lease
        if not _has_begun(orphan.folder):
            ending = Ending(Diagnosis.INTERRUPTED, "the worker was lost before training began", None)
            left = AttemptResults(None, None, ending)
            return finish.record_end(self._store, lease.job_id, lease.attempt, lease.token, left) is not None
        status, killed_because = notes.read_exit(orphan.folder)
        held = HeldAttempt(lease.job_id, lease.attempt, lease.token, orphan.folder)
        host = HostEvidence() if orphan.rebooted else read_saved_evidence(orphan.folder)
        end = TrainerEnd(status, killed_because, host, rebooted=orphan.rebooted)
        return finish_attempt(self._store, held, end) is not None


def _is_supervised(lease: Lease, running: Running | None) -> bool:
    """Whether a supervisor of this lease lives: the one of the note, or one that the note does not name."""
    noted = running is not None and is_alive(running.supervisor, running.supervisor_started)
    if running is not None and noted and is_supervisor(running.supervisor, lease.job_id, lease.attempt):
        return True
    return supervisor_of(lease.token) is not None


def _has_begun(folder: Path) -> bool:
    """Whether a trainer was started: its supervisor's note or the trainer's own files show it."""
    return Running.read(folder) is not None or any((folder / name).exists() for name in (EVENTS_FILE, OUTCOME_FILE))
