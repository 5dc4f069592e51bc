"""The dashboard as it is served: who gets a page, what a page may load, and where its files come from."""

import re

import httpx
import pytest

from api import dashboard
from tests.api.service import Browser, Service, expect_problem

PAGES = ("/", "/jobs/new", "/jobs/1", "/devices", "/compare", "/datasets", "/models", "/settings")
HTML = {"Accept": "text/html"}


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
def test_every_file_that_a_page_names_is_there_for_anybody_and_may_be_kept(service: Service, path: str) -> None:
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page(service, path).text)
    assert len(files) >= 4
    for name in files:
        answer = service.get(name, by=None)
        assert answer.status_code == 200, name
        assert "immutable" in answer.headers["cache-control"]


def test_scripts_import_only_what_is_there(service: Service) -> None:
    modules = {name: path.read_text() for name, path in dashboard.static_files().items() if name.startswith("js/")}
    for name, text in modules.items():
        for wanted in re.findall(r'(?:from|import\()\s*"\./([^"]+)"|: "\./([^"]+\.js)"', text):
            assert f"js/{wanted[0] or wanted[1]}" in modules, f"{name} imports {wanted}"
        assert "innerHTML =" not in text, f"{name}: text is text"


def test_a_file_that_is_not_one_of_them_is_not_given(service: Service) -> None:
    for name in ("../__init__.py", "..%2f__init__.py", "templates/base.html", "css/none.css"):
        answer = service.get(f"/static/x/{name}", by=None)
        assert answer.status_code in (401, 404), name


def test_a_page_says_nothing_of_a_job(service: Service) -> None:
    service.job(name="<img onerror=alert(1)>")
    for path in PAGES:
        assert "onerror" not in page(service, path).text


def test_one_who_has_logged_in_gets_the_pages(service: Service) -> None:
    browser = Browser(service)
    assert browser.log_in(token=service.tokens["anna"]).status_code == 204
    assert browser.get("/jobs/1").status_code == 200
    expect_problem(service.get("/jobs/x"), 404)
