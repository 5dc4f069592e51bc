"""Idempotency keys: a request that is sent twice is done once, in every route that creates something."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from services import idempotency
from services.store.models import IdempotencyKey, User
from tests.api.routes.test_uploads import TAR, ZOO, tarred
from tests.support.api_service import BODY, Service, expect_problem

PASSWORD = "correct horse battery"
KEY = {"Idempotency-Key": "once"}
MADE: list[tuple[str, dict[str, Any], dict[str, Any], str | None]] = [
    ("/v1/jobs", BODY, {"name": "other"}, None),
    ("/v1/jobs/1/clone", {"name": "copy"}, {"name": "other"}, None),
    ("/v1/tokens", {"name": "laptop"}, {"name": "other"}, "token"),
    ("/v1/users", {"name": "carl", "password": PASSWORD}, {"role": "viewer"}, None),
    ("/v1/webhooks", {"url": "https://hooks.example/one"}, {"url": "https://hooks.example/two"}, "secret"),
    ("/v1/webhooks/1/test", {}, {}, None),
]


@pytest.fixture
def furnished(service_on_each: Service) -> Service:
    """A service with job 1 and webhook 1, both of the admin."""
    assert service_on_each.post("/v1/jobs", json=BODY, by="admin").json()["id"] == 1
    made = service_on_each.post("/v1/webhooks", json={"url": "https://hooks.example"}, by="admin")
    assert made.json()["id"] == 1
    return service_on_each


def test_every_request_that_makes_something_takes_a_key(service: Service) -> None:
    taking = {
        path
        for path, methods in service.get("/openapi.json").json()["paths"].items()
        for method, operation in methods.items()
        if method == "post"
        and {"201", "202"} & operation["responses"].keys()
        and "idempotency-key" in [item["name"].lower() for item in operation.get("parameters", [])]
    }
    making = {
        path
        for path, methods in service.get("/openapi.json").json()["paths"].items()
        if {"201", "202"} & methods.get("post", {"responses": {}})["responses"].keys()
    }
    assert taking == making
    assert {path.replace("/1/", "/{}/") for path, *_ in MADE} <= {_plain(path) for path in making}


def _plain(path: str) -> str:
    return path.replace("{job_id}", "{}").replace("{webhook_id}", "{}")


@pytest.mark.parametrize(("path", "body", "change", "secret"), MADE, ids=[path for path, *_ in MADE])
def test_the_same_key_and_request_again_give_the_same_answer(
    furnished: Service, path: str, body: dict[str, Any], change: dict[str, Any], secret: str | None
) -> None:
    first, again = (furnished.post(path, json=body, headers=KEY, by="admin") for _ in range(2))
    assert first.status_code == again.status_code in (201, 202)
    assert first.headers["location"] == again.headers["location"]
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    told, retold = first.json(), again.json()
    if secret is not None:  # shown once, and not stored
        assert told.pop(secret)
        assert retold.pop(secret) is None
    assert told == retold
    if change:
        expect_problem(furnished.post(path, json={**body, **change}, headers=KEY, by="admin"), 409, "key_reused")


def test_a_replay_has_the_fields_that_an_older_version_did_not_store(furnished: Service) -> None:
    first = furnished.post("/v1/jobs", json=BODY, headers=KEY, by="admin")
    with furnished.store.transaction() as session:
        stored = session.query(IdempotencyKey).one()
        stored.body = {name: value for name, value in stored.body.items() if name not in ("stopping", "device")}
    again = furnished.post("/v1/jobs", json=BODY, headers=KEY, by="admin")
    assert again.status_code == first.status_code == 202
    assert again.json() == first.json()


def test_an_action_on_a_job_is_done_once(furnished: Service) -> None:
    """A pause that is sent again after a resume does not pause the job again."""
    for verb, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        told = furnished.post(f"/v1/jobs/1/{verb}", headers={"Idempotency-Key": verb}, by="admin")
        again = furnished.post(f"/v1/jobs/1/{verb}", headers={"Idempotency-Key": verb}, by="admin")
        assert told.json()["state"] == again.json()["state"] == state
        assert told.json()["version"] == again.json()["version"]
        assert "idempotency-replayed" not in told.headers
        assert again.headers["idempotency-replayed"] == "true"
    late = furnished.post("/v1/jobs/1/pause", headers={"Idempotency-Key": "pause"}, by="admin")
    assert (late.status_code, late.json()["state"]) == (200, "cancelled")
    other = furnished.post("/v1/jobs/1/resume", headers={"Idempotency-Key": "pause"}, by="admin")
    expect_problem(other, 409, "key_reused")
    expect_problem(furnished.post("/v1/jobs/1/pause", headers=KEY, by="admin"), 409, "wrong_state")


def test_told_twice_at_once_with_one_key_a_job_hears_it_once(furnished: Service) -> None:
    barrier = Barrier(2)

    def pause(_: int) -> int:
        barrier.wait()
        return furnished.post("/v1/jobs/1/pause", headers=KEY, by="admin").status_code

    with ThreadPoolExecutor(2) as both:
        assert list(both.map(pause, range(2))) == [200, 200]


def test_a_key_is_one_user_s_and_for_one_thing(furnished: Service) -> None:
    furnished.post("/v1/tokens", json={"name": "laptop"}, headers=KEY, by="admin")
    problem = furnished.post("/v1/webhooks", json={"url": "https://hooks.example"}, headers=KEY, by="admin")
    expect_problem(problem, 409, "key_reused")
    assert "idempotency-replayed" not in furnished.post("/v1/tokens", json={"name": "laptop"}, headers=KEY).headers


def test_of_a_password_nothing_is_kept_with_the_key_and_another_one_is_another_request(furnished: Service) -> None:
    def create(name: str, password: str | None, key: str) -> Any:
        body = {"name": name} if password is None else {"name": name, "password": password}
        return furnished.post("/v1/users", json=body, headers={"Idempotency-Key": key}, by="admin")

    assert create("carl", PASSWORD, "k1").status_code == 201
    digest = kept(furnished, "k1").request_digest
    expect_problem(create("carl", "another password", "k1"), 409, "key_reused")
    expect_problem(create("carl", None, "k1"), 409, "key_reused")
    with furnished.store.transaction() as session:
        session.query(IdempotencyKey).delete()
        session.query(User).filter(User.name == "carl").update({"name": "charles"})
    assert create("carl", "another password", "k1").status_code == 201
    assert kept(furnished, "k1").request_digest == digest


def kept(service: Service, key: str) -> IdempotencyKey:
    with service.store.reading() as session:
        found: IdempotencyKey = session.query(IdempotencyKey).filter(IdempotencyKey.key == key).one()
    return found


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/webhooks", {"url": "https://hooks.example/x"}),
        ("/v1/users", {"name": "carl"}),  # the first request takes the name
        ("/v1/jobs", BODY),  # the first request uses up the limit
    ],
)
def test_sent_many_times_at_once_it_is_made_once(furnished: Service, path: str, body: dict[str, Any]) -> None:
    object.__setattr__(furnished.settings, "max_queued", 2)
    before = len(furnished.get(path, by="admin").json()["items"])
    together = Barrier(6)

    def send(_: int) -> Any:
        together.wait()
        return furnished.post(path, json=body, headers=KEY, by="admin")

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(6)))
    assert {answer.status_code for answer in answers} <= {201, 202}, [answer.text for answer in answers]
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    assert len(furnished.get(path, by="admin").json()["items"]) == before + 1


def test_refused_because_the_same_was_a_moment_earlier_it_is_not_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A concurrent duplicate wins after this request has looked for a stored answer."""
    object.__setattr__(service.settings, "max_queued", 1)
    archive = {"params": {"name": "zoo"}, "content": tarred(ZOO), "headers": {**TAR, "Idempotency-Key": "archive"}}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/v1/jobs", {"json": BODY, "headers": KEY}),
        ("/v1/checkpoints", archive),
    ]
    real = idempotency.replay
    for path, options in asked:
        first = service.post(path, **options)
        answers = iter([lambda *_: None, real])
        with monkeypatch.context() as patch:
            patch.setattr(idempotency, "replay", lambda *given, answers=answers: next(answers)(*given))
            again = service.post(path, **options)
        assert again.status_code == first.status_code in (201, 202), again.text
        assert again.json() == first.json()
    other = {**archive, "headers": TAR}
    expect_problem(service.post("/v1/checkpoints", **other), 409, "name_taken")


def test_where_something_was_made_it_can_be_read(furnished: Service) -> None:
    for path, body, _, secret in MADE:
        made = furnished.post(path, json=body, by="admin")
        told = made.json()
        shown = furnished.get(made.headers["location"], by="admin")
        assert shown.status_code == 200, path
        if not path.endswith("/test"):
            assert shown.json().get("name") == told.get("name")
            assert secret not in shown.json()
