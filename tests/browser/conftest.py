"""A real Chromium before a real service; a page that logs an error, breaks its policy or asks another host fails."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route, expect, sync_playwright

from tests.browser.service import PASSWORD, Service
from tests.support.box import ROOT
from tests.support.newcomer import Newcomer

PATIENCE_MS = 90_000  # for what takes a second on a machine that has nothing else to do
expect.set_options(timeout=PATIENCE_MS)

NAMED_HOST = "gpu-box"  # leads here; to a browser it is another machine, and plain HTTP from there not to be trusted
A_PAGE = re.compile(r"/v1/jobs\?.*limit=50")
Tab = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium_path() -> str:
    found = subprocess.run([ROOT / "scripts" / "find-chromium"], capture_output=True, text=True, timeout=60)
    if found.returncode:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(found.stderr.strip())
    return found.stdout.strip()


@pytest.fixture(scope="module")
def chromium(chromium_path: str) -> Iterator[Browser]:
    """For each module: while Playwright is there, nothing else in this process can use asyncio."""
    with sync_playwright() as playwright:
        arguments = [f"--host-resolver-rules=MAP {NAMED_HOST} 127.0.0.1"]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")
        browser = playwright.chromium.launch(executable_path=chromium_path, args=arguments, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def _service(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(Newcomer(tmp_path_factory.mktemp("service")), DOWNSHIFT_DEVICES="cpu:1000,cpu:1000")
    yield service
    service.close()


@pytest.fixture
def service(_service: Service) -> Iterator[Service]:
    """Two slots and the fake trainer; at rest before and after each test."""
    yield _service
    _service.tidy()


class Guard:
    """What must not happen in a page. `allow` is for what a test does on purpose."""

    def __init__(self) -> None:
        self.troubles: list[str] = []
        self._allowed: list[str] = []

    def allow(self, pattern: str) -> None:
        self._allowed.append(pattern)

    def watch(self, context: BrowserContext, host: str) -> None:
        context.on("console", self._check_message)
        context.on("weberror", lambda error: self._note(f"error: {error.error}"))
        context.on("request", lambda request: self._check(request.url, host))

    def _check_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note(f"console: {message.text}")

    def _check(self, url: str, host: str) -> None:
        if urlsplit(url).netloc not in ("", host):
            self._note(f"request to another host: {url}")

    def _note(self, trouble: str) -> None:
        self.troubles.append(trouble)

    def check(self) -> None:
        found = [one for one in self.troubles if not any(re.search(pattern, one) for pattern in self._allowed)]
        assert not found, "\n".join(found)


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard()
    yield guard
    guard.check()


@pytest.fixture
def open_tab(chromium: Browser, guard: Guard) -> Iterator[Tab]:
    """`open_tab(service, path, user="admin", **options)`: a page of a browser of its own, logged in (None: not).

    `host`: another name and port that lead to the service.
    """
    contexts: list[BrowserContext] = []

    def open_tab(
        service: Service, path: str = "/", user: str | None = "admin", host: str | None = None, **options: Any
    ) -> Page:
        context = chromium.new_context(base_url=service.url, storage_state=_state(chromium, service, user), **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        guard.watch(context, host or urlsplit(service.url).netloc)
        page = context.new_page()
        page.goto(path)
        return page

    yield open_tab
    for context in contexts:
        context.close()


def _state(chromium: Browser, service: Service, user: str | None) -> Any:
    if user is None:
        return None
    if user not in service.states:
        with chromium.new_context(base_url=service.url) as context:
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.goto("/login")
            log_in(page, service, user)
            service.states[user] = context.storage_state()
    return service.states[user]


def log_in(page: Page, service: Service, user: str) -> None:
    """By the login page, which is open."""
    if user == "admin":
        page.get_by_text("Log in with a token").click()
        page.get_by_label("Token").fill(service.token)
        page.get_by_role("button", name="Log in with it").click()
    else:
        page.get_by_label("User").fill(user)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url(lambda url: not urlsplit(url).path.startswith("/login"))


def in_twos(route: Route) -> None:
    """For requests like A_PAGE: pages of two jobs."""
    route.continue_(url=route.request.url.replace("limit=50", "limit=2"))


@pytest.fixture
def page(open_tab: Tab, service: Service) -> Page:
    """The list of jobs, as the admin."""
    return open_tab(service)
