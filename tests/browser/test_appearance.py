"""Both themes, a phone's width and accessibility, on every page."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from services.domain.sizes import in_mb
from tests.browser.conftest import Guard, Tab
from tests.browser.service import Service
from tests.support.sizes import SIZES

PHONE = {"width": 375, "height": 740}
SERIOUS = ("serious", "critical")
SETTINGS = ("account", "tokens", "webhooks", "users", "audit")
JOB_TABS = ("attempts", "charts", "results", "log", "config", "files")
# Controls that are outside the window and cannot be scrolled to.
OUTSIDE = """() => {
  const isWide = (one) => getComputedStyle(one).overflowX === "auto";
  const scrolls = (one) => one !== document.body && (isWide(one) || scrolls(one.parentElement));
  const isOutside = ({ left, right }) => left < -1 || right > innerWidth + 1;
  return [...document.querySelectorAll("a, button, input, select, summary, textarea")]
    .filter((one) => one.checkVisibility() && !one.matches(".skip") && !scrolls(one))
    .filter((one) => isOutside(one.getBoundingClientRect()))
    .map((one) => one.outerHTML.slice(0, 150));
}"""


@pytest.fixture(scope="module")
def jobs(_service: Service) -> dict[str, int]:
    """One job in each state. The one that succeeded has everything that a page can show."""
    long = "a-name-that-is-quite-long-and-has-no-space-in-it-" * 2
    made = {
        state: _service.make_job(state=state, attempts=2, name=state) for state in ("paused", "failed", "cancelled")
    }
    made["succeeded"] = _service.make_job(attempts=3, name=long)
    _service.ask("POST", "/v1/webhooks", {"url": f"https://hooks.example/{long}"})
    return made


@pytest.fixture
def pages(service: Service, jobs: dict[str, int]) -> dict[str, str]:
    service.busy()
    running = service.submit(steps=1000, name="running")
    queued = service.submit(name="queued", device={"min_memory_mb": 500_000, "wait": True})
    service.until_state(running, "running")
    every = {**jobs, "running": running, "queued": queued}
    return {
        "jobs": "/",
        "no match": "/?q=nothing+is+called+like+this",
        **{f"job {state}": f"/jobs/{job}" for state, job in every.items()},
        **{f"job, {tab}": f"/jobs/{jobs['succeeded']}#{tab}" for tab in JOB_TABS},
        "no job": "/jobs/999999",
        "new": "/jobs/new",
        "clone": f"/jobs/new?clone={jobs['succeeded']}",
        "devices": "/devices",
        "compare": f"/compare?jobs={jobs['succeeded']},{jobs['failed']}",
        "compare nothing": "/compare",
        "datasets": "/datasets",
        "dataset": "/datasets/shapes",
        "models": "/models",
        **{f"settings, {part}": f"/settings#{part}" for part in SETTINGS},
    }


def visit(page: Page, path: str) -> None:
    page.goto("about:blank")  # otherwise a link to another tab of the same page would not reload it
    page.goto(path)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    if page.locator(".live").count():
        expect(page.locator(".live")).to_have_text("live")
    wait_until_drawn(page)


def wait_until_drawn(page: Page) -> None:
    """Wait until the page has not changed for a moment."""
    page.evaluate(
        """() => new Promise((resolve) => {
          let timer = setTimeout(resolve, 250);
          new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(resolve, 250); })
            .observe(document.querySelector("main"), { childList: true, subtree: true });
        })"""
    )


def axe(page: Page, **options: Any) -> list[str]:
    """The serious findings of axe. The page's policy allows only its own scripts, so axe runs through the debugger."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("options => axe.run(document, options)", {"resultTypes": ["violations"], **options})
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]} ({node.get('failureSummary', '')[:300]})"
        for one in found["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"][:3]
    ]


def everywhere(page: Page, pages: dict[str, str], check: Callable[[Page], list[str]]) -> None:
    problems = []
    for name, path in pages.items():
        visit(page, path)
        problems += [f"{name}: {problem}" for problem in check(page)]
    assert not problems, "\n".join(problems)


# A theme changes only colours.
@pytest.mark.parametrize(("theme", "rules"), [("light", {}), ("dark", {"runOnly": ["color-contrast"]})])
def test_every_page_is_accessible_and_its_colours_have_enough_contrast(
    service: Service, pages: dict[str, str], open_tab: Tab, guard: Guard, theme: Any, rules: Any
) -> None:
    def check(page: Page) -> list[str]:
        return axe(page, **rules)

    guard.allow("404")  # one page is of a job that does not exist
    page = open_tab(service, color_scheme=theme)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    everywhere(page, pages, check)
    everywhere(open_tab(service, "/login", user=None, color_scheme=theme), {"login": "/login"}, check)
    visit(page, "/settings#tokens")
    page.get_by_role("button", name="New token").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert check(page) == []


def test_on_a_phone_nothing_is_wider_than_the_screen_and_all_controls_can_be_reached(
    service: Service, pages: dict[str, str], open_tab: Tab, guard: Guard
) -> None:
    guard.allow("404")

    def narrow(page: Page) -> list[str]:
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        outside = page.evaluate(OUTSIDE)
        return [f"{wide} px too wide"] * (wide > 0) + [f"outside: {one}" for one in outside]

    everywhere(open_tab(service, viewport=PHONE), pages, narrow)
    everywhere(open_tab(service, "/login", user=None, viewport=PHONE), {"login": "/login"}, narrow)


def test_on_a_phone_every_page_can_be_opened_and_a_job_shows_everything(
    service: Service, jobs: dict[str, int], open_tab: Tab
) -> None:
    page = open_tab(service, viewport=PHONE, has_touch=True)
    for name in ("Devices", "Compare", "Datasets", "Models", "Jobs"):
        page.get_by_role("navigation").get_by_role("link", name=name, exact=True).tap()
        expect(page).to_have_title(re.compile(f"^{name}"))
    page.get_by_label("Your account").tap()
    page.get_by_role("link", name="Settings").tap()
    expect(page).to_have_title(re.compile("^Settings"))
    page.get_by_role("link", name="New job").tap()
    expect(page).to_have_title(re.compile("^New job"))
    page.goto("/")
    row = page.locator(f'#rows tr[data-key="{jobs["failed"]}"]')
    for words in ("failed", "admin", "efficientdet_d0", "shapes"):
        expect(row).to_contain_text(words)
    row.get_by_role("link").tap()
    for tab in ("Attempts", "Charts", "Results", "Log", "Configuration", "Files"):
        page.get_by_role("tab", name=tab).tap()
        expect(page.get_by_role("tabpanel", name=tab)).to_be_visible()
    page.get_by_role("tab", name="Charts").tap()
    expect(page.get_by_text("Tap a chart for its values.")).to_be_visible()
    page.get_by_role("img", name="Chart: Total loss").tap()
    expect(page.locator(".hoverlayer").first).to_contain_text("total")


def test_the_theme_follows_the_system_until_another_is_chosen_and_stored(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert page.evaluate(theme) == "dark"
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark

    page.locator("#theme").click()  # light
    page.locator("#theme").click()  # dark, independent of the system
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    # The first paint, before any of our scripts except the theme's.
    page.add_init_script(
        """new MutationObserver((_, observer) => {
          if (document.body) {
            window.first = getComputedStyle(document.body).backgroundColor;
            observer.disconnect();
          }
        }).observe(document, { childList: true, subtree: true })"""
    )
    page.reload()
    assert page.evaluate("window.first") == dark
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_sizes_are_formatted_as_by_the_service(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/devices")
    script = page.locator("script[src*='js/pages/devices.js']").get_attribute("src") or ""
    texts = page.evaluate(
        "async ([path, counts]) => { const { bytes } = await import(path); return counts.map(bytes); }",
        [script.replace("pages/devices.js", "shared/format.js"), [count for count, _ in SIZES]],
    )
    assert texts == [text for _, text in SIZES] == [in_mb(count) for count, _ in SIZES]
    expect(page.locator(".card").first).to_contain_text("CPU slot, 1000 MB")
    expect(page.locator(".card .holders").first).to_contain_text("of 1000 MB")
