"""Faults at random, from a seed: whatever happens, every job ends once and no two trainers meet.

FAULTS=300 (or `make faults N=300`) tries as many; FAULTS_SEED begins elsewhere.
"""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable

import pytest

from services import lifecycle
from services.domain.states import FINAL, State, WrongState
from services.errors import Conflict
from tests.faults.house import House, wait
from worker.host import is_alive
from worker.places import Running

MakeHouse = Callable[..., House]

TRIALS = int(os.environ.get("FAULTS") or 2)
SEED = int(os.environ.get("FAULTS_SEED") or 1)
END_S = 90.0


class Trial:
    """Some jobs on two devices, and an evil spirit among them for a few seconds."""

    def __init__(self, house: House, seed: int) -> None:
        self.house = house
        self.chance = random.Random(seed)
        self.jobs = [
            house.submit(
                train={"steps": self.chance.randint(2, 6), "batch_size": 4}, priority=self.chance.randint(-2, 0)
            )
            for _ in range(4)
        ]
        self.stopped: list[tuple[int, int | None]] = []
        self.done: list[str] = []

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
        ]
        while time.monotonic() < deadline:
            self.chance.choice(faults)()
            wait(self.chance.uniform(0.05, 0.5))
        while self.stopped:
            self.let_go_on()

    def running(self) -> list[Running]:
        folders = self.house.settings.jobs_dir.glob("*/attempt-*")
        found = [note for note in map(Running.read, folders) if note is not None]
        return [note for note in found if is_alive(note.supervisor, note.supervisor_started)]

    def kill_supervisor(self) -> None:
        for note in self.running()[:1]:
            self.signal(note.supervisor, signal.SIGKILL)

    def kill_trainer(self) -> None:
        for note in self.running()[-1:]:
            if is_alive(note.trainer, note.trainer_started):
                self.signal(note.trainer, signal.SIGKILL)

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
        self.house.rest()
        self.house.work()

    def look_twice(self) -> None:
        """As a wake-up that comes while the regular look is under way."""
        self.house.worker.dispatch()

    def pause_and_resume(self) -> None:
        job_id = self.chance.choice(self.jobs)
        with contextlib.suppress(WrongState, Conflict):
            if self.house.job(job_id).state == State.PAUSED:
                lifecycle.resume(self.house.store, self.house.settings, self.house.owner, job_id)
            else:
                lifecycle.pause(self.house.store, self.house.owner, job_id)

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
                        lifecycle.resume(self.house.store, self.house.settings, self.house.owner, job_id)
            states = [(job_id, str(self.house.job(job_id).state)) for job_id in self.jobs]
            assert time.monotonic() < deadline, f"{states} after {self.done}\n{self.house.describe()}"
            wait(0.1)


@pytest.mark.timeout(0 if TRIALS > 5 else 300)
def test_whatever_goes_wrong_every_job_ends_once_and_no_two_trainers_meet(make_house: MakeHouse) -> None:
    house = make_house(devices="cpu:1000,cpu:1001", pause_grace_s=1.0, lease_s=1.0)
    house.behave(step_s=0.1)
    house.work()
    for seed in range(SEED, SEED + TRIALS):
        trial = Trial(house, seed)
        trial.trouble(seconds=4.0)
        trial.end()
        house.check()
