"""Looking after attempts whose supervisor is gone. Nothing is concluded while anything of the attempt lives."""

import contextlib
import datetime
import logging
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from services import conclusion
from services.clock import utc_now
from services.conclusion import Left
from services.domain.endings import Diagnosis, Ending
from services.facts import Facts
from services.queue import wake_workers
from services.settings import Settings
from services.store import leases
from services.store.engine import Store, StoreUnavailable
from services.store.models import Lease
from worker import places
from worker.host import boot_id, holders, is_alive, is_free
from worker.places import Running
from worker.supervision import take_in_and_conclude
from worker.witness import facts_left

__all__ = ["Reaper"]

_STARTING_S = 15.0  # from the claim until a supervisor must have left its note
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Orphan:
    lease: Lease
    folder: Path
    running: Running | None
    rebooted: bool


class Reaper:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._found_at: dict[str, float] = {}  # by token: when the trainer was first seen without its supervisor

    def reap(self) -> int:
        """One look; returns how many attempts were concluded."""
        with self._store.reading() as session:
            held = list(leases.of_host(session, self._settings.host))
        orphans = [orphan for lease in held if (orphan := self._orphan(lease)) is not None]
        self._found_at = {
            token: at for token, at in self._found_at.items() if token in {o.lease.token for o in orphans}
        }
        reaped = sum(self._try(orphan) for orphan in orphans)
        if reaped:
            wake_workers(self._settings)
        return reaped

    def _orphan(self, lease: Lease) -> _Orphan | None:
        folder = places.attempt_dir(self._settings, lease.job_id, lease.attempt)
        running = Running.read(folder)
        rebooted = lease.boot_id != boot_id()
        if not rebooted:
            if running is None and utc_now() - lease.created_at < datetime.timedelta(seconds=_STARTING_S):
                return None
            # Stopped or cut off from the database is not dead: it holds its locks, and will be heard of.
            if running is not None and is_alive(running.supervisor, running.supervisor_started):
                return None
        return _Orphan(lease, folder, running, rebooted)

    def _try(self, orphan: _Orphan) -> bool:
        """One that cannot be looked after must not keep the others, and the queue, waiting."""
        try:
            return self._look_after(orphan)
        except StoreUnavailable:
            raise
        except Exception:
            _log.exception("job %s, attempt %s cannot be concluded", orphan.lease.job_id, orphan.lease.attempt)
            return False

    def _look_after(self, orphan: _Orphan) -> bool:
        """Conclude, once nothing of it lives any more; True where this was the time."""
        lease, running = orphan.lease, orphan.running
        if running and not orphan.rebooted and is_alive(running.trainer, running.trainer_started):
            self._end_trainer(lease, running.trainer)
            return False
        lock = places.job_lock(self._settings, lease.job_id)
        if not is_free(lock):
            if running and not orphan.rebooted:
                self._end_rest(lease, running.trainer, lock)
            return False
        _log.warning("job %s, attempt %s: its supervisor is gone", lease.job_id, lease.attempt)
        return self._conclude(orphan)

    def _end_trainer(self, lease: Lease, pid: int) -> None:
        """The kernel told it to stop when its supervisor died. It has its time to save, and no more."""
        found_at = self._found_at.setdefault(lease.token, time.monotonic())
        if time.monotonic() - found_at > self._settings.stop_grace_s:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def _end_rest(self, lease: Lease, session: int, lock: Path) -> None:
        """What a dead trainer has started, and holds its lock. Of its own session: nobody else is signalled."""
        found_at = self._found_at.setdefault(lease.token, time.monotonic())
        if time.monotonic() - found_at > self._settings.stop_grace_s:
            for pid in holders(lock, session):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _conclude(self, orphan: _Orphan) -> bool:
        lease = orphan.lease
        if orphan.running is None:
            ending = Ending(Diagnosis.INTERRUPTED, "the worker was lost before training began", None)
            left = Left(None, None, ending)
            return conclusion.conclude(self._store, lease.job_id, lease.attempt, lease.token, left) is not None
        status, killed_because = places.read_exit(orphan.folder)
        concluded = take_in_and_conclude(
            self._store,
            lease.job_id,
            lease.attempt,
            lease.token,
            orphan.folder,
            status,
            killed_because,
            Facts() if orphan.rebooted else facts_left(orphan.folder),
            rebooted=orphan.rebooted,
        )
        return concluded is not None
