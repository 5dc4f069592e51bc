"""A job's page: actions, live updates, log, charts, and escaping of user text."""

import re

from playwright.sync_api import Locator, Page, expect

from services.clock import utc_now
from services.store import training_series
from services.store.models import Job
from tests.browser.conftest import Guard, Tab
from tests.browser.service import Service

LINES = 1_000_000
WRONG_LINE = 654_321
NAME = "<img src=x onerror=\"window.hacked='name'\">"
NOTES = "<script>window.hacked='notes'</script>"


def state(page: Page) -> Locator:
    return page.locator("#state")


def show(page: Page, tab: str) -> Locator:
    page.get_by_role("tab", name=tab).click()
    return page.get_by_role("tabpanel", name=tab)


def test_a_job_is_paused_resumed_cancelled_and_cloned_on_its_page(service: Service, open_tab: Tab) -> None:
    service.busy()
    job = service.submit(steps=1000, name="first", policy={"max_attempts": 3, "levers": ["micro_batch"]})
    page = open_tab(service, f"/jobs/{job}")
    page.evaluate("window.here = true")
    expect(state(page)).to_have_text("running")
    expect(page.locator("#now")).to_contain_text(re.compile(r"Attempt 1 of at most 3: training at step \d+ of 1000 on"))

    page.get_by_role("button", name="Pause").click()
    expect(state(page)).to_have_text("paused")
    expect(page.locator("#now")).to_contain_text("Paused at step")
    page.get_by_role("button", name="Resume").click()
    expect(state(page)).to_have_text("running")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    expect(state(page)).to_have_text("running")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    expect(state(page)).to_have_text("cancelled")
    assert page.evaluate("window.here")

    service.behave()
    page.get_by_role("link", name="Clone and edit").click()
    expect(page.get_by_label("Steps", exact=True)).to_have_value("1000")
    expect(page.get_by_label("Maximum attempts", exact=True)).to_have_value("3")
    expect(page.locator("#levers input:checked")).to_have_count(1)
    page.get_by_label("Steps", exact=True).fill("2")
    page.get_by_label("Name", exact=True).fill("second")
    page.get_by_role("button", name="Submit").click()

    expect(page.locator("#name")).to_contain_text("second")
    expect(state(page)).to_have_text("succeeded")
    made = service.job(int(page.url.rpartition("/")[2]))
    assert (made["asked"]["steps"], made["policy"]["levers"]) == (2, ["micro_batch"])


def test_the_page_of_a_waiting_job_updates_its_queue_position_and_expected_start(
    service: Service, open_tab: Tab
) -> None:
    service.behave(step_s=0.5, phases_s={"tracing": 2})
    for job in [service.submit(steps=1000) for _ in range(2)]:
        service.until_state(job, "running")
    first, second = service.submit(), service.submit()
    page = open_tab(service, f"/jobs/{second}")
    now = page.locator("#now")
    # The speed of running jobs is known only some time after their start.
    expect(now).to_have_text(re.compile(r"2nd in queue, to start in about \d+ (s|min)\."))
    service.ask("POST", f"/v1/jobs/{first}/cancel")
    expect(now).to_have_text(re.compile(r"Next in queue, to start in about \d+ (s|min)\."))

    vast = service.submit(device={"min_memory_mb": 500_000, "wait": True})
    page.goto(f"/jobs/{vast}")
    expect(now).to_contain_text("Waits for a device")
    service.ask("POST", f"/v1/jobs/{second}/cancel")
    expect(now).to_have_text("1st in queue. Waits for a device with at least 500,000 MB of memory.")


def test_a_job_that_could_not_be_loaded_is_loaded_again_without_a_click(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("503")
    job = service.make_job(attempts=1, name="first name")
    page = open_tab(service, "/jobs/new")
    page.clock.install()
    failing = re.compile(rf"/v1/jobs/{job}/attempts$")
    page.route(failing, lambda route: route.fulfill(status=503, body="not now"))
    page.goto(f"/jobs/{job}")
    problem = page.locator("#problem")
    expect(problem).to_contain_text("not now. Retrying")
    page.get_by_role("tab", name="Log").click()  # before it has any content
    page.unroute(failing)
    page.clock.fast_forward(5000)
    expect(problem).to_be_hidden()
    expect(page.get_by_role("log")).to_contain_text("Ran OUT of memory")

    expect(page.locator(".live")).to_have_text("live")
    page.route(failing, lambda route: route.fulfill(status=503, body="not now"))
    service.ask("PATCH", f"/v1/jobs/{job}", {"name": "second name"})
    expect(problem).to_be_visible()
    page.unroute(failing)
    page.clock.fast_forward(5000)
    expect(page.locator("#name")).to_contain_text("second name")
    expect(problem).to_be_hidden()


def test_texts_of_users_and_trainers_are_shown_as_text_not_as_markup(service: Service, open_tab: Tab) -> None:
    job = service.make_job(name=NAME, notes=NOTES, attempts=2)
    markup = "<b>bold</b> <img src=x onerror=\"window.hacked='log'\"> &amp; </div>"
    coloured = "\x1b[31mred\x1b[0m words"
    bar = "10 %\r\x1b[K50 %\r\x1b[K100 % done\r"
    service.log(job, 2).write_text(f"{markup}\n{coloured}\n{bar}\n{'long ' * 50_000}\nlast line\n", newline="")

    page = open_tab(service)
    expect(page.get_by_role("link", name=NAME)).to_be_visible()
    page.goto(f"/jobs/{job}")
    expect(page.locator("#name")).to_contain_text(NAME)
    expect(page.locator("#job")).to_contain_text(NOTES)
    log = show(page, "Log")
    expect(log).to_contain_text("last line")
    page.get_by_label("Search the log").fill("<b>BOLD")
    page.keyboard.press("Enter")
    expect(log.locator(".hit")).to_contain_text(markup)
    expect(log.locator('[data-line="2"]')).to_contain_text("red words")
    expect(log.locator('[data-line="3"] > span')).to_have_text("100 % done")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.goto(f"/compare?jobs={job},{service.make_job(name='other')}")
    expect(page.get_by_role("link", name=NAME)).to_be_visible()
    page.goto(f"/jobs/new?clone={job}")
    expect(page.get_by_label("Name", exact=True)).to_have_value(NAME)

    assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("window.hacked") is None


def test_a_log_of_a_million_lines_is_followed_searched_and_downloaded_completely(
    service: Service, open_tab: Tab
) -> None:
    job = service.make_job(attempts=1, state="failed")
    log = service.log(job, 1)
    with log.open("w") as file:
        for number in range(1, LINES + 1):
            wrong = number == WRONG_LINE
            file.write("MemoryError: std::bad_alloc\n" if wrong else f"I step {number}: loss 0.{number:07d}\n")
    page = open_tab(service, f"/jobs/{job}#log", viewport={"width": 1200, "height": 1300})
    panel = page.get_by_role("tabpanel", name="Log")
    expect(panel.locator(".line").last).to_contain_text(f"I step {LINES}: loss")
    expect(panel).to_contain_text(f"of {LINES:,}")

    page.get_by_label("Search the log").fill("STEP 123456:")
    page.keyboard.press("Enter")
    expect(panel.locator(".hit")).to_contain_text("I step 123456: loss")
    expect(panel.locator(".hit")).to_be_in_viewport()
    expect(panel).to_contain_text("1 of 1")

    page.get_by_role("button", name="Jump to error").click()
    expect(panel.locator(f'.fatal[data-line="{WRONG_LINE}"]')).to_be_in_viewport()
    expect(panel.get_by_role("status")).to_contain_text("the allocator ran out")
    page.get_by_label("follow").check()
    page.get_by_role("log").scroll_into_view_if_needed()
    expect(panel.locator(f'[data-line="{LINES}"]')).to_be_in_viewport()
    assert page.locator(".log .line").count() < 1000

    with page.expect_download() as download:
        panel.get_by_role("link", name="Download").click()
    assert download.value.path().read_bytes() == log.read_bytes()


def test_charts_opened_before_the_first_step_are_drawn_after_it(service: Service, open_tab: Tab) -> None:
    go = service.hold("tracing", input_wait=0.45)
    job = service.submit(steps=5)
    page = open_tab(service, f"/jobs/{job}")
    expect(page.locator("#now")).to_contain_text(re.compile("starting|tracing"))
    with page.expect_response(re.compile("/metrics")) as answer:
        page.get_by_role("tab", name="Charts").hover()
    assert answer.value.json()["names"] == []
    go()
    expect(state(page)).to_have_text("succeeded")

    expect(page.locator("#attempt-1")).to_contain_text("The device waits for images 45 % of the time: ")
    charts = show(page, "Charts")

    expect(charts.locator(".scatterlayer .trace").first).to_be_attached()
    expect(
        charts.get_by_role("img", name="Chart: Waiting for images; waiting 45 % of a step at step 5")
    ).to_be_visible()


def test_charts_cover_all_attempts_and_zooming_shows_the_raw_extremes(service: Service, open_tab: Tab) -> None:
    job = service.make_job(attempts=3)
    now = utc_now()
    values = [
        training_series.Value("Loss/total_loss", step, 1000.0 if step == 5432 else 1.0, now)
        for step in range(1, 20_000)
    ]
    stages = [
        training_series.Value(f"Loss/{stage}Loss/localization_loss", 40, 1.0, now) for stage in ("RPN", "BoxClassifier")
    ]
    with service.store() as store, store.transaction() as session:
        training_series.record(session, job, 3, [*values, *stages])
    page = open_tab(service, f"/jobs/{job}#charts")
    losses = page.get_by_role("img", name="Chart: Losses")
    page.get_by_role("button", name="RPN localization").click()
    shown = "chart => chart.data.filter((trace) => trace.visible).map((trace) => trace.name)"
    expect(page.get_by_role("button", name="RPN localization")).to_have_attribute("aria-pressed", "false")
    assert losses.evaluate(shown) == ["box localization"]
    chart = page.get_by_role("img", name=re.compile("Chart: (Total )?loss", re.IGNORECASE)).first
    expect(chart.locator(".scatterlayer .trace").first).to_be_attached()
    expect(chart).to_have_accessible_name(re.compile("1 at step 19999$"))  # of the last attempt
    expect(page.get_by_text("re-planned: attempts 2, 3").first).to_be_attached()
    assert chart.evaluate("chart => Math.max(...chart.data.flatMap((trace) => trace.y))") == 1000

    cards = page.locator(".chart-card")
    drawn, place = cards.count(), chart.bounding_box()
    box = chart.locator(".nsewdrag").bounding_box()
    assert box is not None
    left, right = (box["x"] + share * box["width"] for share in (0.25, 0.30))
    page.mouse.move(left, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(right, box["y"] + 55, steps=5)
    with page.expect_response(re.compile("from_step=4")) as answer:
        page.mouse.up()
    assert answer.value.ok
    # Zoomed from 20,000 steps in 800 points to about 1,000 steps: each point covers one or two steps.
    page.wait_for_function(
        """chart => {
          const points = chart.data.flatMap((trace) => [...trace.x].map((step, at) => [step, trace.y[at]]));
          const near = points.filter(([step]) => Math.abs(step - 5432) <= 10);
          return new Set(near.map(([step]) => step)).size >= 8 && Math.max(...near.map(([, value]) => value)) === 1000;
        }""",
        arg=chart.element_handle(),
    )
    rate = page.get_by_role("img", name="Chart: Learning rate")
    page.wait_for_function(
        "chart => chart.data.length === 0", arg=rate.element_handle()
    )  # it has no point in this range
    expect(cards).to_have_count(drawn)
    assert chart.bounding_box() == place
    page.get_by_role("button", name="Show all steps").click()
    expect(rate).to_have_accessible_name(re.compile("at step 40$"))


def test_a_job_that_stopped_early_says_so_and_marks_its_best_checkpoint(service: Service, open_tab: Tab) -> None:
    job = service.run_job()
    sentence = "Stopped early at step 3 of 9: mAP has not gained 0.001 in 2 evaluations; best 0.5 at step 3."
    checkpoint = "checkpoints/efficientdet_d0/best/ckpt-3"
    best = {"step": 3, "metric": "mAP", "value": 0.5, "attempt": 1, "checkpoint": checkpoint}
    exported = {"which": "best", "step": 3, "metric": "mAP", "value": 0.5}
    with service.store() as store, store.transaction() as session:
        session.get_one(Job, job).results = {
            "best": best,
            "stopped_early": sentence,
            "exported_checkpoint": exported,
        }
    page = open_tab(service, f"/jobs/{job}")

    expect(page.locator("#now")).to_have_text(sentence)
    expect(page.locator("#facts")).to_contain_text("Best checkpoint")
    expect(page.locator("#facts")).to_contain_text("mAP 50.0 % at step 3 exported")
    charts = show(page, "Charts")
    expect(charts.get_by_role("img", name=re.compile(r"^Chart: mAP;.*best 0\.5 at step 3$"))).to_be_visible()
