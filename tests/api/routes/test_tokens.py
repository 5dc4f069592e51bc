"""Tokens over HTTP: shown once, with no more rights than their creator's token, invalid when revoked."""

import datetime
from typing import Any

import pytest

from services.store.users import accounts
from services.users.principal import Scope
from tests.support.api_service import Service, expect_problem
from tests.support.desk import ago


def test_a_token_is_made_shown_once_and_works(service_on_each: Service) -> None:
    service = service_on_each
    made = service.post("/v1/tokens", json={"name": "laptop", "scopes": ["read", "submit"], "expires_in_days": 1})

    assert made.status_code == 201
    secret = made.json()["token"]
    me = service.get("/v1/whoami", by=secret).json()
    assert (me["user"], me["scopes"]) == ("anna", ["read", "submit"])
    service.store.later.wait()
    listed = service.get("/v1/tokens")
    assert secret not in listed.text
    newest = listed.json()["items"][0]
    assert (newest["name"], newest["user"]) == ("laptop", "anna")
    assert newest["last_used_at"] is not None
    with service.store.reading() as session:
        kept = accounts.get_token(session, newest["id"])
    assert kept is not None
    assert secret not in str(vars(kept))


def test_a_revoked_token_is_not_valid_any_more(service_on_each: Service) -> None:
    service = service_on_each
    made = service.post("/v1/tokens", json={"name": "old"}).json()
    assert service.ask("DELETE", f"/v1/tokens/{made['id']}").status_code == 204
    assert service.ask("DELETE", f"/v1/tokens/{made['id']}").status_code == 204
    expect_problem(service.get("/v1/whoami", by=made["token"]), 401)
    assert service.get("/v1/tokens").json()["items"][0]["revoked_at"] is not None


def test_what_ended_long_ago_is_not_listed(service_on_each: Service) -> None:
    service = service_on_each
    listed = len(service.get("/v1/tokens").json()["items"])
    service.expired_token()
    service.revoked_token()
    long_ago = ago(31 * 24 * 3600)
    service._change_token(service.token("anna"), revoked_at=long_ago)
    service._change_token(service.token("anna"), expires_at=long_ago)
    assert len(service.get("/v1/tokens").json()["items"]) == listed + 2  # tokens that have just ended are still listed


def test_others_tokens_are_not_there_but_for_admins(service: Service) -> None:
    made = service.post("/v1/tokens", json={"name": "anna's"}).json()
    assert made["id"] not in [token["id"] for token in service.get("/v1/tokens", by="bert").json()["items"]]
    assert made["id"] in [token["id"] for token in service.get("/v1/tokens", by="admin").json()["items"]]
    expect_problem(service.ask("DELETE", f"/v1/tokens/{made['id']}", by="bert"), 404)
    assert service.ask("DELETE", f"/v1/tokens/{made['id']}", by="admin").status_code == 204
    expect_problem(service.ask("DELETE", "/v1/tokens/99999"), 404)


def test_only_admins_make_tokens_for_others(service: Service) -> None:
    expect_problem(service.post("/v1/tokens", json={"name": "x", "user": "bert"}), 403)
    made = service.post("/v1/tokens", json={"name": "x", "user": "bert"}, by="admin").json()
    assert service.get("/v1/whoami", by=made["token"]).json()["user"] == "bert"
    problem = expect_problem(service.post("/v1/tokens", json={"name": "x", "user": "zoe"}, by="admin"), 422)
    assert problem["errors"][0]["field"] == "user"


def test_a_token_cannot_make_a_stronger_one_nor_one_that_outlives_it(service: Service) -> None:
    problem = expect_problem(service.post("/v1/tokens", json={"name": "x", "scopes": ["admin"]}), 422)
    assert problem["errors"][0]["field"] == "scopes"
    short = service.post("/v1/tokens", json={"name": "s", "scopes": ["submit"], "expires_in_days": 2}).json()["token"]
    for body in ({"name": "x"}, {"name": "x", "expires_in_days": 3}):
        problem = expect_problem(service.post("/v1/tokens", json=body, by=short), 422)
        assert problem["errors"][0]["field"] == "expires_in_days"
    assert service.post("/v1/tokens", json={"name": "x", "expires_in_days": 1}, by=short).status_code == 201


def test_a_key_makes_one_token_and_the_replay_does_not_show_it_again(service_on_each: Service) -> None:
    service = service_on_each
    body, headers = {"name": "ci", "expires_in_days": 9}, {"Idempotency-Key": "ci-1"}
    first = service.post("/v1/tokens", json=body, headers=headers)
    again = service.post("/v1/tokens", json=body, headers=headers)
    assert again.status_code == 201
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == {**first.json(), "token": None}
    expect_problem(service.post("/v1/tokens", json={**body, "name": "other"}, headers=headers), 409, "key_reused")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "x" * 65},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["root"]},
        {"name": "x", "scopes": "read"},
        {"name": "x", "expires_in_days": 0},
        {"name": "x", "expires_in_days": 10**9},
        {"name": "x", "digest": "0"},
    ],
)
def test_a_wrong_body_is_refused(service: Service, body: Any) -> None:
    expect_problem(service.post("/v1/tokens", json=body), 422)


def test_a_role_that_was_lowered_counts_at_once(service: Service) -> None:
    strong = service.token("anna", [Scope.SUBMIT])
    with service.store.transaction() as session:
        anna = accounts.user_called(session, "anna")
        assert anna is not None
        anna.role = "viewer"
    expect_problem(service.post("/v1/jobs", json={}, by=strong), 403)
    assert datetime.datetime.fromisoformat(service.get("/v1/tokens").json()["items"][0]["created_at"]).tzinfo


def test_a_token_is_shown_to_its_owner_and_admins(service: Service) -> None:
    made = service.post("/v1/tokens", json={"name": "laptop"})
    place = made.headers["location"]
    assert {**service.get(place).json(), "token": made.json()["token"]} == made.json()
    assert service.get(place, by="admin").status_code == 200
    for path, by in ((place, "bert"), ("/v1/tokens/999", "anna")):
        expect_problem(service.get(path, by=by), 404, "not_found")


def test_a_scope_is_named_once(service: Service) -> None:
    problem = expect_problem(service.post("/v1/tokens", json={"name": "x", "scopes": ["read", "read"]}), 422)
    assert problem["errors"] == [{"field": "scopes", "message": "must not name the same value twice"}]


def test_so_many_tokens_of_one_user_are_valid_at_once(
    service_on_each: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_on_each
    monkeypatch.setattr("services.users.tokens._MOST", 3)  # the user already has one
    for made in [service.post("/v1/tokens", json={"name": "more"}) for _ in range(2)]:
        assert made.status_code == 201
    problem = expect_problem(service.post("/v1/tokens", json={"name": "more"}), 429, "too_many")
    assert "revoke one first" in problem["detail"]
    expect_problem(service.post("/v1/tokens", json={"name": "x", "user": "anna"}, by="admin"), 429, "too_many")
    assert service.post("/v1/tokens", json={"name": "x"}, by="bert").status_code == 201
    assert service.ask("DELETE", made.headers["location"]).status_code == 204
    assert service.post("/v1/tokens", json={"name": "more"}).status_code == 201
