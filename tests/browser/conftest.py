"""A real Chromium and a real service. A page that logs an error or sends a request to another host fails its test."""

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

TIMEOUT_MS = 90_000  # long: on a busy machine, a second of work can take a minute
expect.set_options(timeout=TIMEOUT_MS)

NAMED_HOST = "gpu-box"  # resolves to this machine, but a browser does not treat plain HTTP to it as secure
JOBS_REQUEST = re.compile(r"/v1/jobs\?.*limit=50")
Tab = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium_path() -> str:
    found = subprocess.run([ROOT / "scripts" / "find-chromium"], capture_output=True, text=True, timeout=60)
    if found.returncode:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(found.stderr.strip())
    return found.stdout.strip()


@pytest.fixture(scope="module")
def chromium(chromium_path: str) -> Iterator[Browser]:
    """One browser per module: while Playwright runs, nothing else in this process can use asyncio."""
    with sync_playwright() as playwright:
        arguments = [f"--host-resolver-rules=MAP {NAMED_HOST} 127.0.0.1"]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")
        browser = playwright.chromium.launch(executable_path=chromium_path, args=arguments, timeout=TIMEOUT_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def _service(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(Newcomer(tmp_path_factory.mktemp("service")), DOWNSHIFT_DEVICES="cpu:1000,cpu:1000")
    yield service
    service.close()


@pytest.fixture
def service(_service: Service) -> Iterator[Service]:
    """Two slots and the fake trainer. No job runs or waits before and after each test."""
    yield _service
    _service.tidy()


class Guard:
    """Collects errors in pages, and requests to other hosts. `allow` is for those that a test causes on purpose."""

    def __init__(self) -> None:
        self.problems: list[str] = []
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

    def _note(self, problem: str) -> None:
        self.problems.append(problem)

    def check(self) -> None:
        found = [one for one in self.problems if not any(re.search(pattern, one) for pattern in self._allowed)]
        assert not found, "\n".join(found)


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard()
    yield guard
    guard.check()


@pytest.fixture
def open_tab(chromium: Browser, guard: Guard) -> Iterator[Tab]:
    """`open_tab(service, path, user="admin", **options)`: a page in a separate browser context, logged in as `user`.

    `user=None`: not logged in. `host`: another host name and port of the service.
    """
    contexts: list[BrowserContext] = []

    def open_tab(
        service: Service, path: str = "/", user: str | None = "admin", host: str | None = None, **options: Any
    ) -> Page:
        context = chromium.new_context(base_url=service.url, storage_state=_state(chromium, service, user), **options)
        context.set_default_timeout(TIMEOUT_MS)
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
            context.set_default_timeout(TIMEOUT_MS)
            page = context.new_page()
            page.goto("/login")
            log_in(page, service, user)
            service.states[user] = context.storage_state()
    return service.states[user]


def log_in(page: Page, service: Service, user: str) -> None:
    """Log in on the login page, which must be open."""
    if user == "admin":
        page.get_by_text("Log in with a token").click()
        page.get_by_label("Token").fill(service.token)
        page.get_by_role("button", name="Log in with it").click()
    else:
        page.get_by_label("User").fill(user)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url(lambda url: not urlsplit(url).path.startswith("/login"))


def two_per_page(route: Route) -> None:
    """A route for JOBS_REQUEST: two jobs per page."""
    route.continue_(url=route.request.url.replace("limit=50", "limit=2"))


@pytest.fixture
def page(open_tab: Tab, service: Service) -> Page:
    """The list of jobs, logged in as admin."""
    return open_tab(service)
