"""DOWNSHIFT_PRIVATE_JOBS: of others' jobs, users see only that the devices are in use."""

import pytest

from api.routes import events
from services.domain.jobs.states import State
from services.users.principal import Scope
from tests.api.test_access import walked
from tests.support.api_service import Service, expect_problem


@pytest.fixture
def private(service_on_each: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(events, "MAX_STREAM_S", 0.0)
    object.__setattr__(service_on_each.settings, "private_jobs", True)
    return service_on_each


def test_on_every_route_of_a_job_it_is_not_there_for_another_member(private: Service) -> None:
    job = private.job(state=State.SUCCEEDED, attempts=1, name="a secret name")
    assert job == 1
    found = [(method, route, path) for method, route, path in walked(private) if "{job_id}" in route]
    assert len(found) > 10
    for method, route, path in found:
        body = {"name": "x"} if method == "PATCH" else None
        for by in ("bert", "vera"):
            if by == "vera" and method not in ("GET", "HEAD"):
                continue
            refused = private.ask(method, path, by=by, json=body)
            if method != "HEAD":
                problem = expect_problem(refused, 404, "not_found")
                assert problem["detail"] == "there is no job 1", route
        if method == "GET" and "/attempts/{number}" not in route:
            for by in ("anna", "admin", private.token("admin", [Scope.READ])):
                assert private.ask(method, path, by=by).status_code == 200, path


def test_lists_have_one_s_own_jobs_only(private: Service) -> None:
    annas, berts = private.job("anna"), private.job("bert")
    for path in ("/v1/jobs", "/v1/jobs?owner=anna", "/v1/queue"):
        wanted = [] if "owner" in path else [berts]
        assert [job["id"] for job in private.get(path, by="bert").json()["items"]] == wanted
        assert private.get(path, by="vera").json()["items"] == []
    assert {job["id"] for job in private.get("/v1/jobs", by="admin").json()["items"]} == {annas, berts}


def test_the_queue_gives_the_true_position_and_how_many_there_are(private: Service) -> None:
    private.job("bert", priority=-5)
    private.job("anna")
    queue = private.get("/v1/queue", by="bert").json()
    assert queue["queued"] == 2
    assert [job["queue_position"] for job in queue["items"]] == [2]


def test_a_device_says_that_another_user_s_job_has_it(private: Service) -> None:
    job = private.job("anna", State.RUNNING, attempts=1, name="a secret name")
    private.device(leased_to=job)
    answer = private.get("/v1/devices", by="bert")
    assert answer.json()["items"][0]["job"] == {
        "id": None,
        "attempt": None,
        "name": "another user's job",
        "owner": None,
        "limit_bytes": 1000 * 2**20,
        "peak_bytes": 900 * 2**20,
        "predicted": None,
        "phase": None,
        "progress": None,
        "link": None,
    }
    assert "secret" not in answer.text
    assert "anna" not in answer.text
    for by in ("anna", "admin"):
        assert private.get("/v1/devices", by=by).json()["items"][0]["job"]["name"] == "a secret name"
