"""The service that the browser tests look at, and the people who use it."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from services.settings import Settings
from services.store.engine import Store
from tests.newcomer import Newcomer, Started, until

__all__ = ["PASSWORD", "Service"]

PASSWORD = "correct horse battery staple"
_FINAL = ("succeeded", "failed", "cancelled")


class Service:
    """Started as people start it. Its people: the admin (by token), anna (a member), vera (a viewer)."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.newcomer = Newcomer(folder)
        self.home = self.newcomer.home
        self._settings = settings
        self.started: Started = self.newcomer.start(**settings)
        self.url = self.started.until_ready()
        self.client: httpx.Client = self.started.client()
        self.token = (self.home / "admin-token").read_text().strip()
        self.settings = Settings(home=self.home)
        self.states: dict[str, Any] = {}  # who has logged in, as the browser keeps it
        for name, role in (("anna", "member"), ("vera", "viewer")):
            self.ask("POST", "/v1/users", {"name": name, "role": role, "password": PASSWORD})
        until("devices", lambda: self.ask("GET", "/v1/devices")["items"])

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def submit(self, steps: int = 3, **request: Any) -> int:
        wanted = {
            "dataset": "shapes",
            "model": "efficientdet_d0",
            "image_size": [256, 256],
            "train": {"steps": steps, "batch_size": 4},
            **request,
        }
        job: int = self.ask("POST", "/v1/jobs", wanted)["id"]
        return job

    def job(self, job_id: int) -> Any:
        return self.ask("GET", f"/v1/jobs/{job_id}")

    def until_state(self, job_id: int, *states: str) -> Any:
        def reached() -> Any:
            job = self.job(job_id)
            return job if job["state"] in states else None

        return until(f"job {job_id} {states}", reached)

    def finished(self, **request: Any) -> int:
        """A job that has succeeded."""
        job_id = self.submit(**request)
        assert self.until_state(job_id, *_FINAL)["state"] == "succeeded"
        return job_id

    def behave(self, **behaviour: Any) -> None:
        """How trainers that are started from now on behave (tests/fake_trainer.py)."""
        self.newcomer.behave(**behaviour)

    def busy(self) -> None:
        """Trainers from now on go on until they are told to stop."""
        self.behave(step_s=0.5)

    def open_jobs(self) -> Sequence[Any]:
        items: Sequence[Any] = self.ask("GET", "/v1/jobs?limit=200&state=queued&state=running&state=paused")["items"]
        return items

    def tidy(self) -> None:
        """Nothing runs and nothing waits, for the next test."""
        self.behave()
        for job in self.open_jobs():
            with suppress(AssertionError):  # it has ended meanwhile
                self.ask("POST", f"/v1/jobs/{job['id']}/cancel")
        until("rest", lambda: not self.open_jobs())

    def store(self) -> Store:
        return Store.open(self.settings.database_url)

    def close(self) -> None:
        self.client.close()
        self.newcomer.close()
