"""Log-in with a browser: the cookie, what it allows, and when the session ends."""

import contextlib
import datetime
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.middleware.rate_limit import LoginLimits
from services.clock import utc_now
from services.errors import TooFast
from services.settings import Settings
from services.store.models import UserSession
from services.users import directory
from services.users.principal import Scope
from tests.support.api_service import BODY, Browser, Service, expect_problem

PASSWORD = "correct horse battery"


@pytest.fixture
def anna(service_on_each: Service) -> Browser:
    """Not logged in yet."""
    give_password(service_on_each, "anna")
    return Browser(service_on_each)


def give_password(service: Service, name: str, password: str = PASSWORD) -> None:
    directory.change(service.store, service.principals["admin"], name, {"password": password})


def cookie_of(answer: Any) -> dict[str, str]:
    first, *attributes = answer.headers["set-cookie"].split("; ")
    name, _, value = first.partition("=")
    return {
        "name": name,
        "value": value,
        **{key.lower(): text for key, _, text in (a.partition("=") for a in attributes)},
    }


def test_a_password_is_good_for_all_that_its_user_may_do(anna: Browser) -> None:
    assert anna.log_in(user="anna", password=PASSWORD).status_code == 204
    me = anna.get("/v1/whoami").json()
    assert (me["user"], me["role"], me["scopes"], me["token_id"]) == ("anna", "member", ["read", "submit"], None)
    assert len(me["csrf"]) == 64
    submitted = anna.ask("POST", "/v1/jobs", json=BODY)
    assert (submitted.status_code, submitted.json()["owner"]) == (202, "anna")
    assert anna.get("/v1/whoami").json()["use"]["queued"] == 1


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(anna: Browser) -> None:
    cookie = cookie_of(anna.log_in(user="anna", password=PASSWORD))
    assert cookie["name"] == "downshift_session"
    assert len(cookie["value"]) == 43
    assert (cookie["path"], cookie["samesite"].lower(), cookie["httponly"]) == ("/", "lax", "")
    assert "secure" not in cookie
    assert "domain" not in cookie


def test_over_tls_the_cookie_stays_there(service: Service) -> None:
    secure = Browser(service, "https://localhost").log_in(token=service.tokens["anna"])
    assert "secure" in cookie_of(secure)
    object.__setattr__(service.settings, "secure_cookies", True)
    behind_a_proxy = Browser(service).client.post("/v1/session", json={"token": service.tokens["anna"]})
    assert "secure" in cookie_of(behind_a_proxy)


def test_only_the_digest_of_a_session_is_kept(service_on_each: Service) -> None:
    secret = cookie_of(Browser(service_on_each).log_in(token=service_on_each.tokens["anna"]))["value"]
    with service_on_each.store.reading() as session:
        [row] = session.query(UserSession)
    assert secret not in repr(vars(row))
    assert len(row.digest) == 64


@pytest.mark.parametrize(
    "given",
    [
        {"user": "anna", "password": "wrong horse battery"},
        {"user": "anna", "password": PASSWORD + " "},
        {"user": "zoe", "password": PASSWORD},
        {"user": "vera", "password": PASSWORD},  # has no password
        {"token": "dsh_" + "0" * 43},
        {"token": "é"},
    ],
)
def test_a_wrong_log_in_is_refused_without_saying_what_is_wrong(anna: Browser, given: dict[str, str]) -> None:
    problem = expect_problem(anna.log_in(**given), 401, "unauthenticated")
    if "password" in given:
        assert problem["detail"] == "the name or the password is wrong, or the account is disabled"
    assert "set-cookie" not in anna.log_in(**given).headers


@pytest.mark.parametrize(
    "body", [{}, {"user": "anna"}, {"password": "x"}, {"user": "anna", "token": "x"}, {"user": "", "password": ""}]
)
def test_half_a_log_in_is_refused(service: Service, body: dict[str, str]) -> None:
    expect_problem(Browser(service).log_in(**body), 422)


def test_a_session_begun_with_a_token_can_do_no_more_and_ends_with_it(service_on_each: Service) -> None:
    service = service_on_each
    weak = service.post("/v1/tokens", json={"name": "x", "scopes": ["read"], "user": "admin"}, by="admin").json()
    browser = Browser(service)
    assert browser.log_in(token=weak["token"]).status_code == 204
    assert browser.get("/v1/whoami").json()["scopes"] == ["read"]
    expect_problem(browser.ask("POST", "/v1/jobs", json=BODY), 403, "forbidden")
    service.ask("DELETE", f"/v1/tokens/{weak['id']}", by="admin")
    expect_problem(browser.get("/v1/whoami"), 401)


def test_changes_need_the_token_that_only_our_pages_know(anna: Browser) -> None:
    anna.log_in(user="anna", password=PASSWORD)
    right = anna.csrf
    for wrong in ("", right[:-1], right.upper(), "x"):
        anna.csrf = wrong
        expect_problem(anna.ask("POST", "/v1/jobs", json=BODY), 403, "csrf_failed")
    anna.csrf = right
    assert anna.ask("POST", "/v1/jobs", json=BODY, headers={"Origin": "http://localhost"}).status_code == 202


def test_another_session_s_token_does_not_count(service: Service) -> None:
    one, other = Browser(service), Browser(service)
    one.log_in(token=service.tokens["anna"])
    other.log_in(token=service.tokens["anna"])
    assert one.csrf != other.csrf
    one.csrf = other.csrf
    expect_problem(one.ask("POST", "/v1/jobs", json=BODY), 403, "csrf_failed")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_the_cookie_is_no_good_for_pages_of_other_sites(service: Service, headers: dict[str, str]) -> None:
    browser = Browser(service)
    browser.log_in(token=service.tokens["anna"])
    expect_problem(browser.get("/v1/jobs", headers=headers), 403, "csrf_failed")
    expect_problem(browser.ask("POST", "/v1/jobs", json=BODY, headers=headers), 403, "csrf_failed")
    expect_problem(
        browser.client.post("/v1/session", json={"token": service.tokens["anna"]}, headers=headers), 403, "csrf_failed"
    )
    assert service.get("/v1/jobs", headers=headers).status_code == 200  # browsers do not send tokens by themselves


def test_a_link_from_elsewhere_may_be_followed(service: Service) -> None:
    browser = Browser(service)
    browser.log_in(token=service.tokens["anna"])
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert browser.get("/v1/jobs", headers=headers).status_code == 200


def test_a_bearer_token_goes_before_the_cookie(service: Service) -> None:
    browser = Browser(service)
    browser.log_in(token=service.tokens["anna"])
    as_bert = {"Authorization": f"Bearer {service.tokens['bert']}"}
    assert browser.client.post("/v1/jobs", json=BODY, headers=as_bert).json()["owner"] == "bert"
    expect_problem(browser.get("/v1/whoami", headers={"Authorization": "Bearer wrong"}), 401)


def test_logging_out_ends_the_session_for_good(anna: Browser) -> None:
    secret = cookie_of(anna.log_in(user="anna", password=PASSWORD))["value"]
    expect_problem(anna.client.delete("/v1/session"), 403, "csrf_failed")
    gone = anna.ask("DELETE", "/v1/session")
    assert (gone.status_code, cookie_of(gone)["max-age"]) == (204, "0")
    expect_problem(anna.get("/v1/whoami"), 401)
    expect_problem(anna.get("/v1/whoami", headers={"Cookie": f"downshift_session={secret}"}), 401)


def test_logging_in_again_ends_the_session_before(anna: Browser) -> None:
    secret = cookie_of(anna.log_in(user="anna", password=PASSWORD))["value"]
    anna.log_in(user="anna", password=PASSWORD)
    anna.client.cookies.clear()
    expect_problem(anna.get("/v1/whoami", headers={"Cookie": f"downshift_session={secret}"}), 401)


def test_a_viewer_logs_in_looks_and_logs_out(service: Service) -> None:
    browser = Browser(service)
    browser.log_in(token=service.tokens["vera"])
    assert browser.get("/v1/jobs").status_code == 200
    expect_problem(browser.ask("POST", "/v1/jobs", json=BODY), 403, "forbidden")
    assert browser.ask("DELETE", "/v1/session").status_code == 204


def test_a_session_ends_a_week_after_its_last_use(anna: Browser, service_on_each: Service) -> None:
    anna.log_in(user="anna", password=PASSWORD)

    def session_of(change: Callable[[UserSession], None]) -> datetime.datetime:
        service_on_each.store.later.wait()
        with service_on_each.store.transaction() as session:
            [row] = session.query(UserSession)
            change(row)
            return row.expires_at

    def used_two_days_ago(row: UserSession) -> None:
        row.last_used_at, row.expires_at = utc_now() - datetime.timedelta(days=2), utc_now() + datetime.timedelta(5)

    def begun_long_ago(row: UserSession) -> None:
        used_two_days_ago(row)
        row.created_at = utc_now() - datetime.timedelta(days=29)

    def over(row: UserSession) -> None:
        row.expires_at = utc_now()

    session_of(used_two_days_ago)
    assert anna.get("/v1/whoami").status_code == 200
    assert session_of(begun_long_ago) > utc_now() + datetime.timedelta(days=4)
    assert anna.get("/v1/whoami").status_code == 200
    assert session_of(lambda row: None) < utc_now() + datetime.timedelta(days=1, seconds=1)  # 30 days in all
    session_of(over)
    expect_problem(anna.get("/v1/whoami"), 401)


def test_a_new_password_ends_the_other_sessions_and_tokens_stay(anna: Browser, service_on_each: Service) -> None:
    service = service_on_each
    other = Browser(service)
    for browser in (anna, other):
        browser.log_in(user="anna", password=PASSWORD)
    new = {"password": "another horse entirely"}
    problem = expect_problem(anna.ask("PUT", "/v1/users/me/password", json={**new, "current": "wrong"}), 422)
    assert problem["errors"][0]["field"] == "current"
    expect_problem(anna.ask("PUT", "/v1/users/me/password", json=new), 422)
    assert other.get("/v1/whoami").status_code == 200

    changed = anna.ask("PUT", "/v1/users/me/password", json={**new, "current": PASSWORD})

    assert changed.status_code == 204
    assert anna.get("/v1/whoami").status_code == 200
    expect_problem(other.get("/v1/whoami"), 401)
    assert service.get("/v1/whoami").status_code == 200
    expect_problem(other.log_in(user="anna", password=PASSWORD), 401)
    assert other.log_in(user="anna", **new).status_code == 204


def test_an_admin_s_new_password_and_disabling_end_every_session(anna: Browser, service_on_each: Service) -> None:
    service = service_on_each
    anna.log_in(user="anna", password=PASSWORD)
    give_password(service, "anna", "another horse entirely")
    expect_problem(anna.get("/v1/whoami"), 401)
    anna.log_in(user="anna", password="another horse entirely")

    assert service.ask("PATCH", "/v1/users/anna", json={"disabled": True}, by="admin").status_code == 200

    expect_problem(anna.get("/v1/whoami"), 401)
    expect_problem(service.get("/v1/whoami"), 401)  # with the token of anna
    expect_problem(anna.log_in(user="anna", password="another horse entirely"), 401)
    expect_problem(anna.log_in(token=service.tokens["anna"]), 401)
    service.ask("PATCH", "/v1/users/anna", json={"disabled": False}, by="admin")
    assert service.get("/v1/whoami").status_code == 200
    expect_problem(anna.get("/v1/whoami"), 401)  # the session does not come back


def test_the_first_password_needs_a_way_in_that_is_as_strong(service: Service) -> None:
    new = {"password": PASSWORD}
    weak = service.token("admin", [Scope.SUBMIT])
    short = service.post("/v1/tokens", json={"name": "s", "scopes": ["submit"], "expires_in_days": 2}).json()["token"]
    for token in (weak, short):
        expect_problem(service.ask("PUT", "/v1/users/me/password", json=new, by=token), 403, "forbidden")
    assert service.ask("PUT", "/v1/users/me/password", json=new, by="vera").status_code == 204
    assert Browser(service).log_in(user="vera", **new).status_code == 204


def test_a_lowered_role_counts_at_once_in_a_session_too(service: Service) -> None:
    browser = Browser(service)
    browser.log_in(token=service.tokens["anna"])
    service.ask("PATCH", "/v1/users/anna", json={"role": "viewer"}, by="admin")
    assert browser.get("/v1/whoami").json()["scopes"] == ["read"]


def test_pages_without_a_session_lead_to_the_log_in(service: Service) -> None:
    browser = Browser(service)
    page = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    led = browser.get("/jobs/1?tab=logs&x=%0d%0a", headers=page)
    assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Fjobs%2F1%3Ftab%3Dlogs%26x%3D%250d%250a")
    expect_problem(browser.get("/v1/jobs", headers=page), 401)
    expect_problem(browser.get("/jobs/1"), 401)
    expect_problem(browser.get("/jobs/1", headers={**page, "Authorization": "Bearer x"}), 401)
    browser.log_in(token=service.tokens["anna"])
    assert browser.get("/nothing", headers=page).status_code == 404


class TestRates:
    def test_nobody_tries_passwords_for_long(self, service: Service) -> None:
        give_password(service, "anna")
        object.__setattr__(service.app.state.context, "login_limits", LoginLimits(clock=lambda: 0.0))
        browser = Browser(service)
        for _ in range(10):
            expect_problem(browser.log_in(user="anna", password="x"), 401)
        refused = browser.log_in(user="anna", password=PASSWORD)
        problem = expect_problem(refused, 429, "rate_limited")
        assert "10 log-ins a minute" in problem["detail"]
        assert refused.headers["retry-after"] == "6"
        assert browser.log_in(token=service.tokens["anna"]).status_code == 204  # tokens have a limit of their own

    def test_guesses_from_many_networks_do_not_lock_users_out_of_known_networks(self, service: Service) -> None:
        give_password(service, "anna")
        object.__setattr__(service.app.state.context, "login_limits", LoginLimits(clock=lambda: 0.0))

        def log_in(place: str, password: str) -> int:
            client = TestClient(service.app, base_url="http://localhost", client=(place, 1))
            return client.post("/v1/session", json={"user": "anna", "password": password}).status_code

        assert log_in("198.51.100.1", PASSWORD) == 204
        for number in range(7):
            for _ in range(10):
                log_in(f"192.0.2.{number}", "x")
        assert log_in("192.0.2.9", PASSWORD) == 429
        assert log_in("198.51.100.1", PASSWORD) == 204

    def test_the_own_password_can_be_tried_ten_times_a_minute(self, service: Service) -> None:
        give_password(service, "anna")
        object.__setattr__(service.app.state.context, "login_limits", LoginLimits(clock=lambda: 0.0))
        for number in range(7):
            for _ in range(10):
                with contextlib.suppress(TooFast):
                    service.app.state.context.login_limits.take(f"192.0.2.{number}", "anna")
        body = {"password": "another horse entirely", "current": "x"}
        answers = [service.ask("PUT", "/v1/users/me/password", json=body).status_code for _ in range(12)]
        assert answers[:10] == [422] * 10
        assert 429 in answers[10:]
        body["current"] = PASSWORD
        assert service.ask("PUT", "/v1/users/me/password", json=body, by="bert").status_code != 429

    def test_one_user_s_requests_a_minute_are_limited_and_others_are_not(self, service: Service) -> None:
        settings = Settings(**{**vars(service.settings), "rate_limit": 3})
        client = TestClient(create_app(settings, service.store), base_url="http://localhost")

        def asks(name: str) -> Any:
            return client.get("/v1/whoami", headers={"Authorization": f"Bearer {service.tokens[name]}"})

        answers = [asks("anna") for _ in range(50)]
        assert [answer.status_code for answer in answers[:3]] == [200] * 3
        refused = next(answer for answer in answers if answer.status_code != 200)
        expect_problem(refused, 429, "rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert asks("bert").status_code == 200
        assert [client.get("/healthz").status_code for _ in range(9)] == [200] * 9
