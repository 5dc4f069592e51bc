"""The service under test, with some users and ways to create jobs."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from services.clock import utc_now
from services.domain.jobs.states import State
from services.settings import Settings
from services.store import training_series
from services.store.engine import Store
from services.store.models import Measurement
from services.users import principal
from tests.support.newcomer import Newcomer, Started, until
from tests.support.training.records import Records

__all__ = ["PASSWORD", "Service"]

PASSWORD = "correct horse battery staple"
FIGURES = {
    "DetectionBoxes_Precision/mAP": 0.41,
    "DetectionBoxes_PerformanceByCategory/mAP/circle": 0.52,
    "DetectionBoxes_PerformanceByCategory/mAP/square": 0.3,
    "images_per_s": 11.5,
    "device_memory_peak": 9e8,
}
_REQUEST = {"dataset": "shapes", "model": "efficientdet_d0", "image_size": [256, 256]}


class Service:
    """Started with `python -m launcher run`. Its users: admin (by token), anna (a member), vera (a viewer)."""

    def __init__(self, newcomer: Newcomer, **settings: str) -> None:
        self.newcomer = newcomer
        self.home = self.newcomer.home
        self.started: Started = self.newcomer.start(**settings)
        self.url = self.started.until_ready()
        self.client: httpx.Client = self.started.client()
        self.token = (self.home / "admin-token").read_text().strip()
        self.settings = Settings(home=self.home)
        self.states: dict[str, Any] = {}  # browser storage of each user that has logged in
        for name, role in (("anna", "member"), ("vera", "viewer")):
            self.ask("POST", "/v1/users", {"name": name, "role": role, "password": PASSWORD})
        until("devices", lambda: self.ask("GET", "/v1/devices")["items"])

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def submit(self, steps: int = 3, **request: Any) -> int:
        wanted = {**_REQUEST, "train": {"steps": steps, "batch_size": 4}, **request}
        job: int = self.ask("POST", "/v1/jobs", wanted)["id"]
        return job

    def job(self, job_id: int) -> Any:
        return self.ask("GET", f"/v1/jobs/{job_id}")

    def until_state(self, job_id: int, *states: str) -> Any:
        def reached() -> Any:
            job = self.job(job_id)
            return job if job["state"] in states else None

        return until(f"job {job_id} {states}", reached)

    def run_job(self, **request: Any) -> int:
        """Submit a job and wait until it has succeeded."""
        job_id = self.submit(**request)
        assert self.until_state(job_id, "succeeded", "failed", "cancelled")["state"] == "succeeded"
        return job_id

    def make_job(self, state: str = "succeeded", attempts: int = 0, **request: Any) -> int:
        """Write a job with this state and number of attempts into the database. No worker claims it."""
        wanted = {**_REQUEST, "device": {"min_memory_mb": 500_000, "wait": True}, **request}
        with self.store() as store:
            admin = principal.authenticate(store, self.token)
            job_id = Records(store, self.settings).job(admin, State(state), attempts, wanted)
            if attempts:
                values = [training_series.Value(name, 40, value, utc_now()) for name, value in FIGURES.items()]
                with store.transaction() as session:
                    training_series.record(session, job_id, attempts, values)
                Image.new("RGB", (64, 32), "teal").save(self.log(job_id, attempts).parent / "samples/step-40-0.png")
        return job_id

    def add_attempt(self, job_id: int, attempt: int) -> None:
        """Write one more attempt of a job that `make_job` wrote."""
        with self.store() as store:
            Records(store, self.settings).attempt(job_id, attempt)

    def log(self, job_id: int, attempt: int) -> Path:
        return self.settings.jobs_dir / str(job_id) / f"attempt-{attempt}" / "train.log"

    def behave(self, **behaviour: Any) -> None:
        """Set how trainers behave that start from now on (tests/support/training/fake_trainer.py)."""
        self.newcomer.behave(**behaviour)

    def hold(self, at: int | str, **behaviour: Any) -> Callable[[], None]:
        """Trainers that start from now on stay at this step, or in this phase, until the result is called."""
        go = self.newcomer.observer.with_name(f"go-{secrets.token_hex(4)}")
        self.behave(waits_for=str(go), waits_at=at, **behaviour)
        return go.touch

    def busy(self) -> None:
        """Trainers that start from now on take long."""
        self.behave(step_s=0.5)

    def open_jobs(self) -> Sequence[Any]:
        items: Sequence[Any] = self.ask("GET", "/v1/jobs?limit=200&state=queued&state=running&state=paused")["items"]
        return items

    def tidy(self) -> None:
        """Cancel all jobs, wait until none runs or waits, and forget what they needed: later plans are as asked."""
        self.behave()
        for job in self.open_jobs():
            with suppress(AssertionError):  # it has just ended
                self.ask("POST", f"/v1/jobs/{job['id']}/cancel")
        until("no open jobs", lambda: not self.open_jobs())
        with self.store() as store, store.transaction() as session:
            session.query(Measurement).delete()

    @contextmanager
    def store(self) -> Iterator[Store]:
        with closing(Store.open(self.settings.database_url)) as store:
            yield store

    def close(self) -> None:
        self.client.close()
        self.newcomer.close()
