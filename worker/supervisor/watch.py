"""Watching one trainer: heartbeats, what it reports, wishes to stop, its end."""

import contextlib
import datetime
import logging
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from services.attempts import heartbeat, ingest
from services.attempts.evidence import Facts
from services.attempts.finish import HeldAttempt, TrainerEnd, finish_attempt
from services.broker import wake_workers_now
from services.domain.contract import EVENTS_FILE
from services.domain.jobs.states import Stop
from services.settings import Settings
from services.store.engine import Store, StoreUnavailable
from worker import notes
from worker.process_locks import Lock
from worker.supervisor.observer import Witness

__all__ = ["Supervision"]

_TICK_S = 0.25
_INGEST_S = 1.0
_DATABASE_PATIENCE_S = 600.0  # then the outcome waits on disk, and the reaper takes it up
_log = logging.getLogger(__name__)


class Supervision:
    def __init__(
        self,
        settings: Settings,
        job_id: int,
        number: int,
        token: str,
        folder: Path,
        trainer: "subprocess.Popen[bytes]",
        started: datetime.datetime,
        locks: Sequence[Lock],
    ) -> None:
        self._settings = settings
        self._store = Store.open(settings.database_url)
        self._job_id, self._number, self._token = job_id, number, token
        self._folder = folder
        self._trainer = trainer
        self._started = started
        self._locks = locks
        self._interrupted = False
        self._is_ingest_broken = False
        self._stopper: _Stopper | None = None
        self._witness = Witness(folder, trainer.pid)
        self._hang = _Hang(folder / EVENTS_FILE, settings.hang_s)

    def run(self) -> int:
        """Until the trainer has ended and the database knows; 0 unless the job was taken over by somebody else."""
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._interrupt)
        with contextlib.closing(_Exit(self._trainer)) as trainer_exit:
            held = self._watch(trainer_exit)
        # Its children, if it left any. Not yet waited for, its number is still its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._trainer.pid, signal.SIGKILL)
        status = self._trainer.wait()
        if not held:
            _log.error("the lease is lost: the trainer was stopped, the job is left as it is")
            return 1
        killed_because = self._stopper.killed_because if self._stopper else None
        facts = self._witness.last_look()
        try:
            notes.note_exit(self._folder, status, killed_because)
        except OSError as error:  # a full disk, say; the database may still be told
            _log.error("the exit status %s could not be saved: %s", status, error)
        # From here on the locks are held only by what the trainer may have left alive; the next attempt waits for that.
        for lock in self._locks:
            lock.close()
        self._conclude(status, killed_because, facts)
        return 0

    def _watch(self, trainer_exit: "_Exit") -> bool:
        held = self._beat(True)
        beat_at, ingest_at = time.monotonic() + self._settings.heartbeat_s, 0.0
        while not trainer_exit.wait(_TICK_S):
            now = time.monotonic()
            if now >= beat_at:
                beat_at = now + self._settings.heartbeat_s
                held = self._beat(held)
            if now >= ingest_at:
                ingest_at = now + _INGEST_S
                self._ingest()
            self._witness.look(now)
            if self._hang.seems(now):
                self._stop(0.0, f"the trainer reported nothing for {self._hang.limit_s:.0f} s and was stopped")
            if self._interrupted:
                self._stop(
                    self._settings.pause_grace_s,
                    "the supervisor was told to stop, but the trainer did not stop by itself",
                )
            if self._stopper:
                self._stopper.go_on(now)
        return held

    def _ingest(self) -> None:
        """Whatever is wrong with what the trainer reports, it goes on. A lasting fault is logged once."""
        try:
            ingest.ingest(self._store, self._job_id, self._number, self._token, self._folder)
            self._is_ingest_broken = False
        except StoreUnavailable:
            pass
        except Exception:
            if not self._is_ingest_broken:
                _log.exception("the trainer's reports cannot be read; trying again each second")
            self._is_ingest_broken = True

    def _beat(self, held: bool) -> bool:
        try:
            beat = heartbeat.beat(
                self._store, self._job_id, self._number, self._token, self._settings.lease_s, self._started
            )
        except StoreUnavailable as error:
            _log.warning("the database does not answer, training goes on: %s", error)
            return held
        if not beat.held:
            self._stop(self._settings.stop_grace_s, "the lease was lost")
        elif beat.stop is Stop.CANCEL:
            self._stop(self._settings.stop_grace_s, "cancelled, and the trainer did not stop by itself")
        elif beat.stop is Stop.PAUSE:
            self._stop(self._settings.pause_grace_s, "paused, and the trainer did not stop by itself")
        return beat.held

    def _stop(self, grace_s: float, because: str) -> None:
        """Begin to end the trainer; a more urgent wish than the one before shortens its time."""
        if self._stopper is None:
            self._stopper = _Stopper(self._trainer, grace_s, because)
        else:
            self._stopper.hurry(grace_s, because)

    def _interrupt(self, *_: Any) -> None:
        self._interrupted = True

    def _conclude(self, status: int, killed_because: str | None, facts: Facts) -> None:
        deadline = time.monotonic() + _DATABASE_PATIENCE_S
        while True:
            try:
                held = HeldAttempt(self._job_id, self._number, self._token, self._folder)
                finish_attempt(self._store, held, TrainerEnd(status, killed_because, facts))
                break
            except StoreUnavailable as error:
                if time.monotonic() > deadline:
                    _log.error("the database still does not answer; the outcome is kept on disk")
                    return
                _log.warning("the database does not answer, the outcome waits: %s", error)
                time.sleep(2.0)
        wake_workers_now(self._settings)


class _Exit:
    """The trainer's exit, waited for without polling, and without taking its exit status."""

    def __init__(self, trainer: "subprocess.Popen[bytes]") -> None:
        self._descriptor = os.pidfd_open(trainer.pid)
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        return bool(self._poll.poll(seconds * 1000))

    def close(self) -> None:
        os.close(self._descriptor)


class _Stopper:
    """SIGTERM, then, when the grace is over, SIGKILL to the trainer's own group."""

    def __init__(self, trainer: "subprocess.Popen[bytes]", grace_s: float, because: str) -> None:
        self._trainer = trainer
        self._because = because
        self._kill_at = time.monotonic() + grace_s
        self.killed_because: str | None = None
        if grace_s:
            trainer.terminate()

    def hurry(self, grace_s: float, because: str) -> None:
        kill_at = time.monotonic() + grace_s
        if kill_at < self._kill_at:
            self._kill_at, self._because = kill_at, because

    def go_on(self, now: float) -> None:
        if now >= self._kill_at and self.killed_because is None:
            self.killed_because = self._because
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._trainer.pid, signal.SIGKILL)


class _Hang:
    """No event for so long that it cannot be slowness. What is usual is learned from the longest silence so far."""

    def __init__(self, events: Path, least_s: float) -> None:
        self._events = events
        self._size = -1
        self._since = time.monotonic()
        self._longest = 0.0
        self._least_s = least_s

    @property
    def limit_s(self) -> float:
        return max(self._least_s, 10 * self._longest)

    def seems(self, now: float) -> bool:
        try:
            size = self._events.stat().st_size
        except OSError:
            size = 0
        if size != self._size:
            self._longest = max(self._longest, now - self._since) if self._size >= 0 else 0.0
            self._size, self._since = size, now
        return now - self._since > self.limit_s
