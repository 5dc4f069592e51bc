"""A test box whose processes can be killed and stopped, and a check that nothing ran twice."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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

TRAINER = f"{sys.executable} {Path(__file__).with_name('exclusive_trainer.py')}"


class FaultBox(Box):
    """`check()` holds whatever was killed. `close()` kills what a test left running."""

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
        """Kill the process and the rest of its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def running(self, job_id: int, number: int = 1) -> Running:
        """The processes of an attempt, once it has started."""
        folder = attempt_dir(self.settings, job_id, number)
        return self.until(f"attempt {number}", lambda: Running.read(folder))

    def until_step(self, job_id: int, step: int, number: int = 1) -> None:
        """By the trainer's own events, not by the database."""
        events = attempt_dir(self.settings, job_id, number) / "events.jsonl"

        def reached() -> bool:
            lines = events.read_text().splitlines() if events.exists() else []
            return any(json.loads(line).get("step", 0) >= step for line in lines)

        self.until(f"step {step}", reached)

    def start_training(self, steps: int, step_s: float, until_step: int) -> tuple[int, Running]:
        """Start a job and wait until it has done this step, at which it stays until `go`; later trainers do not.

        Returns the job and its processes.
        """
        self.hold(until_step, step_s=step_s)
        job_id = self.submit(train={"steps": steps, "batch_size": 4})
        self.work()
        running = self.running(job_id)
        self.until_step(job_id, until_step)
        self.behave(step_s=step_s)
        return job_id, running

    def start_deaf_trainer(self) -> tuple[int, Running]:
        """Start a job whose trainer ignores SIGTERM; later trainers do not. Returns the job and its processes."""
        self.behave(die="deaf", die_at_step=1)
        job_id = self.submit()
        self.work()
        running = self.running(job_id)
        self.until_step(job_id, 1)
        self.behave()
        return job_id, running

    def kill_both(self, running: Running) -> None:
        """Kill trainer and supervisor as the end of a container does: neither sees the other end."""
        os.kill(running.supervisor, signal.SIGSTOP)
        os.kill(running.trainer, signal.SIGKILL)
        os.kill(running.supervisor, signal.SIGKILL)

    def until_dead(self, pid: int) -> None:
        self.until(f"the death of {pid}", lambda: start_time(pid) is None)

    def until_state(self, job_id: int, state: State) -> None:
        self.until(f"{state}", lambda: self.job(job_id).state == state)

    def devices(self) -> int:
        with self.store.reading() as session:
            return session.query(Device).count()

    # What must hold

    def check(self) -> None:
        """Check what must hold after any fault: no trainer ran twice, and every job is final or queued."""
        doubles = self.home / "doubles.txt"
        assert not doubles.exists(), doubles.read_text()
        lines = self.observer.read_text().splitlines() if self.observer.exists() else []
        lives = [line.split()[:3] for line in lines if line.startswith("START")]
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
        """By the files alone."""
        folder = job_dir(self.settings, job.id)
        assert (folder / "export" / "saved_model" / "variables" / "variables.index").exists()
        [saved] = folder.glob("checkpoints/*/fake-step")
        assert int(saved.read_text().split()[0]) == job.steps
        assert (saved.parent / f"ckpt-{job.steps}.index").exists()

    def describe(self) -> str:
        log = self.home / "processes.log"
        return (log.read_text()[-4000:] if log.exists() else "") + super().describe()

    def close(self) -> None:
        """Kill whatever a test left running or stopped."""
        self.rest()
        for process in self.started:
            self.kill(process)
        for folder in self.settings.jobs_dir.glob("*/attempt-*"):
            note = Running.read(folder)
            for pid, started in [] if note is None else _processes(note):
                if is_alive(pid, started) and pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
        self.worker.store.close()


MakeBox = Callable[..., FaultBox]


def _processes(note: Running) -> list[tuple[int, int | None]]:
    return [(note.supervisor, note.supervisor_started), (note.trainer, note.trainer_started)]


def wait(seconds: float) -> None:
    """Wait for real time: that something does not happen has no sign to wait for."""
    time.sleep(seconds)
