"""Who may ask. Nothing is open that is not listed, and nobody changes what is somebody else's."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from api.gate import PUBLIC
from services.accounts import Scope
from services.domain.states import State
from tests.api.service import NOBODY, Service, expect_problem


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    for route in iter_route_contexts(app.routes):
        assert route.path is not None, f"{route} has no path: who sees to it that it needs a token?"
        path = route.path.replace("{job_id}", "1").replace("{number}", "1").replace("{token_id}", "1")
        path = path.replace("{webhook_id}", "1").replace("{host}", "box").replace("{key}", "cpu-0")
        for method in route.methods or ():
            yield method, path.replace("{name:path}", "export.tar.gz").replace("{name}", "shapes")


def test_every_route_that_is_not_public_needs_a_valid_token(service: Service) -> None:
    service.job(attempts=1)
    bad = [None, NOBODY, service.expired_token(), service.revoked_token(), "", "a b", "x" * 10_000, "é"]
    walked = [(method, path) for method, path in routes(service.app) if path not in PUBLIC]
    assert len(walked) > 20
    for method, path in walked:
        for token in bad:
            headers = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
            refused = service.ask(method, path, by=None, headers=headers)
            if method == "HEAD":
                assert refused.status_code == 401
                continue
            expect_problem(refused, 401, "unauthenticated")
            assert refused.headers["www-authenticate"].startswith("Bearer")


def test_what_is_public_is_read_only_and_holds_nobody_s_data(service: Service) -> None:
    job = service.job(name="a secret name")
    for path in PUBLIC:
        answer = service.get(path, by=None)
        assert answer.status_code == 200, path
        assert "a secret name" not in answer.text
        expect_problem(service.post(path, by=None), 401)
    assert job


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/nothing", "/docs/", "/v1/jobs/", "/static/x.js"])
def test_what_does_not_exist_needs_a_token_too(service: Service, path: str) -> None:
    expect_problem(service.get(path, by=None), 401)
    expect_problem(service.get(path), 404, "not_found")


@pytest.mark.parametrize(
    "headers",
    [
        [("Authorization", "Basic dXNlcjpwYXNz")],
        [("Authorization", "Bearer")],
        [("Authorization", f"Bearer {NOBODY}"), ("Authorization", "Bearer other")],
    ],
)
def test_a_header_that_holds_no_token_is_refused(service: Service, headers: list[tuple[str, str]]) -> None:
    expect_problem(service.client.get("/v1/jobs", headers=headers), 401)  # type: ignore[arg-type]


def test_a_token_in_the_address_does_not_count(service: Service) -> None:
    expect_problem(service.get(f"/v1/jobs?token={service.tokens['anna']}", by=None), 401)


CHANGES = [
    ("POST", "/v1/jobs/1/cancel"),
    ("POST", "/v1/jobs/1/pause"),
    ("POST", "/v1/jobs/1/resume"),
    ("PATCH", "/v1/jobs/1"),
]


@pytest.mark.parametrize(("method", "path"), CHANGES)
def test_only_its_owner_and_admins_change_a_job(service_on_each: Service, method: str, path: str) -> None:
    service = service_on_each
    state = State.PAUSED if path.endswith("resume") else State.QUEUED
    assert service.job(state=state) == 1
    options = {"json": {"name": "mine now"}} if method == "PATCH" else {}

    expect_problem(service.ask(method, path, by="bert", **options), 403, "forbidden")
    assert service.get("/v1/jobs/1", by="bert").json()["state"] == state
    assert service.ask(method, path, by="admin", **options).status_code == 200


def test_a_viewer_sees_and_changes_nothing(service: Service) -> None:
    service.job(attempts=1)
    for path in ("/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/attempts", "/v1/devices", "/v1/queue", "/v1/whoami"):
        assert service.get(path, by="vera").status_code == 200
    for method, path in [*CHANGES, ("POST", "/v1/jobs"), ("POST", "/v1/jobs/1/clone"), ("POST", "/v1/tokens")]:
        expect_problem(service.ask(method, path, by="vera"), 403, "forbidden")


def test_a_token_is_good_for_its_scope_whatever_its_user_s_role(service: Service) -> None:
    reading = service.token("admin", [Scope.READ])
    assert service.get("/v1/jobs", by=reading).status_code == 200
    expect_problem(service.post("/v1/jobs", json={}, by=reading), 403)
    assert service.get("/v1/whoami", by=reading).json() | {"token_id": 0} == {
        "user": "admin",
        "role": "admin",
        "scopes": ["read"],
        "token_id": 0,
    }


def test_a_role_bounds_what_a_token_says(service: Service) -> None:
    strong = service.token("vera", [Scope.ADMIN])
    assert service.get("/v1/whoami", by=strong).json()["scopes"] == ["read"]
    expect_problem(service.post("/v1/jobs", json={}, by=strong), 403)


class TestWithoutAuthentication:
    @pytest.fixture(autouse=True)
    def _off(self, service: Service) -> None:
        object.__setattr__(service.settings, "authentication", False)

    def test_everybody_on_this_machine_is_the_admin_called_local(self, service: Service) -> None:
        me = service.get("/v1/whoami", by=None).json()
        assert (me["user"], me["role"]) == ("local", "admin")
        submitted = service.post("/v1/jobs", json={"dataset": "shapes", "model": "efficientdet_d0"}, by=None)
        assert submitted.json()["owner"] == "local"

    @pytest.mark.parametrize(
        "headers",
        [
            {"Host": "evil.example"},
            {"Host": "127.0.0.1.evil.example"},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://localhost:9999"},
            {"Host": "["},
        ],
    )
    def test_pages_of_other_sites_are_not_answered(self, service: Service, headers: dict[str, str]) -> None:
        expect_problem(service.post("/v1/jobs/1/cancel", by=None, headers=headers), 403, "forbidden")
