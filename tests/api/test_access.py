"""Access: only listed paths are public, and users cannot change the data of others."""

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from api.middleware.authentication import is_public
from api.routes import events
from services.clock import utc_now
from services.domain.jobs.states import State
from services.store.models import UserSession
from services.users.principal import Scope
from tests.support.api_service import NOBODY, Browser, Service, expect_problem

PLACES = {"name:path": "export.tar.gz", "name": "shapes", "sample_id": "train-0"}
NEEDED = {"/v1/jobs/{job_id}/logs/search": "?q=error"}
PUBLIC = {("GET", "/login"), ("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/v1/session")}
ADMINS = {"/v1/users", "/v1/audit"}  # and the paths below them, except the own password
BODIES = {"PATCH": {"name": "mine now"}}


@pytest.fixture(autouse=True)
def _streams_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams end after the past events."""
    monkeypatch.setattr(events, "MAX_STREAM_S", 0.0)


def routes(app: FastAPI) -> Iterator[tuple[str, str, str]]:
    """Each method of each route: its pattern, and a path with values for the parameters."""
    for route in iter_route_contexts(app.routes):
        assert route.path, f"{route} has no path: who sees to it that it needs a token?"
        assert route.methods, f"{route.path} is no plain route: who sees to it that it needs a token?"
        path = re.sub(r"\{([^}]+)\}", lambda place: PLACES.get(place[1], "1"), route.path)
        path += NEEDED.get(route.path, "")
        for method in sorted(route.methods):
            yield method, route.path, path


def walked(service: Service) -> list[tuple[str, str, str]]:
    """All routes that are not in this test's own list of public ones."""
    found = list(routes(service.app))
    assert {(method, route) for method, route, _ in found} > PUBLIC
    return [(method, route, path) for method, route, path in found if (method, route) not in PUBLIC]


def test_every_route_that_is_not_public_needs_a_valid_token(service: Service) -> None:
    service.job(attempts=1)
    bad = [None, NOBODY, service.expired_token(), service.revoked_token(), "", "a b", "x" * 10_000, "é"]
    for method, _, path in walked(service):
        for token in bad:
            headers = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
            refused = service.ask(method, path, by=None, headers=headers)
            if method == "HEAD":
                assert refused.status_code == 401
                continue
            expect_problem(refused, 401, "unauthenticated")
            assert refused.headers["www-authenticate"].startswith("Bearer")


def test_no_route_accepts_an_invalid_or_ended_cookie(service: Service) -> None:
    service.job(attempts=1)
    browser = Browser(service)
    browser.log_in(token=service.tokens["anna"])
    with service.store.transaction() as session:
        [row] = session.query(UserSession)
        row.expires_at = utc_now()
    for method, _, path in walked(service):
        for cookie in (browser.client.cookies["downshift_session"], "", "x", "x" * 200):
            headers = {"Cookie": f"downshift_session={cookie}"}
            assert service.ask(method, path, by=None, headers=headers).status_code == 401, (method, path)


def test_with_a_cookie_no_route_changes_anything_for_a_page_of_another_site(service: Service) -> None:
    service.job(attempts=1)
    browser = Browser(service)
    browser.log_in(token=service.tokens["admin"])
    changing = [(method, path) for method, _, path in walked(service) if method not in ("GET", "HEAD")]
    assert len(changing) > 8
    for method, path in changing:
        for headers in (
            {"X-CSRF-Token": ""},
            {"X-CSRF-Token": "0" * 64},
            {"Origin": "http://localhost:9999"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "same-site"},
        ):
            expect_problem(browser.ask(method, path, headers=headers), 403, "csrf_failed")


def test_a_viewer_changes_nothing_on_any_route(service: Service) -> None:
    service.job(attempts=1)
    for method, route, path in walked(service):
        if method in ("GET", "HEAD"):
            allowed = {403} if is_for_admins(route) else {200, 404}
            assert service.ask(method, path, by="vera").status_code in allowed, path
        elif route not in ("/v1/session", "/v1/users/me/password"):
            expect_problem(service.ask(method, path, by="vera"), 403, "forbidden")


def is_for_admins(route: str) -> bool:
    return any(route == top or route.startswith(f"{top}/") for top in ADMINS) and not route.startswith("/v1/users/me")


def test_a_member_gets_nothing_of_what_is_for_admins(service: Service) -> None:
    found = [(method, path) for method, route, path in walked(service) if is_for_admins(route)]
    assert len(found) >= 5
    for method, path in found:
        body = {"name": "zoe"} if method == "POST" else {"disabled": True}
        options = {} if method == "GET" else {"json": body}
        assert service.ask(method, path, by="anna", **options).status_code == 403, path


def test_on_no_route_of_a_job_does_another_member_change_it(service: Service) -> None:
    service.job(attempts=1)
    before = service.get("/v1/jobs/1").json()
    for method, route, path in walked(service):
        if "{job_id}" in route and method not in ("GET", "HEAD") and not route.endswith("/clone"):
            refused = service.ask(method, path, by="bert", json=BODIES.get(method))
            expect_problem(refused, 403, "forbidden")
    assert service.get("/v1/jobs/1").json() == before


def test_on_no_route_is_there_a_token_or_webhook_of_another_member(service: Service) -> None:
    token = service.get("/v1/whoami").json()["token_id"]
    hook = service.post("/v1/webhooks", json={"url": "https://hooks.example/one"}).json()["id"]
    private = [
        (method, route.format(token_id=token, webhook_id=hook))
        for method, route, _ in walked(service)
        if "{token_id}" in route or "{webhook_id}" in route
    ]
    assert len(private) >= 7
    for method, path in private:
        body = {"disabled": True} if method == "PATCH" else None
        expect_problem(service.ask(method, path, by="bert", json=body), 404)
        assert service.ask(method, path, by="vera", json=body).status_code == (404 if method == "GET" else 403)
        if method == "GET":
            assert service.get(path).status_code == 200


def test_public_paths_are_read_only_and_hold_no_data_of_users(service: Service) -> None:
    job = service.job(name="a secret name")
    for path in (path for method, path in PUBLIC if method == "GET"):
        answer = service.get(path, by=None)
        assert answer.status_code == 200, path
        assert "a secret name" not in answer.text
        expect_problem(service.post(path, by=None), 401)
    assert job


def test_nothing_beside_the_files_of_the_log_in_page_is_public(service: Service) -> None:
    assert is_public("GET", "/static/any/js/pages/login.js")
    assert not is_public("POST", "/static/any/js/pages/login.js")
    for path in (
        "js/pages/login.js",
        "x/js/pages/jobs.js",
        "x/../v1/jobs",
        "x/js/pages/login.js/../../v1/jobs",
        "x//js/pages/login.js",
        "",
    ):
        assert not is_public("GET", f"/static/{path}")
    for path in (
        "/js/pages/login.js",
        "x/js/pages/login.js",
        "//static/x/js/pages/login.js",
        "/v1/static/x/js/pages/login.js",
    ):
        assert not is_public("GET", path)


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/nothing", "/docs/", "/v1/jobs/"])
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
    expect_problem(service.client.get("/v1/jobs", headers=headers), 401)


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
    me = service.get("/v1/whoami", by=reading).json()
    assert (me["user"], me["role"], me["scopes"], me["csrf"]) == ("admin", "admin", ["read"], None)


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
