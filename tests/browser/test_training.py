"""A real training, watched in the browser: it runs out of memory, is re-planned and finishes, without a reload.

SCREENSHOTS=1 makes the pictures of the README from it.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from launcher.demo.run_demo import SLOT_MB
from services.datasets.scenes import CLASSES
from tests.browser.conftest import Tab, log_in
from tests.browser.service import Service
from tests.support.box import ROOT
from tests.support.newcomer import Newcomer

STEPS = 6
TRAINED_MS = 1_200_000  # on a busy machine
PICTURES = ROOT / "docs" / "screenshots"
LARGEST = 300_000
Shoot = Callable[..., None]


@pytest.fixture(scope="module")
def real(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with the real trainer and a CPU slot of the demo's size."""
    newcomer = Newcomer(tmp_path_factory.mktemp("real"), train=40, validation=6, size=256)
    service = Service(newcomer, DOWNSHIFT_DEVICES=f"cpu:{SLOT_MB}", DOWNSHIFT_TRAINER="", DOWNSHIFT_HOST="gpu-box")
    yield service
    service.tidy()
    service.close()


@pytest.fixture
def shoot() -> Shoot:
    def shoot(page: Page, name: str, top: str = "body") -> None:
        if not os.environ.get("SCREENSHOTS"):
            return
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.locator(top).evaluate("top => top.scrollIntoView()")
        page.evaluate("document.documentElement.style.scrollbarGutter = 'auto'")  # no empty space for a scroll bar
        page.mouse.move(0, 0)
        path = PICTURES / f"{name}.png"
        page.screenshot(path=path, animations="disabled")
        shrink(path)
        assert path.stat().st_size < LARGEST

    return shoot


def shrink(path: Path) -> None:
    with Image.open(path) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def show(page: Page, tab: str) -> Locator:
    page.get_by_role("tab", name=tab).click()
    return page.get_by_role("tabpanel", name=tab)


def cancel_another(real: Service, open_tab: Tab, shoot: Shoot) -> None:
    """Cancel a second, waiting job from the list in another tab. Takes a picture of the list."""
    other = real.submit(steps=1000, name="waits its turn")
    page = open_tab(real, "/", viewport={"width": 1200, "height": 500})
    row = page.locator(f'#rows tr[data-key="{other}"]')
    expect(row).to_contain_text("next in queue")
    shoot(page, "jobs")
    row.get_by_role("checkbox").check()
    page.locator("#cancel").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Cancel")).click()
    expect(row).to_contain_text("cancelled")
    assert real.job(other)["state"] == "cancelled"
    page.close()


@pytest.mark.timeout(2 * TRAINED_MS / 1000)
def test_a_job_that_is_too_large_is_submitted_watched_and_read(real: Service, open_tab: Tab, shoot: Shoot) -> None:
    page = open_tab(real, "/", user=None, viewport={"width": 1200, "height": 900})
    log_in(page, real, "anna")
    page.get_by_role("link", name="New job").first.click()
    page.get_by_label("Name", exact=True).fill("shapes, first try")
    page.get_by_label("Model", exact=True).select_option("efficientdet_d0")
    page.get_by_label("Image size", exact=True).select_option("256x256")
    page.get_by_label("Steps", exact=True).fill(str(STEPS))
    page.get_by_label("Batch", exact=True).fill("8")
    page.get_by_label("Evaluations", exact=True).fill("2")
    page.get_by_label("Start exactly as requested").check()
    estimate = page.get_by_role("region", name="Estimate")
    expect(estimate).to_contain_text("efficientdet_d0")
    expect(estimate).to_contain_text("does not fit")
    expect(estimate).not_to_have_attribute("aria-busy", "true")
    shoot(page, "new-job")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    job = int(page.url.rpartition("/")[2])

    # From here on the page is neither reloaded nor left.
    page.evaluate("window.here = true")
    moves: list[str] = []
    page.on("request", lambda request: moves.extend([request.url] if request.is_navigation_request() else []))
    now = page.locator("#now")
    expect(now).to_contain_text("Attempt 1 of at most 6", timeout=TRAINED_MS)
    expect(now).to_contain_text(re.compile("Attempt 2 .*ran out of memory at batch 8"), timeout=TRAINED_MS)
    expect(now).to_contain_text(re.compile(r"Attempt 2 .*training at step \d"), timeout=TRAINED_MS)
    cancel_another(real, open_tab, shoot)
    expect(now).to_contain_text(f"Finished all {STEPS} steps in 2 attempts", timeout=TRAINED_MS)
    assert page.evaluate("window.here")
    assert moves == []

    first, second = (page.locator(f"#attempt-{number}") for number in (1, 2))
    expect(first).to_contain_text("too large")
    expect(first).to_contain_text("OOM when allocating tensor")
    change = second.locator(".diff-block", has_text="Micro-batch")
    expect(change).to_contain_text(re.compile("8 → 2.*Batch 8 is kept.*Costs: steps take longer", re.DOTALL))
    expect(second).to_contain_text("predicted")
    shoot(page, "job")

    charts = show(page, "Charts")
    loss = charts.get_by_role("img", name=re.compile("Chart: (Total )?loss", re.IGNORECASE)).first
    expect(loss.locator(".scatterlayer .trace").first).to_be_attached()
    assert loss.evaluate("chart => chart.layout.shapes.length") == 1
    assert loss.evaluate("chart => Math.max(...chart.data.flatMap((trace) => trace.x))") == STEPS
    shoot(page, "charts", top=".tabs")

    results = show(page, "Results")
    for shape in CLASSES:
        expect(results.get_by_role("row", name=re.compile(shape)).first).to_be_visible()
    expect(page.get_by_label("Evaluation at").locator("option")).to_have_text([f"step {STEPS}", f"step {STEPS // 2}"])
    page.get_by_label("Evaluation at").select_option(str(STEPS // 2))
    picture = results.locator("img").first
    expect(picture).to_have_attribute("alt", re.compile(f"prediction at step {STEPS // 2} "))
    expect(picture).to_have_js_property("complete", True)
    assert picture.evaluate("image => image.naturalWidth") >= 256

    log = show(page, "Log")
    page.get_by_label("Attempt", exact=True).select_option("1")
    page.get_by_label("Search the log").fill("oom WHEN allocating")
    page.keyboard.press("Enter")
    expect(log.locator(".hit")).to_contain_text("OOM when allocating tensor")

    files = show(page, "Files")
    with page.expect_download() as download:
        files.get_by_role("link", name="export.tar.gz").click()
    assert download.value.path().stat().st_size > 1_000_000
    assert page.evaluate("window.here")

    page.emulate_media(color_scheme="dark")
    show(page, "Attempts")
    shoot(page, "job-dark")
    attempts = real.ask("GET", f"/v1/jobs/{job}/attempts")["items"]
    assert [attempt["diagnosis"] for attempt in attempts] == ["too_large", "completed"]
