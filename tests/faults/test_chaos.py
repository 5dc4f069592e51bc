"""Random faults from a seed: every job ends once, and no two trainers of a job or a device run at the same time.

FAULTS=300 (or `make faults N=300`) is the number of trials on each database. FAULTS_SEED is the first seed.
FAULTS_REPORT is the beginning of the file names of the reports.
"""

import contextlib
import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from services.domain.jobs.states import FINAL, State, WrongState
from services.errors import Conflict
from services.jobs import actions
from services.store.engine import StoreUnavailable
from services.store.models import Attempt, Job
from tests.faults.fault_box import FaultBox, MakeBox, wait
from worker import reaper
from worker.notes import Running
from worker.process_locks import is_alive, start_time

TRIALS = int(os.environ.get("FAULTS") or 2)
SEED = int(os.environ.get("FAULTS_SEED") or 1)
END_S = 90.0  # after the last fault
LONG = 25  # steps: long enough to be killed twice


class Trial:
    """Some jobs on two devices, and random faults for a few seconds."""

    def __init__(self, box: FaultBox, seed: int) -> None:
        self.box = box
        self.random = random.Random(seed)
        self.jobs = [
            box.submit(
                train={"steps": self.random.choice([2, 6, LONG]), "batch_size": 4}, priority=self.random.randint(-2, 0)
            )
            for _ in range(4)
        ]
        self.stopped: list[tuple[int, int | None]] = []
        self.faults: list[str] = []
        self.lost: list[tuple[int, int | None]] = []  # processes that no note names any more
        self.killed: Counter[int] = Counter()  # by job: how often its supervisor and trainer were killed together

    def inject_faults(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        kinds = [
            self.kill_supervisor,
            self.kill_trainer,
            self.stop_supervisor,
            self.continue_supervisor,
            self.restart_worker,
            self.dispatch_twice,
            self.pause_and_resume,
            self.kill_both,
            self.kill_both_twice,
            self.kill_after_completion,
            self.lose_note,
            self.garble_note,
        ]
        while time.monotonic() < deadline:
            self.random.choice(kinds)()
            wait(self.random.uniform(0.05, 0.5))
        while self.stopped:
            self.continue_supervisor()

    def notes(self) -> list[tuple[Path, Running]]:
        """The notes of attempts whose supervisor lives, each with its folder."""
        folders = self.box.settings.jobs_dir.glob("*/attempt-*")
        found = [(folder, note) for folder in folders if (note := Running.read(folder)) is not None]
        alive = [(folder, note) for folder, note in found if is_alive(note.supervisor, note.supervisor_started)]
        return [
            (folder, note) for folder, note in alive if note.supervisor != os.getpid()
        ]  # a garbled note names this test

    def running(self) -> list[Running]:
        return [note for _, note in self.notes()]

    def kill_supervisor(self) -> None:
        for note in self.running()[:1]:
            self.signal(note.supervisor, signal.SIGKILL)

    def kill_trainer(self) -> None:
        for note in self.running()[-1:]:
            if is_alive(note.trainer, note.trainer_started):
                self.signal(note.trainer, signal.SIGKILL)

    def kill_both(self) -> None:
        """As the end of a container does: neither sees the other end."""
        for folder, note in self.notes()[:1]:
            self.kill_attempt(folder, note)

    def kill_both_twice(self) -> None:
        """Kill one job twice, with progress in between. Only once in a trial, because it is slow."""
        long = [found for found in self.notes() if self.job_of(found[0]).steps == LONG]
        if self.killed or not long:
            return
        folder, note = long[0]
        self.kill_attempt(folder, note)
        deadline, again = time.monotonic() + 30.0, None
        while again is None and time.monotonic() < deadline and self.job_of(folder).state not in FINAL:
            wait(0.1)
            again = self.next_attempt_with_checkpoint(folder)
        if again:
            self.kill_attempt(*again)

    def job_of(self, folder: Path) -> Job:
        return self.box.job(int(folder.parent.name))

    def next_attempt_with_checkpoint(self, folder: Path) -> tuple[Path, Running] | None:
        """The attempt after the one of `folder`, once it has saved a checkpoint."""
        following = folder.with_name(f"attempt-{int(folder.name.removeprefix('attempt-')) + 1}")
        events = following / "events.jsonl"
        if not events.exists() or '"checkpoint"' not in events.read_text():
            return None
        return next((found for found in self.notes() if found[0] == following), None)

    def kill_attempt(self, folder: Path, note: Running) -> None:
        self.signal(note.supervisor, signal.SIGSTOP)
        if is_alive(note.trainer, note.trainer_started):
            self.signal(note.trainer, signal.SIGKILL)
        self.signal(note.supervisor, signal.SIGKILL)
        self.killed[int(folder.parent.name)] += 1
        self.did(f"double kill {self.killed[int(folder.parent.name)]} of one job")

    def kill_after_completion(self) -> None:
        """Stop the supervisor so that it misses the end of the trainer, then kill it."""
        for folder, note in self.notes()[-1:]:
            self.signal(note.supervisor, signal.SIGSTOP)
            deadline = time.monotonic() + 2.0
            while time.monotonic() < deadline and is_alive(note.trainer, note.trainer_started):
                wait(0.05)
            if is_alive(note.trainer, note.trainer_started):
                self.signal(note.supervisor, signal.SIGCONT)
            else:
                self.did("end unseen" + (" after an outcome" if (folder / "outcome.json").exists() else ""))
                self.signal(note.supervisor, signal.SIGKILL)

    def lose_note(self) -> None:
        """Delete a note, and kill its supervisor in half of the cases."""
        for folder, note in self.notes()[:1]:
            (folder / "supervisor.json").unlink(missing_ok=True)
            self.did("note lost")
            self.lost.append((note.supervisor, note.supervisor_started))
            self.lost.append((note.trainer, note.trainer_started))
            if self.random.random() < 0.5:
                self.signal(note.supervisor, signal.SIGKILL)

    def all_lost_are_dead(self) -> bool:
        return not any(is_alive(*one) for one in self.lost)

    def garble_note(self) -> None:
        mine = {"supervisor": os.getpid(), "supervisor_started": start_time(os.getpid())}
        for folder, note in self.notes()[-1:]:
            garbled: list[Any] = [
                {**vars(note), "of_a_later_version": 1},
                {"trainer": note.trainer},
                {**mine, "trainer": os.getpid(), "trainer_started": start_time(os.getpid())},
                {"supervisor": 0, "trainer": -1},
                [vars(note)],
            ]
            (folder / "supervisor.json").write_text(json.dumps(self.random.choice(garbled)))
            self.did("note garbled")
            self.lost.append((note.supervisor, note.supervisor_started))
            self.lost.append((note.trainer, note.trainer_started))
            if self.random.random() < 0.5:
                self.signal(note.supervisor, signal.SIGKILL)

    def did(self, what: str) -> None:
        self.faults.append(what)

    def stop_supervisor(self) -> None:
        for note in self.running()[:1]:
            self.signal(note.supervisor, signal.SIGSTOP)
            self.stopped.append((note.supervisor, note.supervisor_started))

    def continue_supervisor(self) -> None:
        if self.stopped:
            pid, started = self.stopped.pop(0)
            if is_alive(pid, started):
                self.signal(pid, signal.SIGCONT)

    def restart_worker(self) -> None:
        self.did("worker restarted")
        self.box.rest()
        self.box.work()

    def dispatch_twice(self) -> None:
        """Like a wake-up during a regular poll."""
        self.did("second dispatch")
        self.box.worker.dispatch()

    def pause_and_resume(self) -> None:
        job_id = self.random.choice(self.jobs)
        self.did("pause or resume")
        try:
            if self.box.job(job_id).state == State.PAUSED:
                actions.resume(self.box.store, self.box.settings, self.box.owner, job_id)
            else:
                actions.pause(self.box.store, self.box.owner, job_id)
        except (WrongState, Conflict):
            pass
        except StoreUnavailable:  # a supervisor was stopped while it had SQLite's write lock
            self.did("pause refused: database locked")

    def signal(self, pid: int, number: signal.Signals) -> None:
        self.faults.append(f"{number.name} {pid}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def until_all_end(self) -> None:
        """Without further faults, every job must end."""
        deadline = time.monotonic() + END_S
        while not all(self.box.job(job_id).state in FINAL for job_id in self.jobs):
            for job_id in self.jobs:
                with contextlib.suppress(WrongState):
                    if self.box.job(job_id).state == State.PAUSED:
                        actions.resume(self.box.store, self.box.settings, self.box.owner, job_id)
            states = [(job_id, str(self.box.job(job_id).state)) for job_id in self.jobs]
            assert time.monotonic() < deadline, f"{states} after {self.faults}\n{self.box.describe()}"
            wait(0.1)


@pytest.mark.timeout(0 if TRIALS > 5 else 600)
def test_after_random_faults_every_job_has_ended_once_and_no_two_trainers_overlapped(
    make_box_on_both: MakeBox, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(reaper, "_STARTING_S", 3.0)  # so that a claim without a note is reaped within a trial
    box = make_box_on_both(devices="cpu:1000,cpu:1001", pause_grace_s=1.0, lease_s=1.0)
    box.behave(step_s=0.1)
    box.work()
    done: Counter[str] = Counter()
    for number, seed in enumerate(range(SEED, SEED + TRIALS), 1):
        trial = Trial(box, seed)
        trial.inject_faults(seconds=4.0)
        trial.until_all_end()
        box.check()
        check_failures(box)
        box.until(f"the death of {trial.lost}", trial.all_lost_are_dead)
        done.update(what.split(" ")[0] if what.startswith("SIG") else what for what in trial.faults)
        report(box, request.node.name, number, done)


def check_failures(box: FaultBox) -> None:
    """A job may fail only because it was killed too often without progress."""
    with box.store.reading() as session:
        for job in session.query(Job).filter_by(state=State.FAILED):
            ends = [one.diagnosis for one in session.query(Attempt).filter_by(job_id=job.id).order_by(Attempt.number)]
            assert ends[-1] in ("unknown_kill", "interrupted"), (job.id, job.reason, ends)
            reason = job.reason or ""
            assert "without a new checkpoint" in reason or "before a first step" in reason


def report(box: FaultBox, name: str, rounds: int, done: Counter[str]) -> None:
    """Write the faults so far, and how all jobs ended, if FAULTS_REPORT is set."""
    path = os.environ.get("FAULTS_REPORT")
    if not path:
        return
    with box.store.reading() as session:
        states = Counter(state for (state,) in session.query(Job.state))
        ends = Counter(diagnosis for (diagnosis,) in session.query(Attempt.diagnosis))
        unseen = session.query(Attempt).filter_by(diagnosis="completed", exit_status=None).count()
    counted = {"rounds": rounds, "faults": dict(done), "jobs": dict(states), "attempts": dict(ends)}
    Path(f"{path}.{name}.json").write_text(json.dumps({**counted, "completed unseen": unseen}, indent=1))
