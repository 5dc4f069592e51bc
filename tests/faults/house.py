"""A box whose parts can be killed, stopped and taken away; and a witness that says whether anything ran twice."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from launcher import private_redis
from services.attempt_paths import attempt_dir, job_dir
from services.domain.jobs.states import FINAL, State
from services.store.engine import Store
from services.store.models import Attempt, Device, Job
from tests.support.box import ROOT, Box
from worker.notes import Running
from worker.process_locks import is_alive, start_time

TRAINER = f"{sys.executable} {Path(__file__).with_name('witness.py')}"


class House(Box):
    def __init__(self, home: Path, store: Store, monkeypatch: Any, **options: Any) -> None:
        super().__init__(home, store, monkeypatch, **{"trainer": TRAINER, "stop_grace_s": 1.0, **options})
        self.started: list[subprocess.Popen[bytes]] = []

    # Processes of the service

    def start_worker(self) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, **self.settings.to_environment(), "FAKE_TRAINER": str(self.behaviour_file)}
        return self._start([sys.executable, "-m", "worker"], environment)

    def start_redis(self) -> "subprocess.Popen[bytes]":
        redis = self._start([*private_redis.program(self.settings).command], dict(os.environ))
        self.until("Redis", self.settings.redis_socket.exists)
        return redis

    def _start(self, command: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
        with (self.home / "processes.log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.started.append(process)
        return process

    # Faults

    def kill(self, process: "subprocess.Popen[bytes]") -> None:
        """It and whatever it has started in its own group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def running(self, job_id: int, number: int = 1) -> Running:
        """The processes of an attempt that trains, once it does."""
        folder = attempt_dir(self.settings, job_id, number)
        return self.until(f"attempt {number}", lambda: Running.read(folder))

    def until_step(self, job_id: int, step: int, number: int = 1) -> None:
        """As the trainer wrote it down, not as the database knows it."""
        events = attempt_dir(self.settings, job_id, number) / "events.jsonl"

        def reached() -> bool:
            lines = events.read_text().splitlines() if events.exists() else []
            return any(json.loads(line).get("step", 0) >= step for line in lines)

        self.until(f"step {step}", reached)

    def until_dead(self, pid: int) -> None:
        self.until(f"the death of {pid}", lambda: start_time(pid) is None)

    def until_state(self, job_id: int, state: State) -> None:
        self.until(f"{state}", lambda: self.job(job_id).state == state)

    def devices(self) -> int:
        with self.store.reading() as session:
            return session.query(Device).count()

    # The witness

    def check(self) -> None:
        """What must hold whatever happened."""
        doubles = self.home / "doubles.txt"
        assert not doubles.exists(), doubles.read_text()
        told = self.observer.read_text().splitlines() if self.observer.exists() else []
        lives = [line.split()[:3] for line in told if line.startswith("START")]
        assert len(lives) == len({tuple(life) for life in lives}), "an attempt was started twice"
        with self.store.reading() as session:
            for job in session.query(Job):
                assert job.state in FINAL or job.state == State.QUEUED, (job.id, job.state)
                assert job.state != State.FAILED or job.reason
                made = session.query(Attempt).filter_by(job_id=job.id).order_by(Attempt.number).all()
                assert [attempt.number for attempt in made] == list(range(1, job.attempts + 1))
                assert all(attempt.ended_at for attempt in made)
                if job.state == State.SUCCEEDED:
                    assert (made[-1].exit_status in (0, None), made[-1].reason) == (True, "completed")
                    self._check_success(job)
        assert self.leases() == []

    def _check_success(self, job: Job) -> None:
        """By the files alone, not by what anybody says of them."""
        folder = job_dir(self.settings, job.id)
        assert (folder / "export" / "saved_model" / "variables" / "variables.index").exists()
        [saved] = folder.glob("checkpoints/*/fake-step")
        assert int(saved.read_text().split()[0]) == job.steps
        assert (saved.parent / f"ckpt-{job.steps}.index").exists()

    def describe(self) -> str:
        log = self.home / "processes.log"
        return (log.read_text()[-4000:] if log.exists() else "") + super().describe()

    def close(self) -> None:
        """Whatever a test has left alive, stopped or not."""
        self.rest()
        for process in self.started:
            self.kill(process)
        for folder in self.settings.jobs_dir.glob("*/attempt-*"):
            note = Running.read(folder)
            for pid, started in [] if note is None else _both(note):
                if is_alive(pid, started) and pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
        self.worker.store.close()


def _both(note: Running) -> list[tuple[int, int | None]]:
    return [(note.supervisor, note.supervisor_started), (note.trainer, note.trainer_started)]


def wait(seconds: float) -> None:
    """For what must not happen, there is no sign to wait for."""
    time.sleep(seconds)
