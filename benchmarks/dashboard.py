"""Measure the dashboard with much data: charts of 4 × 100,000 points, and a log of 1,000,000 lines.

    python benchmarks/dashboard.py [--rounds 5]

Uses the tests' Chromium and the service as users start it, on SQLite. Each time is from the click or key to the frame
that shows the result, by the page's own clock. The page is loaded again for each round, a second before the click. In
that second it fetches the chart library and the list of series, as it does for users. "At once" is a click as soon as
the page is loaded, in a browser with an empty cache. The goal is under a second. Missed goals are marked, and the exit
status is 1.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from services.clock import utc_now  # noqa: E402
from services.store import training_series  # noqa: E402
from tests.browser.service import Service  # noqa: E402
from tests.support.newcomer import Newcomer  # noqa: E402

NAMES = ("Loss/total_loss", "learning_rate", "images_per_s", "device_memory_peak")
POINTS = 100_000
LINES = 1_000_000
WANTED = 345_678
MOST_MS = 1000.0

# From the action to the first frame in which `there()` is true.
TIMED = """([act, there]) => new Promise((resolve) => {
  const begun = performance.now();
  Function(act)();
  const look = () => Function(`return ${there}`)() ? requestAnimationFrame(() => resolve(performance.now() - begun))
    : requestAnimationFrame(look);
  look();
})"""
CLICK = "document.querySelector('[data-tab={}]').click()"
DRAWN = "document.querySelectorAll('#charts .scatterlayer .trace .js-line').length >= 4"
TAIL = f"[...document.querySelectorAll('.log .line')].at(-1)?.dataset.line === '{LINES}'"
FIND = "document.querySelector('#log form').requestSubmit()"
FOUND = f"document.querySelector('.log .hit')?.dataset.line === '{WANTED}'"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as service, chromium() as browser:
        job = filled(service)
        at_once, charts, zoom, tail, search = (list[float]() for _ in range(5))
        with page_of(browser, service) as page:
            for _ in range(rounds):
                load(page, f"/jobs/{job}")
                page.wait_for_timeout(1000)  # a user needs about a second before the click
                charts.append(timed(page, CLICK.format("charts"), DRAWN))
                zoom.append(zoomed(page))
                tail.append(timed(page, CLICK.format("log"), TAIL))
                page.fill("#log-search", f"step {WANTED}:")
                search.append(timed(page, FIND, FOUND))
        for _ in range(rounds):
            with page_of(browser, service) as page:
                load(page, f"/jobs/{job}")
                at_once.append(timed(page, CLICK.format("charts"), DRAWN))
    print(f"{'':<44}{'median':>9}{'worst':>9}   ms, {rounds} rounds; load {os.getloadavg()[0]:.1f}")
    missed = [
        report(f"charts of 4 × {POINTS:,} points, click to drawn", charts),
        report("the same, at once, in a new browser", at_once),
        report("the same, zoomed to a tenth", zoom),
        report(f"log of {LINES:,} lines, click to its end", tail),
        report("the same, search to the match", search),
    ]
    sys.exit(any(missed))


@contextmanager
def serving(folder: Path) -> Iterator[Service]:
    service = Service(Newcomer(folder))
    try:
        yield service
    finally:
        service.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    path = subprocess.run([ROOT / "scripts" / "find-chromium"], check=True, capture_output=True, text=True)
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path.stdout.strip(), args=arguments)
        yield browser
        browser.close()


@contextmanager
def page_of(browser: Browser, service: Service) -> Iterator[Page]:
    # Without the content security policy, which would block the measuring script.
    context = browser.new_context(base_url=service.url, bypass_csp=True)
    context.request.post("/v1/session", data={"token": service.token})
    yield context.new_page()
    context.close()


def filled(service: Service) -> int:
    job = service.made(attempts=1)
    now = utc_now()
    with service.store() as store:
        for number, name in enumerate(NAMES):
            with store.transaction() as session:
                values = (training_series.Value(name, step, (number + 1) / step, now) for step in range(1, POINTS + 1))
                training_series.record(session, job, 1, values)
    with service.log(job, 1).open("w") as log:
        log.writelines(f"I step {line}: loss 0.{line:07d}\n" for line in range(1, LINES + 1))
    return job


def load(page: Page, path: str) -> None:
    page.goto("about:blank")
    page.goto(path)
    page.wait_for_selector("#timeline li")


def timed(page: Page, act: str, there: str) -> float:
    found: float = page.evaluate(TIMED, [act, there])
    return found


def zoomed(page: Page) -> float:
    """Zoom with the library's own call, as a drag does."""
    act = (
        "Plotly.relayout(document.querySelector('#charts .chart'), {'xaxis.range[0]': 20000, 'xaxis.range[1]': 30000})"
    )
    there = "document.querySelector('#charts .chart').data.at(-1).x[0] > 15000"
    return timed(page, act, there)


def report(what: str, values: list[float]) -> bool:
    """Print a line. Returns whether the goal is missed."""
    is_missed = max(values) >= MOST_MS
    print(f"{what:<44}{statistics.median(values):>9.0f}{max(values):>9.0f}{'  !' if is_missed else ''}", flush=True)
    return is_missed


if __name__ == "__main__":
    main()
