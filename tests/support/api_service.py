"""The API with a real store and a dataset, called in process."""

import datetime
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi.testclient import TestClient

from api.app import create_app
from services.clock import utc_now
from services.domain.jobs.states import State
from services.settings import Settings
from services.store.engine import Store
from services.store.models import Device, Lease, Token
from services.users import principal, tokens
from services.users.principal import Principal, Role, Scope
from tests.support.training.records import DEVICE, Records

PROBLEM = "application/problem+json"
BODY: dict[str, Any] = {
    "dataset": "shapes",
    "model": "efficientdet_d0",
    "image_size": [256, 256],
    "train": {"steps": 100, "batch_size": 8},
}
NOBODY = "dsh_" + "0" * 43


@dataclass(frozen=True)
class People:
    """An admin, two members and a viewer that exist in a database."""

    tokens: Mapping[str, str]
    principals: Mapping[str, Principal]


def add_people(store: Store, home: Path) -> People:
    secret = principal.ensure_admin(store, Settings(home=home))
    assert secret is not None
    admin = principal.authenticate(store, secret)
    found = {"admin": secret}
    for name, role in (("anna", Role.MEMBER), ("bert", Role.MEMBER), ("vera", Role.VIEWER)):
        principal.create_user(store, admin, name, role)
        found[name] = tokens.create(store, admin, "test", (Scope.SUBMIT,), user=name).secret or ""
    return People(found, {name: principal.authenticate(store, token) for name, token in found.items()})


class Service:
    """`people` must exist in `store`. `ask` sends a request as one of them; None: without a token."""

    def __init__(self, home: Path, store: Store, people: People, sample: Path, **settings: Any) -> None:
        self.store = store
        values = {
            "home": home,
            "database_url": store.engine.url.render_as_string(hide_password=False),
            "broker_url": "redis://127.0.0.1:1/0",  # no broker runs there
            "rate_limit": 0,
        }
        self.settings = Settings(**{**values, **settings})
        self.records = Records(store, self.settings)
        self.settings.datasets_dir.mkdir(parents=True)
        shutil.copytree(sample, self.settings.datasets_dir / "shapes")
        self.settings.admin_token_file.write_text(people.tokens["admin"])
        self.tokens, self.principals = dict(people.tokens), dict(people.principals)
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
        token_id = principal.authenticate(self.store, secret).token_id
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
        """Submit a job and set its state and number of attempts."""
        return self.records.job(self.principals[owner], state, attempts, {**BODY, **request})

    def attempt(self, job_id: int, number: int, runs: bool = False) -> Path:
        return self.records.attempt(job_id, number, runs)

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
    """A browser: keeps and sends the session cookie and the CSRF token."""

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


def expect_problem(response: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    """Check that the answer is complete problem+json with this status; return it."""
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
