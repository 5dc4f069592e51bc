"""Faults at random, from a seed: whatever happens, every job ends once and no two trainers meet.

FAULTS=300 (or `make faults N=300`) tries as many on each database; FAULTS_SEED begins elsewhere, FAULTS_REPORT names a
file for what was done.
"""

import contextlib
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.domain.jobs.states import FINAL, State, WrongState
from services.errors import Conflict
from services.jobs import actions
from services.store.engine import StoreUnavailable
from services.store.models import Attempt, Job
from tests.faults.house import House, wait
from worker import reaper
from worker.notes import Running
from worker.process_locks import is_alive, start_time

MakeHouse = Callable[..., House]

TRIALS = int(os.environ.get("FAULTS") or 2)
SEED = int(os.environ.get("FAULTS_SEED") or 1)
END_S = 90.0
LONG = 25  # steps: long enough to be killed twice


class Trial:
    """Some jobs on two devices, and an evil spirit among them for a few seconds."""

    def __init__(self, house: House, seed: int) -> None:
        self.house = house
        self.chance = random.Random(seed)
        self.jobs = [
            house.submit(
                train={"steps": self.chance.choice([2, 6, LONG]), "batch_size": 4}, priority=self.chance.randint(-2, 0)
            )
            for _ in range(4)
        ]
        self.stopped: list[tuple[int, int | None]] = []
        self.done: list[str] = []
        self.lost: list[tuple[int, int | None]] = []  # processes that no note tells of any more
        self.killed: Counter[int] = Counter()  # times that supervisor and trainer of a job were killed at once

    def trouble(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        faults = [
            self.kill_supervisor,
            self.kill_trainer,
            self.stop_supervisor,
            self.let_go_on,
            self.restart_worker,
            self.look_twice,
            self.pause_and_resume,
            self.kill_both,
            self.kill_both_twice,
            self.kill_after_completion,
            self.lose_note,
            self.garble_note,
        ]
        while time.monotonic() < deadline:
            self.chance.choice(faults)()
            wait(self.chance.uniform(0.05, 0.5))
        while self.stopped:
            self.let_go_on()

    def notes(self) -> list[tuple[Path, Running]]:
        """Of the attempts whose supervisors live, by the folder."""
        folders = self.house.settings.jobs_dir.glob("*/attempt-*")
        found = [(folder, note) for folder in folders if (note := Running.read(folder)) is not None]
        alive = [(folder, note) for folder, note in found if is_alive(note.supervisor, note.supervisor_started)]
        return [(folder, note) for folder, note in alive if note.supervisor != os.getpid()]  # that one is garbled

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
        """As the end of a container does, so that neither sees the end of the other."""
        for folder, note in self.notes()[:1]:
            self.end_attempt(folder, note)

    def kill_both_twice(self) -> None:
        """Twice in the life of one job, which has gone on in between. Once in a trial: it takes its time."""
        long = [found for found in self.notes() if self.job_of(found[0]).steps == LONG]
        if self.killed or not long:
            return
        folder, note = long[0]
        self.end_attempt(folder, note)
        deadline, again = time.monotonic() + 30.0, None
        while again is None and time.monotonic() < deadline and self.job_of(folder).state not in FINAL:
            wait(0.1)
            again = self.got_on(folder)
        if again:
            self.end_attempt(*again)

    def job_of(self, folder: Path) -> Job:
        return self.house.job(int(folder.parent.name))

    def got_on(self, folder: Path) -> tuple[Path, Running] | None:
        """The attempt that follows the one of `folder`, once it has saved something."""
        following = folder.with_name(f"attempt-{int(folder.name.removeprefix('attempt-')) + 1}")
        events = following / "events.jsonl"
        if not events.exists() or '"checkpoint"' not in events.read_text():
            return None
        return next((found for found in self.notes() if found[0] == following), None)

    def end_attempt(self, folder: Path, note: Running) -> None:
        self.signal(note.supervisor, signal.SIGSTOP)
        if is_alive(note.trainer, note.trainer_started):
            self.signal(note.trainer, signal.SIGKILL)
        self.signal(note.supervisor, signal.SIGKILL)
        self.killed[int(folder.parent.name)] += 1
        self.did(f"double kill {self.killed[int(folder.parent.name)]} of one job")

    def kill_after_completion(self) -> None:
        """Its supervisor sees nothing of the last steps, the outcome and the end."""
        for folder, note in self.notes()[-1:]:
            self.signal(note.supervisor, signal.SIGSTOP)
            deadline = time.monotonic() + 2.0
            while time.monotonic() < deadline and is_alive(note.trainer, note.trainer_started):
                wait(0.05)
            if is_alive(note.trainer, note.trainer_started):
                self.signal(note.supervisor, signal.SIGCONT)
            else:
                self.did("death unseen" + (" after an outcome" if (folder / "outcome.json").exists() else ""))
                self.signal(note.supervisor, signal.SIGKILL)

    def lose_note(self) -> None:
        """With the supervisor alive, or dead a moment later."""
        for folder, note in self.notes()[:1]:
            (folder / "supervisor.json").unlink(missing_ok=True)
            self.did("note lost")
            self.lost.append((note.supervisor, note.supervisor_started))
            self.lost.append((note.trainer, note.trainer_started))
            if self.chance.random() < 0.5:
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
            (folder / "supervisor.json").write_text(json.dumps(self.chance.choice(garbled)))
            self.did("note garbled")
            self.lost.append((note.supervisor, note.supervisor_started))
            self.lost.append((note.trainer, note.trainer_started))
            if self.chance.random() < 0.5:
                self.signal(note.supervisor, signal.SIGKILL)

    def did(self, what: str) -> None:
        self.done.append(what)

    def stop_supervisor(self) -> None:
        for note in self.running()[:1]:
            self.signal(note.supervisor, signal.SIGSTOP)
            self.stopped.append((note.supervisor, note.supervisor_started))

    def let_go_on(self) -> None:
        if self.stopped:
            pid, started = self.stopped.pop(0)
            if is_alive(pid, started):
                self.signal(pid, signal.SIGCONT)

    def restart_worker(self) -> None:
        self.did("worker restarted")
        self.house.rest()
        self.house.work()

    def look_twice(self) -> None:
        """As a wake-up that comes while the regular look is under way."""
        self.did("second look")
        self.house.worker.dispatch()

    def pause_and_resume(self) -> None:
        job_id = self.chance.choice(self.jobs)
        self.did("pause or resume")
        try:
            if self.house.job(job_id).state == State.PAUSED:
                actions.resume(self.house.store, self.house.settings, self.house.owner, job_id)
            else:
                actions.pause(self.house.store, self.house.owner, job_id)
        except (WrongState, Conflict):
            pass
        except StoreUnavailable:  # a supervisor was stopped while it had SQLite's write lock
            self.did("pause refused: database locked")

    def signal(self, pid: int, number: signal.Signals) -> None:
        self.done.append(f"{number.name} {pid}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def end(self) -> None:
        """Nothing more goes wrong: everything must come to an end."""
        deadline = time.monotonic() + END_S
        while not all(self.house.job(job_id).state in FINAL for job_id in self.jobs):
            for job_id in self.jobs:
                with contextlib.suppress(WrongState):
                    if self.house.job(job_id).state == State.PAUSED:
                        actions.resume(self.house.store, self.house.settings, self.house.owner, job_id)
            states = [(job_id, str(self.house.job(job_id).state)) for job_id in self.jobs]
            assert time.monotonic() < deadline, f"{states} after {self.done}\n{self.house.describe()}"
            wait(0.1)


@pytest.mark.timeout(0 if TRIALS > 5 else 600)
def test_whatever_goes_wrong_every_job_ends_once_and_no_two_trainers_meet(
    make_house_on_both: MakeHouse, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(reaper, "_STARTING_S", 3.0)  # a claim without a note is looked after within a trial
    house = make_house_on_both(devices="cpu:1000,cpu:1001", pause_grace_s=1.0, lease_s=1.0)
    house.behave(step_s=0.1)
    house.work()
    done: Counter[str] = Counter()
    for number, seed in enumerate(range(SEED, SEED + TRIALS), 1):
        trial = Trial(house, seed)
        trial.trouble(seconds=4.0)
        trial.end()
        house.check()
        check_failures(house)
        house.until(f"the death of {trial.lost}", trial.all_lost_are_dead)
        done.update(what.split(" ")[0] if what.startswith("SIG") else what for what in trial.done)
        report(house, request.node.name, number, done)


def check_failures(house: House) -> None:
    """A job fails only by the bounds on what was done to it: nothing here is a fault of its own."""
    with house.store.reading() as session:
        for job in session.query(Job).filter_by(state=State.FAILED):
            ends = [one.diagnosis for one in session.query(Attempt).filter_by(job_id=job.id).order_by(Attempt.number)]
            assert ends[-1] in ("unknown_kill", "interrupted"), (job.id, job.reason, ends)
            reason = job.reason or ""
            assert "without a new checkpoint" in reason or "before a first step" in reason


def report(house: House, name: str, rounds: int, done: Counter[str]) -> None:
    """What was tried so far, and how all jobs ended."""
    path = os.environ.get("FAULTS_REPORT")
    if not path:
        return
    with house.store.reading() as session:
        states = Counter(state for (state,) in session.query(Job.state))
        ends = Counter(diagnosis for (diagnosis,) in session.query(Attempt.diagnosis))
        unseen = session.query(Attempt).filter_by(diagnosis="completed", exit_status=None).count()
    told = {"rounds": rounds, "faults": dict(done), "jobs": dict(states), "attempts": dict(ends)}
    Path(f"{path}.{name}.json").write_text(json.dumps({**told, "completed unseen": unseen}, indent=1))
