"""The dashboard as served: access to pages, what a page may load, and its files."""

import os
import re
from pathlib import Path

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from api.dashboard import pages
from api.dashboard.static_files import static_files
from services.domain.contract import EventKind
from services.users import sessions
from tests.support.api_service import Browser, Service, expect_problem
from tests.support.box import ROOT

PAGES = ("/", "/jobs/new", "/jobs/1", "/devices", "/compare", "/datasets", "/datasets/shapes", "/models", "/settings")
HTML = {"Accept": "text/html"}


@pytest.fixture(autouse=True)
def first_job(service: Service) -> int:
    return service.job()


def page(service: Service, path: str) -> httpx.Response:
    return service.get(path, headers=HTML)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_without_a_session_becomes_the_log_in_page_and_comes_back(service: Service, path: str) -> None:
    answer = service.get(path, by=None, headers=HTML, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?next=")
    assert page(service, "/login").status_code == 200


@pytest.mark.parametrize("path", [*PAGES, "/login"])
def test_a_page_loads_from_here_only_and_runs_nothing_inline(service: Service, path: str) -> None:
    answer = page(service, path)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "'unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|<style|\sstyle=|https?:", answer.text)


@pytest.mark.parametrize("path", [*PAGES, "/login"])
def test_every_file_that_a_page_names_is_there_and_may_be_kept(service: Service, path: str) -> None:
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page(service, path).text)
    assert len(files) >= 4
    for name in files:
        answer = service.get(name)
        assert answer.status_code == 200, name
        assert "immutable" in answer.headers["cache-control"]


def test_without_a_session_there_are_the_files_of_the_log_in_page_and_no_others(service: Service) -> None:
    root = re.findall(r'src="(/static/[^/]+/)', page(service, "/login").text)[0]
    given = {name for name in static_files() if service.get(root + name, by=None).status_code == 200}
    needed = set(re.findall(rf'(?:src|href)="{root}([^"]+)"', page(service, "/login").text))
    while imported := {one for name in needed for one in imports(name)} - needed:
        needed |= imported
    assert given == needed


def imports(name: str) -> set[str]:
    """The modules that a script imports, by their names in `static_files`."""
    if not name.endswith(".js"):
        return set()
    text = static_files()[name].read_text()
    named = re.findall(r'(?:from|import\(|import|:)\s*"(\.{1,2}/[^"]+\.js)"', text)
    return {os.path.normpath(Path(name).parent / one) for one in named}


def test_scripts_import_only_what_is_there(service: Service) -> None:
    modules = {name: path.read_text() for name, path in static_files().items() if name.startswith("js/")}
    for name, text in modules.items():
        assert imports(name) <= set(modules), f"{name} imports {imports(name) - set(modules)}"
        assert not re.search(r"(inner|outer)HTML\s*\+?=[^=]|insertAdjacentHTML|document\.write", text), (
            f"{name}: text is text"
        )


def test_pages_listen_for_every_kind_of_event_that_there_is() -> None:
    written = (path.read_text() for path in (ROOT / "services").rglob("*.py"))
    kinds = {kind for text in written for kind in re.findall(r'\bevents\.add\([^")]*"(\w+)"', text)}
    assert {"submitted", "ended", "replanned", "planned"} <= kinds
    kinds |= {kind.value for kind in EventKind} - {EventKind.STEP}  # pages get `progress` events instead
    listened = re.search(r"const KINDS = \[([^\]]+)\]", static_files()["js/shared/events.js"].read_text())
    assert listened
    assert kinds <= set(re.findall(r'"(\w+)"', listened[1]))


def test_a_file_that_is_not_one_of_them_is_not_given(service: Service) -> None:
    for name in ("../__init__.py", "..%2f__init__.py", "templates/base.html", "css/none.css"):
        expect_problem(service.get(f"/static/x/{name}", by=None), 401)
        expect_problem(service.get(f"/static/x/{name}"), 404)


def test_a_page_says_nothing_of_a_job(service: Service) -> None:
    service.job(name="<img onerror=alert(1)>")
    for path in PAGES:
        assert "onerror" not in page(service, path).text


def test_a_browser_gets_an_error_page_and_a_program_a_problem(service: Service) -> None:
    browser = Browser(service)
    browser.log_in(token=service.tokens["anna"])
    for path in ("/nowhere", "/jobs/x"):
        answer = browser.get(path, headers=HTML)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert f"There is nothing at {path}." in answer.text
        assert 'href="/"' in answer.text
        assert "'unsafe" not in answer.headers["content-security-policy"]
        expect_problem(browser.get(path), 404)
        expect_problem(service.get(path, headers=HTML), 404)  # a token: a program asks
    expect_problem(browser.get("/v1/nowhere", headers=HTML), 404)
    assert "<b>" not in browser.get("/<b>", headers=HTML).text


def test_only_users_that_may_see_a_job_get_its_page(service: Service) -> None:
    object.__setattr__(service.settings, "private_jobs", True)
    for user, path, status in (("anna", "/jobs/1", 200), ("bert", "/jobs/1", 404), ("anna", "/jobs/9", 404)):
        browser = Browser(service)
        browser.log_in(token=service.tokens[user])
        answer = browser.get(path, headers=HTML)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
        if status == 404:
            assert f"There is no job {path[6:]}." in answer.text


def test_a_person_gets_a_page_also_when_the_service_fails(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(service)
    browser.log_in(token=service.tokens["anna"])
    monkeypatch.setattr(pages, "render", lambda *_, **__: 1 / 0)
    expect_problem(browser.get("/"), 500, "internal")
    monkeypatch.undo()
    monkeypatch.setattr(sessions, "authenticate", away)
    answer = browser.get("/", headers=HTML)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "The database did not answer" in answer.text


def away(*_: object) -> None:
    raise OperationalError("SELECT 1", {}, ConnectionError())


def test_the_list_of_jobs_is_the_front_page(service: Service) -> None:
    answer = service.get("/jobs?state=running", headers=HTML, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, "/?state=running")


def test_pages_are_served_after_a_log_in(service: Service) -> None:
    browser = Browser(service)
    assert browser.log_in(token=service.tokens["anna"]).status_code == 204
    assert browser.get("/jobs/1").status_code == 200
    expect_problem(service.get("/jobs/x"), 404)
