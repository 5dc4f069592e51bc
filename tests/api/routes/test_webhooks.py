"""Webhooks over the API."""

from tests.support.api_service import Service, expect_problem

BODY = {"url": "https://hooks.example/one", "kinds": ["job.failed"]}


def test_a_webhook_is_made_shown_changed_and_removed(service_on_each: Service) -> None:
    service = service_on_each
    made = service.post("/v1/webhooks", json=BODY)
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    path = made.headers["location"]
    shown = service.get(path)
    assert "secret" not in shown.json()
    assert shown.json() == {name: value for name, value in made.json().items() if name != "secret"}
    assert service.get("/v1/webhooks").json()["items"] == [shown.json()]

    changed = service.ask("PATCH", path, json={"kinds": ["job.succeeded"]}, headers={"If-Match": shown.headers["etag"]})
    assert (changed.json()["kinds"], changed.json()["url"]) == (["job.succeeded"], BODY["url"])
    late = service.ask("PATCH", path, json={"disabled": True}, headers={"If-Match": shown.headers["etag"]})
    expect_problem(late, 412, "version_mismatch")
    assert service.ask("PATCH", path, json={"disabled": True}).json()["disabled_at"] is not None

    assert service.ask("DELETE", path).status_code == 204
    expect_problem(service.get(path), 404)


def test_a_test_message_is_among_the_deliveries(service: Service) -> None:
    path = service.post("/v1/webhooks", json=BODY).headers["location"]
    sent = service.post(f"{path}/test")
    assert sent.status_code == 202
    [delivery] = service.get(f"{path}/deliveries").json()["items"]
    assert delivery == sent.json()
    assert (delivery["kind"], delivery["tries"], delivery["sent_at"]) == ("webhook.test", 0, None)


def test_others_webhooks_do_not_exist(service: Service) -> None:
    path = service.post("/v1/webhooks", json=BODY).headers["location"]
    for method, where, body in (
        ("GET", path, None),
        ("PATCH", path, {"disabled": True}),
        ("DELETE", path, None),
        ("POST", f"{path}/test", None),
        ("GET", f"{path}/deliveries", None),
    ):
        expect_problem(service.ask(method, where, by="bert", json=body), 404)
    assert service.get("/v1/webhooks", by="bert").json()["items"] == []
    expect_problem(service.post("/v1/webhooks", json=BODY, by="vera"), 403)


def test_what_cannot_be_is_refused(service: Service) -> None:
    for body in (
        {},
        {"url": "http://127.0.0.1/"},
        {"url": "javascript:alert(1)"},
        {"url": "https://hooks.example/ä"},
        {**BODY, "kinds": []},
        {**BODY, "kinds": ["job.started"]},
    ):
        expect_problem(service.post("/v1/webhooks", json=body), 422, "invalid")


def test_what_has_changed_meanwhile_is_not_removed(service: Service) -> None:
    made = service.post("/v1/webhooks", json={"url": "https://hooks.example"})
    place, seen = made.headers["location"], {"If-Match": made.headers["etag"]}
    service.ask("PATCH", place, json={"kinds": ["job.failed"]})
    expect_problem(service.ask("DELETE", place, headers=seen), 412, "version_mismatch")
    now = {"If-Match": service.get(place).headers["etag"]}
    assert service.ask("DELETE", place, headers=now).status_code == 204


def test_the_audit_says_where_a_webhook_leads_and_not_its_secret_path(service: Service) -> None:
    place = service.post("/v1/webhooks", json={"url": "https://one.example/T0/s3cret"}).headers["location"]
    service.ask("PATCH", place, json={"url": "https://two.example:8443/T0/s3cret?k=s3cret", "kinds": ["job.failed"]})
    entries = service.get("/v1/audit?kind=webhook", by="admin")
    assert [entry["data"] for entry in entries.json()["items"]] == [
        {"host": "two.example:8443", "kinds": ["job.failed"]},
        {"host": "one.example"},
    ]
    assert "s3cret" not in entries.text
