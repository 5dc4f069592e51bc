"""Accounts over HTTP: admins create, show and change them; limits; the audit log."""

from typing import Any

import pytest

from tests.support.api_service import BODY, Browser, Service, expect_problem
from tests.support.counting import counted


def make(service: Service, **body: Any) -> Any:
    return service.post("/v1/users", json={"name": "zoe", **body}, by="admin")


def test_an_account_is_made_shown_and_works(service_on_each: Service) -> None:
    service = service_on_each
    made = make(service, password="correct horse battery", limits={"max_running": 2})
    assert made.status_code == 201
    assert made.headers["location"] == "/v1/users/zoe"
    assert made.headers["etag"] == '"1"'
    user = made.json()
    assert (user["name"], user["role"], user["has_password"], user["is_disabled"]) == ("zoe", "member", True, False)
    assert user["limits"] == {"max_queued": None, "max_running": 2, "device_hours_week": None}
    assert "correct" not in service.get("/v1/users/zoe", by="admin").text
    assert "scrypt" not in service.get("/v1/users", by="admin").text
    assert [item["name"] for item in service.get("/v1/users", by="admin").json()["items"]] == [
        "admin",
        "anna",
        "bert",
        "vera",
        "zoe",
    ]
    browser = Browser(service)
    assert browser.log_in(user="zoe", password="correct horse battery").status_code == 204
    assert browser.get("/v1/whoami").json()["limits"]["max_running"] == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "Anna"}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"name": "zoé"}, "name"),
        ({"name": "zoe\n"}, "name"),
        ({"name": "me"}, "name"),
        ({"name": "local"}, "name"),
        ({"role": "root"}, "role"),
        ({"password": "short"}, "password"),
        ({"password": "x" * 257}, "password"),
        ({"password": "aaaaaaaaaaaa"}, "password"),
        ({"name": "zoezoezoezoe", "password": "ZoeZoeZoeZoe"}, "password"),
        ({"limits": {"max_running": -1}}, "limits.max_running"),
        ({"limits": {"max_jobs": 1}}, "limits.max_jobs"),
        ({"limits": {"device_hours_week": "many"}}, "limits.device_hours_week"),
        ({"is_admin": True}, "is_admin"),
    ],
)
def test_what_is_wrong_is_named(service: Service, body: dict[str, Any], field: str) -> None:
    problem = expect_problem(make(service, **body), 422, "invalid")
    assert problem["errors"][0]["field"] == field


def test_a_name_is_taken_once(service_on_each: Service) -> None:
    expect_problem(make(service_on_each, name="anna"), 409, "name_taken")


def test_changes_count_at_once_and_against_what_was_seen(service_on_each: Service) -> None:
    service = service_on_each
    seen = service.get("/v1/users/anna", by="admin").headers["etag"]

    def change(body: dict[str, Any], tag: str) -> Any:
        return service.ask("PATCH", "/v1/users/anna", json=body, by="admin", headers={"If-Match": tag})

    changed = change({"role": "viewer", "limits": {"max_queued": 5, "device_hours_week": 1.5}}, seen)
    assert (changed.json()["role"], changed.json()["limits"]["max_queued"]) == ("viewer", 5)
    assert changed.headers["etag"] != seen
    expect_problem(change({"role": "admin"}, seen), 412, "version_mismatch")
    expect_problem(change({"role": "admin"}, "nonsense"), 412, "version_mismatch")
    cleared = change({"limits": {"max_queued": None}}, changed.headers["etag"]).json()["limits"]
    assert cleared == {"max_queued": None, "max_running": None, "device_hours_week": 1.5}
    assert service.get("/v1/whoami").json()["role"] == "viewer"


@pytest.mark.parametrize("body", [{}, {"name": "other"}, {"role": None}, {"disabled": "yes"}, {"password": ""}])
def test_a_change_that_is_none_is_refused(service: Service, body: dict[str, Any]) -> None:
    expect_problem(service.ask("PATCH", "/v1/users/anna", json=body, by="admin"), 422)


def test_nobody_is_not_found(service: Service) -> None:
    for method, options in (("GET", {}), ("PATCH", {"json": {"disabled": True}})):
        expect_problem(service.ask(method, "/v1/users/zoe", by="admin", **options), 404)


@pytest.mark.parametrize("change", [{"disabled": True}, {"role": "member"}])
def test_the_last_admin_stays_one(service_on_each: Service, change: dict[str, Any]) -> None:
    service = service_on_each
    expect_problem(service.ask("PATCH", "/v1/users/admin", json=change, by="admin"), 409, "last_admin")
    service.ask("PATCH", "/v1/users/anna", json={"role": "admin"}, by="admin")
    assert service.ask("PATCH", "/v1/users/admin", json=change, by="admin").status_code == 200


def test_default_limits_come_from_the_settings_and_are_shown(service: Service) -> None:
    object.__setattr__(service.settings, "max_queued", 1)
    service.job()
    me = service.get("/v1/whoami").json()
    assert me["limits"] == {"max_queued": 1, "max_running": None, "device_hours_week": None}
    assert me["use"] == {"queued": 1, "running": 0, "device_hours_week": 0.0}
    problem = expect_problem(service.post("/v1/jobs", json=BODY), 429, "limit_reached")
    assert "anna already has 1 of 1 queued jobs" in problem["detail"]
    service.ask("PATCH", "/v1/users/anna", json={"limits": {"max_queued": 2}}, by="admin")
    assert service.post("/v1/jobs", json=BODY).status_code == 202
    shown = service.get("/v1/users/bert", by="admin").json()
    assert (shown["limits"]["max_queued"], shown["effective_limits"]["max_queued"]) == (None, 1)


def test_every_change_is_written_down_and_passwords_are_not(service_on_each: Service) -> None:
    service = service_on_each
    make(service, password="correct horse battery")
    service.ask("PATCH", "/v1/users/zoe", json={"password": "another horse entirely", "disabled": True}, by="admin")
    service.ask("PUT", "/v1/users/me/password", json={"password": "third horse of them"}, by="anna")
    job = service.job()
    service.post(f"/v1/jobs/{job}/cancel")
    browser = Browser(service)
    browser.log_in(token=service.tokens["anna"])
    browser.ask("DELETE", "/v1/session")

    pages: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = service.get(f"/v1/audit?limit=3{'&cursor=' + cursor if cursor else ''}", by="admin")
        assert "horse" not in page.text
        pages += page.json()["items"]
        cursor = page.json()["next"]

    assert [(entry["user"], entry["action"], entry["target"]) for entry in pages][:7] == [
        ("anna", "session.end", "user anna"),
        ("anna", "session.begin", "user anna"),
        ("anna", "job.cancel", f"job {job}"),
        ("anna", "job.submit", f"job {job}"),
        ("anna", "user.password", "user anna"),
        ("admin", "user.change", "user zoe"),
        ("admin", "user.create", "user zoe"),
    ]
    assert pages[5]["data"] == {"password": "changed", "disabled": True}
    assert len({entry["id"] for entry in pages}) == len(pages)
    for asked, wanted in (("user=anna&kind=session", ["session.end", "session.begin"]), ("kind=webhook", [])):
        found = service.get(f"/v1/audit?{asked}", by="admin").json()["items"]
        assert [(entry["user"], entry["action"]) for entry in found] == [("anna", action) for action in wanted]


def test_a_list_of_users_costs_the_same_queries_however_many_there_are(service: Service) -> None:
    def cost() -> int:
        with counted(service.store) as asked:
            assert service.get("/v1/users", by="admin").status_code == 200
        return len(asked)

    few = cost()
    for number in range(5):
        make(service, name=f"user-{number}")
    assert cost() == few <= 5
