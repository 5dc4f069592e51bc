"""A small installation for tests: home, database, sample data, a worker in this process and the fake trainer."""

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from services.datasets import shapes
from services.domain.jobs.states import FINAL
from services.jobs import actions
from services.jobs import submit as submission
from services.settings import Settings
from services.store import attempts, jobs
from services.store.devices import leases
from services.store.engine import Store
from services.store.models import Attempt, Job
from services.users import principal
from services.users.principal import Principal, Role, Scope
from worker.app import Worker

ROOT = Path(__file__).parents[2]
FAKE_TRAINER = f"{sys.executable} {ROOT / 'tests' / 'support' / 'training' / 'fake_trainer.py'}"
FAKE_QUALIFIER = f"{sys.executable} {ROOT / 'tests' / 'support' / 'training' / 'fake_qualifier.py'}"
TIMEOUT_S = 60.0


class Box:
    """`work()` starts the worker's polling in a thread; `close()` ends everything that was started."""

    def __init__(self, home: Path, store: Store, monkeypatch: Any, devices: str = "cpu:1000", **settings: Any) -> None:
        self.home = home
        self.store = store
        self.behaviour_file = home / "behaviour.json"
        self.checks_file = home / "checks.json"
        self.observer = home / "observer.txt"
        self.settings = Settings(
            **{
                "home": home,
                "database_url": store.engine.url.render_as_string(hide_password=False),
                "broker_url": "redis://127.0.0.1:1/0",  # no broker runs there: polling must be enough
                "devices": devices,
                "host": "box",
                "poll_s": 0.1,
                "heartbeat_s": 0.2,
                "lease_s": 5.0,
                "stop_grace_s": 2.0,
                "pause_grace_s": 5.0,
                "min_free_disk_mb": 1,
                "trainer": FAKE_TRAINER,
                "qualifier": FAKE_QUALIFIER,
                **settings,
            }
        )
        monkeypatch.setenv("FAKE_TRAINER", str(self.behaviour_file))
        monkeypatch.setenv("FAKE_QUALIFIER", str(self.checks_file))
        self._holds = 0
        self.owner = self.furnish()
        self.behave()
        self.worker = Worker(self.settings)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def furnish(self) -> Principal:
        """Fill the home; returns the owner of the jobs that the box submits."""
        shapes.generate(self.settings.datasets_dir / "shapes", train=4, validation=2, size=64)
        return self.user("owner")

    def behave(self, **behaviour: Any) -> None:
        self.behaviour_file.write_text(json.dumps({"observer": str(self.observer), **behaviour}))

    def hold(self, at: int | str, **behaviour: Any) -> None:
        """Trainers that start from now on stay at this step, or in this phase, until the next `go`."""
        self._holds += 1
        self.behave(waits_for=str(self._go_file), waits_at=at, **behaviour)

    def go(self) -> None:
        self._go_file.touch()

    @property
    def _go_file(self) -> Path:
        return self.home / f"go-{self._holds}"

    def checks(self, **by_uuid: Any) -> None:
        """Set what checks of these GPUs find from now on (tests/support/training/fake_qualifier.py)."""
        self.checks_file.write_text(json.dumps(by_uuid))

    def user(self, name: str) -> Principal:
        user_id = principal.create_user(self.store, self.admin, name, Role.MEMBER)
        return Principal(user_id, name, Role.MEMBER, frozenset({Scope.READ, Scope.SUBMIT}))

    @property
    def admin(self) -> Principal:
        return principal.local_principal(self.store)

    def work(self) -> None:
        self._stopped.clear()
        self._thread = threading.Thread(target=self.worker.poll_regularly, args=[self._stopped])
        self._thread.start()

    def rest(self) -> None:
        """Stop polling; supervisors and trainers continue."""
        self._stopped.set()
        if self._thread:
            self._thread.join()
            self._thread = None

    def submit(self, **request: Any) -> int:
        wanted = {
            "dataset": "shapes",
            "model": "efficientdet_d0",
            "image_size": [256, 256],
            "train": {"steps": 3, "batch_size": 4},
            **request,
        }
        return submission.submit(self.store, self.settings, self.owner, wanted).job_id

    def job(self, job_id: int) -> Job:
        with self.store.reading() as session:
            job = jobs.get(session, job_id)
        assert job is not None
        return job

    def attempts(self, job_id: int) -> list[Attempt]:
        with self.store.reading() as session:
            return list(attempts.of_job(session, job_id))

    def leases(self) -> list[Any]:
        with self.store.reading() as session:
            return list(leases.of_host(session, self.settings.host))

    def until(self, what: str, happened: Callable[[], Any], timeout_s: float = TIMEOUT_S) -> Any:
        deadline = time.monotonic() + timeout_s
        while not (found := happened()):
            assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s\n{self.describe()}"
            time.sleep(0.05)
        return found

    def until_final(self, *job_ids: int) -> list[Job]:
        return self.until("the end", lambda: self._final(job_ids))

    def _final(self, job_ids: tuple[int, ...]) -> list[Job] | None:
        found = [self.job(job_id) for job_id in job_ids]
        return found if all(job.state in FINAL for job in found) else None

    def until_phase(self, job_id: int, phase: str) -> None:
        def reached() -> bool:
            made = self.attempts(job_id)
            return bool(made) and made[-1].phase == phase and made[-1].ended_at is None

        self.until(f"phase {phase}", reached)

    def lives(self) -> list[tuple[str, str, float, float]]:
        """(job, device, start, stop) of every fake trainer, from the file that the trainers write."""
        starts: dict[str, tuple[str, str, float]] = {}
        found = []
        for line in self.observer.read_text().splitlines() if self.observer.exists() else []:
            word, job, _, device, pid, at = line.split()
            if word == "START":
                starts[pid] = (job, device, float(at))
            else:
                found.append((*starts.pop(pid), float(at)))
        return found + [(*start, float("inf")) for start in starts.values()]

    def describe(self) -> str:
        lines = []
        for file in sorted(self.settings.jobs_dir.glob("*/attempt-*/*.log")):
            lines.append(f"--- {file.parent.parent.name}/{file.parent.name}/{file.name}\n{file.read_text()[-1500:]}")
        return "\n".join(lines)

    def close(self) -> None:
        self.rest()
        with self.store.reading() as session:
            held = list(leases.of_host(session, self.settings.host))
        for lease in held:
            actions.cancel(self.store, self.admin, lease.job_id)
        if held:
            self.until("the end of training", lambda: not self.leases())
        self.worker.store.close()
