"""The audit log: every route that changes something adds an entry, of a kind that can be filtered by."""

import datetime
from typing import Any

from fastapi.routing import iter_route_contexts

from services.clock import utc_now
from services.devices import reports
from services.domain.jobs.states import State
from services.store.users import audit
from tests.api.routes.test_uploads import TAR, ZOO, records, tarred
from tests.support.api_service import BODY, Browser, Service
from tests.support.desk import GB, gpu

__all__ = ["records"]

CHANGES_NOTHING = {("POST", "/v1/estimate")}


def test_every_route_that_changes_something_is_written_down(service: Service, records: dict[str, bytes]) -> None:
    running, paused = service.job(state=State.RUNNING, attempts=1), service.job(state=State.PAUSED)
    waiting = [service.job() for _ in range(2)]
    hook = service.post("/v1/webhooks", json={"url": "https://hooks.example"}).headers["location"]
    token = service.post("/v1/tokens", json={"name": "spare"}).headers["location"]
    reports.report(service.store, "box", [gpu(0, 24 * GB, 24 * GB)])
    browser = Browser(service)

    def ask(method: str, path: str, by: str = "anna", **options: Any) -> Any:
        return lambda: service.ask(method, path, by=by, **options)

    def log_in() -> Any:
        return browser.log_in(token=service.tokens["anna"])

    done: dict[tuple[str, str], tuple[Any, str]] = {
        ("POST", "/v1/jobs"): (ask("POST", "/v1/jobs", json=BODY), "job.submit"),
        ("POST", "/v1/jobs/{job_id}/clone"): (ask("POST", f"/v1/jobs/{running}/clone"), "job.submit"),
        ("PATCH", "/v1/jobs/{job_id}"): (ask("PATCH", f"/v1/jobs/{running}", json={"notes": "new"}), "job.edit"),
        ("POST", "/v1/jobs/{job_id}/cancel"): (ask("POST", f"/v1/jobs/{waiting[0]}/cancel"), "job.cancel"),
        ("POST", "/v1/jobs/{job_id}/pause"): (ask("POST", f"/v1/jobs/{waiting[1]}/pause"), "job.pause"),
        ("POST", "/v1/jobs/{job_id}/resume"): (ask("POST", f"/v1/jobs/{paused}/resume"), "job.resume"),
        ("POST", "/v1/datasets"): (
            ask("POST", "/v1/datasets?name=mine", content=tarred(records), headers=TAR),
            "dataset.add",
        ),
        ("POST", "/v1/checkpoints"): (
            ask("POST", "/v1/checkpoints?name=zoo", content=tarred(ZOO), headers=TAR),
            "checkpoint.add",
        ),
        ("POST", "/v1/devices/{host}/{key}/qualify"): (
            ask("POST", "/v1/devices/box/gpu-0/qualify", "admin"),
            "device.qualify",
        ),
        ("POST", "/v1/tokens"): (ask("POST", "/v1/tokens", json={"name": "ci"}), "token.create"),
        ("DELETE", "/v1/tokens/{token_id}"): (ask("DELETE", token), "token.revoke"),
        ("POST", "/v1/session"): (log_in, "session.begin"),
        ("DELETE", "/v1/session"): (lambda: browser.ask("DELETE", "/v1/session"), "session.end"),
        ("POST", "/v1/users"): (ask("POST", "/v1/users", "admin", json={"name": "zoe"}), "user.create"),
        ("PATCH", "/v1/users/{name}"): (
            ask("PATCH", "/v1/users/vera", "admin", json={"role": "member"}),
            "user.change",
        ),
        ("PUT", "/v1/users/me/password"): (
            ask("PUT", "/v1/users/me/password", json={"password": "correct horse battery"}),
            "user.password",
        ),
        ("POST", "/v1/webhooks"): (ask("POST", "/v1/webhooks", json={"url": "https://two.example"}), "webhook.create"),
        ("PATCH", "/v1/webhooks/{webhook_id}"): (ask("PATCH", hook, json={"kinds": ["job.failed"]}), "webhook.edit"),
        ("POST", "/v1/webhooks/{webhook_id}/test"): (ask("POST", f"{hook}/test"), "webhook.test"),
        ("DELETE", "/v1/webhooks/{webhook_id}"): (ask("DELETE", hook), "webhook.delete"),
    }
    changing = {
        (method, str(route.path))
        for route in iter_route_contexts(service.app.routes)
        for method in route.methods or ()
        if method not in ("GET", "HEAD")
    }
    assert changing - CHANGES_NOTHING == done.keys()
    for route, (act, action) in done.items():
        answer = act()
        assert answer.status_code < 300, (route, answer.text)
        kind = action.partition(".")[0]
        found = service.get(f"/v1/audit?kind={kind}&limit=1", by="admin")
        assert found.status_code == 200, found.text
        assert found.json()["items"][0]["action"] == action, route


def refusals(service: Service) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = service.get("/v1/audit?kind=login&limit=200", by="admin").json()["items"]
    return items


def test_a_refused_log_in_is_written_down_without_what_was_typed(service: Service) -> None:
    browser = Browser(service)
    for given in (
        {"user": "anna", "password": "not hers at all"},
        {"user": "hunter2 is my password", "password": "x"},
        {"token": "dsh_wrong"},
    ):
        assert browser.log_in(**given).status_code == 401
    found = refusals(service)
    assert [(item["action"], item["target"], item["data"]["given"]) for item in reversed(found)] == [
        ("login.refused", "user anna", "password"),
        ("login.refused", "an unknown user", "password"),
        ("login.refused", "an unknown user", "token"),
    ]
    assert all(item["data"]["address"] == "testclient" and item["user"] is None for item in found)
    assert not any(typed in str(found) for typed in ("not hers", "hunter2", "dsh_wrong"))


def test_a_wrong_current_password_is_written_down_like_a_refused_log_in(service: Service) -> None:
    def change(**body: str) -> int:
        return service.ask("PUT", "/v1/users/me/password", json=body).status_code

    assert change(password="correct horse battery") == 204
    assert change(password="another horse entirely", current="a guess of somebody's") == 422
    assert change(password="another horse entirely") == 422  # the current password is missing, not wrong
    [found] = refusals(service)
    assert (found["action"], found["target"], found["data"]["given"], found["data"]["address"]) == (
        "login.refused",
        "user anna",
        "current password",
        "testclient",
    )
    assert "guess" not in str(found)


def test_a_flood_of_refused_log_ins_does_not_fill_the_audit(service_on_each: Service) -> None:
    service = service_on_each
    now = utc_now()
    with service.store.transaction() as session:
        audit.add_few(session, "login.refused", "user old", now - datetime.timedelta(days=91))
        kept = [audit.add_few(session, "login.refused", f"user {number}", now) for number in range(500)]
    assert kept == [True] * 100 + [False] * 400
    assert "user old" not in {item["target"] for item in refusals(service)}
    with service.store.transaction() as session:
        assert audit.add_few(session, "login.refused", "user late", now + datetime.timedelta(hours=1))
