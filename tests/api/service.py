"""The API over a real store and a home with things in it, asked in process."""

import datetime
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import httpx
from fastapi.testclient import TestClient

from api.app import create_app
from services import accounts, composition, submission, tokens
from services.accounts import Principal, Role, Scope
from services.clock import utc_now
from services.datasets import library
from services.domain import pipeline_config
from services.domain.plans import Plan
from services.domain.states import State
from services.settings import Settings
from services.store import events, jobs, metrics
from services.store.engine import Store
from services.store.models import Attempt, Device, Job, Lease, Token

PROBLEM = "application/problem+json"
BODY: dict[str, Any] = {
    "dataset": "shapes",
    "model": "efficientdet_d0",
    "image_size": [256, 256],
    "train": {"steps": 100, "batch_size": 8},
}
DEVICE = "box/cpu-0"
NOBODY = "dsh_" + "0" * 43


class Service:
    """Four people: an admin, two members, a viewer. `ask` as one of them; None asks without a token."""

    def __init__(self, home: Path, store: Store, sample: Path, **settings: Any) -> None:
        self.store = store
        values = {
            "home": home,
            "database_url": store.engine.url.render_as_string(hide_password=False),
            "broker_url": "redis://127.0.0.1:1/0",  # nobody is there
            "rate_limit": 0,
        }
        self.settings = Settings(**{**values, **settings})
        self.settings.datasets_dir.mkdir(parents=True)
        shutil.copytree(sample, self.settings.datasets_dir / "shapes")
        secret = accounts.ensure_admin(store, self.settings)
        assert secret is not None
        self.tokens = {"admin": secret}
        self.principals = {"admin": accounts.authenticate(store, secret)}
        for name, role in (("anna", Role.MEMBER), ("bert", Role.MEMBER), ("vera", Role.VIEWER)):
            accounts.create_user(store, self.principals["admin"], name, role)
            self.tokens[name] = self.token(name)
            self.principals[name] = accounts.authenticate(store, self.tokens[name])
        self.app = create_app(self.settings, store)
        self.client = TestClient(self.app, base_url="http://localhost", raise_server_exceptions=False)

    def token(self, user: str, scopes: Collection[Scope] = (Scope.SUBMIT,)) -> str:
        made = tokens.create(self.store, self.principals["admin"], "test", scopes, user=user)
        assert made.secret is not None
        return made.secret

    def expired_token(self) -> str:
        secret = self.token("anna")
        self._change_token(secret, expires_at=utc_now() - datetime.timedelta(seconds=1))
        return secret

    def revoked_token(self) -> str:
        secret = self.token("anna")
        self._change_token(secret, revoked_at=utc_now())
        return secret

    def _change_token(self, secret: str, **values: Any) -> None:
        token_id = accounts.authenticate(self.store, secret).token_id
        with self.store.transaction() as session:
            token = session.get(Token, token_id)
            for name, value in values.items():
                setattr(token, name, value)

    def ask(self, method: str, path: str, *, by: str | None = "anna", **options: Any) -> httpx.Response:
        headers = dict(options.pop("headers", {}))
        if by is not None:
            headers["Authorization"] = f"Bearer {self.tokens.get(by, by)}"
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("POST", path, **options)

    def job(self, owner: str = "anna", state: State = State.QUEUED, attempts: int = 0, **request: Any) -> int:
        """A job that was submitted, and then brought into this state with this many attempts."""
        principal: Principal = self.principals[owner]
        job_id = submission.submit(self.store, self.settings, principal, {**BODY, **request}).job_id
        for number in range(1, attempts + 1):
            self.attempt(job_id, number, runs=state is State.RUNNING and number == attempts)
        with self.store.transaction() as session:
            job = self._job(session, job_id)
            job.state, job.attempts = state, attempts
            if attempts:
                job.started_at, job.step = utc_now(), 40
            if state in (State.SUCCEEDED, State.FAILED, State.CANCELLED):
                job.finished_at = utc_now()
        return job_id

    def _job(self, session: Any, job_id: int) -> Job:
        job = jobs.get(session, job_id)
        assert job is not None
        return job

    def attempt(self, job_id: int, number: int, runs: bool = False) -> Path:
        """Each attempt computes half as much at once as the one before; its directory holds what a trainer leaves."""
        now = utc_now()
        with self.store.transaction() as session:
            job = self._job(session, job_id)
            plan = Plan(**job.asked)
            plan = Plan(**{**plan.to_dict(), "micro_batch": max(1, plan.batch_size >> (number - 1))})
            if number > 2:
                plan = Plan(**{**plan.to_dict(), "precision": "bfloat16"})
            config = composition.compose(
                pipeline_config.parse(job.base_config),
                plan,
                library.find(self.settings.datasets_dir, job.dataset),
                host_memory_mb=4096,
            )
            session.add(
                Attempt(
                    job_id=job_id,
                    number=number,
                    plan=plan.to_dict(),
                    planned=_planned(number),
                    config=pipeline_config.to_text(config),
                    device_id=DEVICE,
                    device_name="CPU slot of 1000 MB",
                    limit_bytes=1000 * 2**20,
                    host="box",
                    token="t",
                    phase="training",
                    step=40,
                    step_s=0.5,
                    peak_bytes=900 * 2**20,
                    outcome=None if runs else {"reason": "device_memory", "step": 40},
                    reason=None if runs else "device_memory",
                    diagnosis=None if runs else "too_large",
                    message=None if runs else "the allocator ran out",
                    exit_status=None if runs else 20,
                    started_at=now,
                    ended_at=None if runs else now,
                )
            )
            session.flush()
            values = [metrics.Value("Loss/total_loss", step, 100.0 / step, now) for step in range(1, 41)]
            metrics.record(session, job_id, number, [*values, metrics.Value("learning_rate", 40, 0.01, now)])
            events.add(session, job_id, "phase", now, number, phase="training")
        return self._directory(job_id, number)

    def _directory(self, job_id: int, number: int) -> Path:
        folder = self.settings.jobs_dir / str(job_id) / f"attempt-{number}"
        (folder / "samples").mkdir(parents=True)
        (folder / "train.log").write_text("".join(f"line {n}\n" for n in range(1, 1001)) + "Ran OUT of memory\n")
        (folder / "events.jsonl").write_text('{"kind": "phase"}\n')
        (folder / "pipeline.config").write_text("model { }\n")
        (folder / "attempt.json").write_text("{}")
        (folder / "samples" / "step-1.png").write_bytes(b"\x89PNG")
        export = folder.parent / "export" / "saved_model"
        export.mkdir(parents=True, exist_ok=True)
        (export / "saved_model.pb").write_bytes(bytes(range(256)) * 5000)
        return folder

    def device(self, leased_to: int | None = None, processes: Sequence[Any] = (), free_bytes: int = 8 * 2**30) -> None:
        now = utc_now()
        with self.store.transaction() as session:
            session.add(
                Device(
                    id=DEVICE,
                    host="box",
                    key="cpu-0",
                    kind="cpu",
                    index=0,
                    name="CPU slot",
                    total_bytes=8 * 2**30,
                    free_bytes=free_bytes,
                    bfloat16=True,
                    processes=list(processes),
                    seen_at=now,
                )
            )
            session.flush()
            if leased_to is not None:
                session.add(
                    Lease(
                        device_id=DEVICE,
                        job_id=leased_to,
                        attempt=1,
                        token="t",
                        host="box",
                        boot_id="b",
                        created_at=now,
                        expires_at=now,
                    )
                )


class Browser:
    """A person with a browser: the cookie is kept and sent, and the token against other sites' pages where it must."""

    def __init__(self, service: Service, base_url: str = "http://localhost") -> None:
        self.client = TestClient(service.app, base_url=base_url, raise_server_exceptions=False, follow_redirects=False)
        self.csrf = ""

    def log_in(self, **given: str) -> httpx.Response:
        answer = self.client.post("/v1/session", json=given)
        if answer.status_code == 204:
            self.csrf = self.client.get("/v1/whoami").json()["csrf"]
        return answer

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"X-CSRF-Token": self.csrf, **options.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.client.get(path, **options)


def _planned(number: int) -> dict[str, Any]:
    prediction = {"bytes": 950 * 2**20, "low_bytes": 900 * 2**20, "high_bytes": 990 * 2**20, "source": "scaled"}
    changes = []
    if number > 1:
        before, after = 8 >> (number - 2), 8 >> (number - 1)
        why = f"the batch is computed in pieces of {after}: attempt {number - 1} ran out"
        changes.append(
            {"lever": "micro_batch", "field": "micro_batch", "before": str(before), "after": str(after), "reason": why}
        )
    if number == 3:
        why = "activations are kept in bfloat16: it was not enough"
        changes.append(
            {"lever": "precision", "field": "precision", "before": "float32", "after": "bfloat16", "reason": why}
        )
    return {"summary": "as asked" if number == 1 else "smaller", "changes": changes, "prediction": prediction}


def expect_problem(response: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    """The answer is problem+json, complete, with this status; returns it."""
    assert response.status_code == status, response.text[:500]
    assert response.headers["content-type"] == PROBLEM
    body: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "instance", "code", "request_id"} <= body.keys()
    assert body["status"] == status
    assert body["request_id"] == response.headers["x-request-id"]
    assert body["type"] == f"urn:downshift:problem:{body['code']}"
    if code is not None:
        assert body["code"] == code
    return body
