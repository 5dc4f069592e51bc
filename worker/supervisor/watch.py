"""Watch one trainer: send heartbeats, ingest its reports, stop it on request, and store its outcome when it ends."""

import contextlib
import datetime
import logging
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.attempts import heartbeat, ingest
from services.attempts.finish import HeldAttempt, TrainerEnd, finish_attempt
from services.broker import wake_workers_now
from services.devices import quarantine
from services.domain.contract import EVENTS_FILE
from services.domain.jobs.states import Stop
from services.settings import Settings
from services.store.engine import Store, StoreUnavailable
from worker import notes, stuck_processes
from worker.process_locks import Lock, is_doomed
from worker.supervisor.observer import Observer

__all__ = ["Supervision", "Trainer"]

_TICK_S = 0.25
_INGEST_S = 1.0
_DATABASE_TIMEOUT_S = 600.0  # then the outcome stays on disk, and the reaper stores it
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trainer:
    """A trainer that was started, the locks that it inherited, and the key of its device."""

    process: "subprocess.Popen[bytes]"
    started_at: datetime.datetime
    locks: Sequence[Lock]
    device_key: str


class Supervision:
    def __init__(self, settings: Settings, attempt: HeldAttempt, trainer: Trainer) -> None:
        self._settings = settings
        self._store = Store.open(settings.database_url)
        self._attempt = attempt
        self._trainer = trainer
        self._interrupted = False
        self._is_ingest_broken = False
        self._stopper: _Stopper | None = None
        self._device_problem: str | None = None  # a process that does not end
        self._observer = Observer(attempt.folder, trainer.process.pid)
        self._hang = _HangDetector(attempt.folder / EVENTS_FILE, settings.hang_s)

    def run(self) -> int:
        """Watch the trainer until it has ended, then store its outcome.

        Returns 1 if a heartbeat found the lease lost, else 0, also where the outcome is left to the reaper.
        """
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._interrupt)
        with contextlib.closing(_TrainerExit(self._trainer.process.pid)) as trainer_exit:
            is_leased = self._watch(trainer_exit)
        status = self._collect_exit_status()
        if not is_leased:
            _log.error("the lease is lost: the trainer was stopped, the job is left as it is")
            return 1
        end = TrainerEnd(status, self._stopper.killed_because if self._stopper else None, self._observer.finish())
        try:
            notes.note_exit(self._attempt.folder, status, end.killed_because)
        except OSError as error:  # for example a full disk; the database may still accept it
            _log.error("the exit status %s could not be saved: %s", status, error)
        # From here on, only processes that the trainer left behind can hold the locks. The next attempt waits for them.
        for lock in self._trainer.locks:
            lock.close()
        self._finish(end)
        return 0

    def _collect_exit_status(self) -> int:
        """Kill the children that the trainer left behind, then collect its exit status.

        In this order: until the status is collected, the kernel gives the trainer's pid to no other process. A trainer
        that the kernel does not let die counts as killed, and is left behind.
        """
        pid = self._trainer.process.pid
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if self._is_stuck():
            _log.error("process %s does not end after SIGKILL: its device stays locked until it is gone", pid)
            key = self._trainer.device_key
            self._device_problem = stuck_processes.leave_behind(self._settings, pid, self._attempt.job_id, key)
            return -signal.SIGKILL
        return self._trainer.process.wait()

    def _is_stuck(self) -> bool:
        killed_at = self._stopper.killed_at if self._stopper else None
        is_overdue = killed_at is not None and time.monotonic() - killed_at > self._settings.unkillable_s
        return is_overdue and is_doomed(self._trainer.process.pid)

    def _watch(self, trainer_exit: "_TrainerExit") -> bool:
        """Until the trainer exits or is stuck; returns whether the lease was still held at the last heartbeat."""
        held = self._beat(True)
        beat_at, ingest_at = time.monotonic() + self._settings.heartbeat_s, 0.0
        while not trainer_exit.wait(_TICK_S) and not self._is_stuck():
            now = time.monotonic()
            if now >= beat_at:
                beat_at = now + self._settings.heartbeat_s
                held = self._beat(held)
            if now >= ingest_at:
                ingest_at = now + _INGEST_S
                self._ingest()
            self._observer.poll(now)
            if self._hang.is_hung(now):
                self._stop(0.0, f"the trainer reported nothing for {self._hang.limit_s:.0f} s and was stopped")
            if self._interrupted:
                self._stop(
                    self._settings.pause_grace_s,
                    "the supervisor was told to stop, but the trainer did not stop by itself",
                )
            if self._stopper:
                self._stopper.kill_if_due(now)
        return held

    def _ingest(self) -> None:
        """Reports that cannot be read never stop the training. An error that repeats is logged once."""
        try:
            attempt = self._attempt
            ingest.ingest(self._store, attempt.job_id, attempt.number, attempt.token, attempt.folder)
            self._is_ingest_broken = False
        except StoreUnavailable:
            pass
        except Exception:
            if not self._is_ingest_broken:
                _log.exception("the trainer's reports cannot be read; trying again every second")
            self._is_ingest_broken = True

    def _beat(self, held_before: bool) -> bool:
        """Renew the lease and begin to stop the trainer if asked; returns whether the lease is held."""
        attempt, lease_s, started_at = self._attempt, self._settings.lease_s, self._trainer.started_at
        try:
            beat = heartbeat.beat(self._store, attempt.job_id, attempt.number, attempt.token, lease_s, started_at)
        except StoreUnavailable as error:
            _log.warning("the database does not answer, training goes on: %s", error)
            return held_before
        if not beat.held:
            self._stop(self._settings.stop_grace_s, "the lease was lost")
        elif beat.stop is Stop.CANCEL:
            self._stop(self._settings.stop_grace_s, "cancelled, and the trainer did not stop by itself")
        elif beat.stop is Stop.PAUSE:
            self._stop(self._settings.pause_grace_s, "paused, and the trainer did not stop by itself")
        return beat.held

    def _stop(self, grace_s: float, because: str) -> None:
        """Begin to stop the trainer. If that has begun already, a shorter grace period replaces the longer one."""
        if self._stopper is None:
            self._stopper = _Stopper(self._trainer.process, grace_s, because)
        else:
            self._stopper.shorten(grace_s, because)

    def _interrupt(self, *_: Any) -> None:
        self._interrupted = True

    def _finish(self, end: TrainerEnd) -> None:
        """Store the outcome. If the database does not answer in time, it stays on disk for the reaper."""
        deadline = time.monotonic() + _DATABASE_TIMEOUT_S
        while True:
            try:
                if self._device_problem:  # first: the end of the attempt frees the device
                    device_id = f"{self._settings.host}/{self._trainer.device_key}"
                    quarantine.set_problem(self._store, device_id, self._device_problem)
                finish_attempt(self._store, self._attempt, end)
                break
            except StoreUnavailable as error:
                if time.monotonic() > deadline:
                    _log.error("the database still does not answer; the outcome stays on disk")
                    return
                _log.warning("the database does not answer, the outcome waits: %s", error)
                time.sleep(2.0)
        wake_workers_now(self._settings)


class _TrainerExit:
    """Waits until the trainer exits or a time has passed. Does not collect the exit status."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        return bool(self._poll.poll(seconds * 1000))

    def close(self) -> None:
        os.close(self._descriptor)


class _Stopper:
    """Sends SIGTERM, and SIGKILL to the trainer's process group after the grace period. Without one: SIGKILL only."""

    def __init__(self, trainer: "subprocess.Popen[bytes]", grace_s: float, because: str) -> None:
        self._trainer = trainer
        self._because = because
        self._kill_at = time.monotonic() + grace_s
        self.killed_because: str | None = None
        self.killed_at: float | None = None
        if grace_s:
            trainer.terminate()

    def shorten(self, grace_s: float, because: str) -> None:
        kill_at = time.monotonic() + grace_s
        if kill_at < self._kill_at:
            self._kill_at, self._because = kill_at, because

    def kill_if_due(self, now: float) -> None:
        if now >= self._kill_at and self.killed_because is None:
            self.killed_because, self.killed_at = self._because, now
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._trainer.pid, signal.SIGKILL)


class _HangDetector:
    """A trainer hangs if it reports nothing for 10 times its longest silence so far, and for `least_s` at least."""

    def __init__(self, events: Path, least_s: float) -> None:
        self._events = events
        self._size = -1
        self._since = time.monotonic()
        self._longest = 0.0
        self._least_s = least_s

    @property
    def limit_s(self) -> float:
        return max(self._least_s, 10 * self._longest)

    def is_hung(self, now: float) -> bool:
        try:
            size = self._events.stat().st_size
        except OSError:
            size = 0
        if size != self._size:
            self._longest = max(self._longest, now - self._since) if self._size >= 0 else 0.0
            self._size, self._since = size, now
        return now - self._since > self.limit_s
