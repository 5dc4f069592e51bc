"""A job's page: its attempts, the fields that can be edited, and the pages that it links to."""

import json
import re
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect

from services.clock import utc_now
from services.domain import pipeline_config
from services.store import events, training_series
from tests.browser.conftest import Guard, Tab
from tests.browser.service import Service
from tests.support.training.zoo import zoo_like


@pytest.fixture
def replanned(service: Service) -> int:
    """A job that ran out of memory at batch 8 and succeeded with a smaller micro-batch."""
    service.behave(need_mb_per_image=200)
    return service.run_job(
        name="too large", train={"steps": 3, "batch_size": 8}, policy={"plan_ahead": False, "levers": ["batch_size"]}
    )


def sideways(page: Page) -> int:
    found: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return found


def test_the_diff_has_one_block_per_lever_with_its_reason(service: Service, replanned: int, open_tab: Tab) -> None:
    page = open_tab(service, f"/jobs/{replanned}", viewport={"width": 375, "height": 800})

    block = page.locator("#attempt-2 .diff-block", has_text="Batch").first
    expect(block.locator(".setting")).to_contain_text([re.compile("batch 8 → ")])
    expect(block).to_contain_text("Costs: noisier updates")
    expect(block.locator(".diff-fields dt").first).to_have_text("train_config.batch_size")
    assert page.locator("#attempt-2").inner_text().count("noisier updates") == 1
    assert sideways(page) <= 0


def test_an_attempt_shows_its_memory_and_the_log_line_of_its_failure(
    service: Service, replanned: int, open_tab: Tab
) -> None:
    page = open_tab(service, f"/jobs/{replanned}")
    first = page.locator("#attempt-1")
    expect(first.get_by_role("img")).to_have_attribute("aria-label", re.compile("predicted .* limit 1000 MB"))
    expect(first).to_contain_text("too large for the device")
    expect(page.locator("#now")).to_contain_text(
        re.compile(r"in 2 attempts on Slot \d; attempt 1 ran out of memory at batch 8")
    )

    first.get_by_role("link", name="2", exact=True).click()

    expect(page.get_by_role("tabpanel", name="Log").locator(".hit")).to_contain_text("ran out of memory")
    expect(page).to_have_url(re.compile("#log:1:2$"))


def test_a_mistake_in_the_training_is_said_with_what_to_do(service: Service, open_tab: Tab) -> None:
    job = service.make_job(attempts=1)
    page = open_tab(service, f"/jobs/{job}", viewport={"width": 375, "height": 800})
    expect(page.locator("#facts")).to_contain_text("shapes")
    expect(page.get_by_role("region", name="Advice")).to_have_count(0)
    with service.store() as store, store.transaction() as session:
        rows = [(true, true + 1, 30) for true in (1, 2)]
        boxes = {"truths": 90, "classes": 3, "predictions": 80, "overlapped": 60, "next_class": 60, "confusions": rows}
        names = {"1": "<b>cone</b>" * 5, "2": "square"}
        metrics = {"DetectionBoxes_Precision/mAP": 0.0}
        data = {"step": 40, "metrics": metrics, "boxes": boxes | {"names": names}}
        events.add(session, job, "eval", utc_now(), 1, **data)
    page.reload()
    advice = page.get_by_role("region", name="Advice")
    expect(advice).to_contain_text("60 of 60 true boxes that were found are called one class higher")
    expect(advice).to_contain_text("<b>cone</b>")
    expect(advice).to_contain_text("number the classes from 1 in both")
    assert sideways(page) <= 0


def test_name_notes_and_priority_are_edited_in_place_without_overwriting_other_edits(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("412")
    service.busy()
    job = service.submit(steps=1000, name="first name")
    page = open_tab(service, f"/jobs/{job}")
    page.get_by_role("button", name="Edit name").click()
    page.get_by_label("Name", exact=True).fill("second name")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#name")).to_contain_text("second name")
    assert service.job(job)["name"] == "second name"

    page.get_by_role("button", name="Edit priority").click()
    page.get_by_label("Priority", exact=True).fill("5")
    service.ask("PATCH", f"/v1/jobs/{job}", {"priority": 7})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Someone else changed this to 7.")).to_be_visible()
    assert service.job(job)["priority"] == 7
    expect(page.get_by_label("Priority", exact=True)).to_have_value("5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Priority", exact=True)).to_have_count(0)
    assert service.job(job)["priority"] == 5


def test_an_edit_is_saved_even_if_another_field_of_the_job_has_changed(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("412")
    job = service.make_job(state="paused", name="first name")
    page = open_tab(service, f"/jobs/{job}")
    page.get_by_role("button", name="Edit notes").click()
    page.get_by_label("Notes", exact=True).fill("a long thought")
    service.ask("PATCH", f"/v1/jobs/{job}", {"name": "second name"})
    expect(page.locator("#name")).to_contain_text("second name")

    page.get_by_role("button", name="Save").click()

    expect(page.locator("#facts .notes")).to_contain_text("a long thought")
    assert service.job(job)["notes"] == "a long thought"
    assert service.job(job)["name"] == "second name"

    page.get_by_role("button", name="Edit notes").click()
    service.ask("PATCH", f"/v1/jobs/{job}", {"notes": "somebody else's"})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Someone else changed this to")).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).last.click()
    expect(page.locator("#facts .notes")).to_contain_text("somebody else's")


def test_a_user_without_rights_to_a_job_gets_no_controls_to_change_it(service: Service, open_tab: Tab) -> None:
    job = service.run_job()
    page = open_tab(service, f"/jobs/{job}", user="vera")
    expect(page.locator("#now")).to_contain_text("Finished")
    expect(page.get_by_role("button", name=re.compile("Edit|Cancel|Pause"))).to_have_count(0)
    expect(page.get_by_role("link", name="Clone and edit")).to_have_count(0)


def test_a_clone_shows_everything_that_was_requested(service: Service, open_tab: Tab) -> None:
    policy = {"levers": ["batch_size", "image_size"], "min_batch_size": 2, "prefer": "wait"}
    config = service.client.get(f"/v1/jobs/{service.run_job()}/attempts/1/config").text
    job = service.submit(model=None, pipeline_config=config, policy=policy, notes="why", device={"min_memory_mb": 10})
    page = open_tab(service, f"/jobs/new?clone={job}")

    expect(page.get_by_label("pipeline.config", exact=True)).to_have_value(config)
    expect(page.get_by_label("Minimum batch")).to_have_value("2")
    expect(page.get_by_label("Notes", exact=True)).to_have_value("why")
    expect(page.get_by_label("Wait for a larger device")).to_be_checked()
    expect(page.locator("#levers input:checked")).to_have_count(2)
    expect(page.locator("#levers li").first).to_contain_text("Batch")


def test_a_draft_survives_a_reload(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/jobs/new?model=efficientdet_d1")
    expect(page.get_by_label("Model", exact=True)).to_have_value("efficientdet_d1")
    page.get_by_label("Steps", exact=True).fill("77")
    page.get_by_role("button", name="Backbone: earlier").click()
    page.reload()
    expect(page.get_by_label("Steps", exact=True)).to_have_value("77")
    expect(page.locator("#levers li").nth(3)).to_contain_text("Backbone")
    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_label("Steps", exact=True)).to_have_value("")


def test_the_ladder_marks_where_a_job_starts_and_folds_smaller_plans(service: Service, open_tab: Tab) -> None:
    # A model that no other test trains: their measurements would change where on the ladder it starts.
    page = open_tab(service, "/jobs/new?model=efficientdet_d1")
    page.get_by_label("Image size", exact=True).select_option("256x256")
    page.get_by_label("Batch", exact=True).fill("8")
    planned = page.locator(".ladder tr.planned")
    expect(planned.locator(".setting.changed").first).to_be_visible()
    expect(planned).to_contain_text("starts here")
    second = page.locator(".ladder tbody tr").nth(1)
    expect(second).to_contain_text("micro-batch 8 →")
    rungs = page.locator(".ladder tbody tr").count()
    page.get_by_role("button", name=re.compile("smaller option")).click()
    expect(page.locator(".ladder tbody tr")).not_to_have_count(rungs)
    expect(planned).to_have_count(1)
    page.locator("#levers li", has_text="Batch").last.drag_to(page.locator("#levers li").first)
    expect(page.locator("#levers li").first).to_contain_text("Batch smaller")
    expect(second).not_to_contain_text("micro-batch")
    expect(second).to_contain_text("batch 8 →")


def test_jobs_to_compare_are_picked_from_a_list_and_kept_in_the_url(service: Service, open_tab: Tab) -> None:
    one, other = service.run_job(name="apples"), service.run_job(name="pears", steps=2)
    page = open_tab(service, f"/compare?jobs={one}")
    page.get_by_label("Add a job").fill("pear")
    page.get_by_role("button", name="pears").first.click()

    expect(page).to_have_url(re.compile(rf"jobs={one}%2C{other}$"))
    expect(page.get_by_role("row", name=re.compile("^Steps"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^Dataset"))).to_have_count(0)
    page.get_by_label("differences only").uncheck()
    expect(page.get_by_role("row", name=re.compile("^Dataset"))).to_be_visible()
    chart = page.get_by_role("img", name=re.compile("Chart: Total loss"))
    expect(chart.locator(".scatterlayer .trace").first).to_be_attached()
    widths = page.evaluate(
        "[...document.querySelectorAll('.chart')].map((chart) => "
        "[chart.clientWidth, chart.querySelector('.main-svg').clientWidth])"
    )
    assert all(inner <= outer for outer, inner in widths)


def test_the_pick_list_is_readable_shows_the_last_search_and_closes(service: Service, open_tab: Tab) -> None:
    long = service.make_job(name="a-name-that-is-quite-long-and-has-no-space-in-it-" * 2)
    service.make_job(name="pick another")
    picked = service.make_job(name="picked from a list")
    page = open_tab(service, f"/compare?jobs={long}", viewport={"width": 1200, "height": 800})
    search, found = page.get_by_label("Add a job"), page.locator("#found")
    late: list[Route] = []
    page.route(re.compile("q=pick&"), lambda route: late.append(route))
    with page.expect_request(re.compile("q=pick&")):
        search.fill("pick")
    search.fill("picked from")
    expect(found.get_by_role("button")).to_have_count(1)
    with page.expect_response(re.compile("q=pick&")):
        late[0].continue_()
    expect(found.get_by_role("button")).to_have_count(1)
    assert found.locator(".job-name").evaluate("name => name.clientHeight") < 50  # two lines at most
    assert found.evaluate("list => list.scrollWidth <= list.clientWidth")

    searched: list[str] = []
    page.on("request", lambda request: searched.extend([request.url] if "limit=20" in request.url else []))
    found.get_by_role("button").click()
    expect(page.locator("#chosen li")).to_have_count(2)
    expect(page).to_have_url(re.compile(f"{picked}$"))
    expect(search).to_be_focused()
    expect(found).to_be_hidden()
    assert searched == []


def test_charts_of_running_jobs_are_updated_and_keep_their_zoom(service: Service, open_tab: Tab) -> None:
    service.busy()
    job = service.submit(steps=1000)
    page = open_tab(service, f"/compare?jobs={job},{service.make_job(attempts=1)}")
    row = page.get_by_role("row", name=re.compile("^State"))
    expect(row).to_contain_text("running")
    loss = page.get_by_role("img", name="Chart: Total loss")
    expect(loss).to_be_visible()
    loss.evaluate("chart => Plotly.relayout(chart, { 'xaxis.range[0]': 1, 'xaxis.range[1]': 30 })")
    expect(page.get_by_role("button", name="Show all steps")).to_be_visible()
    service.ask("POST", f"/v1/jobs/{job}/cancel")
    expect(row).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Show all steps")).to_be_visible()
    assert loss.evaluate("chart => chart.layout.xaxis.range") == [1, 30]


def test_zooming_to_a_range_without_points_keeps_the_curves_and_can_be_undone(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, f"/compare?jobs={service.make_job(attempts=1)},{service.make_job(attempts=1)}")
    loss = page.get_by_role("img", name="Chart: Total loss")
    expect(loss).to_have_accessible_name(re.compile("at step 40"))
    loss.evaluate("chart => Plotly.relayout(chart, { 'xaxis.range[0]': 50, 'xaxis.range[1]': 60 })")
    expect(loss).to_have_accessible_name("Chart: Total loss")
    page.get_by_role("button", name="Show all steps").click()
    expect(loss).to_have_accessible_name(re.compile("at step 40"))
    expect(page.get_by_role("button", name="Show all steps")).to_be_hidden()


def test_sample_pictures_are_grouped_by_evaluation_and_arrow_keys_move_between_them(
    service: Service, open_tab: Tab
) -> None:
    job = service.make_job(attempts=1)
    for name in ("step-20-0", "step-20-1", "step-20-2"):
        Image.new("RGB", (64, 32), "teal").save(service.log(job, 1).parent / f"samples/{name}.png")
    page = open_tab(service, f"/jobs/{job}#results")
    pictures = page.locator(".gallery img")
    expect(pictures).to_have_count(1)
    page.get_by_label("Evaluation at").select_option("20")
    expect(pictures).to_have_count(3)

    page.get_by_role("button", name=re.compile("^Image 3")).click()
    shown = page.get_by_role("dialog").locator("img")
    expect(shown).to_have_attribute("src", re.compile("step-20-2.png$"))
    page.keyboard.press("ArrowRight")
    expect(shown).to_have_attribute("src", re.compile("step-20-0.png$"))
    expect(page.get_by_role("dialog")).to_contain_text("1 of 3")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(shown).to_have_attribute("src", re.compile("step-20-1.png$"))
    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("^Image 3"))).to_be_focused()


def test_classes_drawn_as_numbers_are_named_beside_the_picture(service: Service, open_tab: Tab) -> None:
    job = service.make_job(attempts=1)
    evaluated(service, job, 50, 1)
    names = {"3": "猫", "12": "قطة"}
    (service.log(job, 1).parent / "samples" / "classes.json").write_text(json.dumps(names))

    page = open_tab(service, f"/jobs/{job}#results")

    expect(page.get_by_text("Shown by number: #3 猫, #12 قطة")).to_be_visible()


def evaluated(service: Service, job: int, step: int, pictures: int) -> None:
    """Write the files and events of an evaluation as a trainer does."""
    with service.store() as store, store.transaction() as session:
        training_series.record(
            session, job, 1, [training_series.Value("DetectionBoxes_Precision/mAP", step, 0.5, utc_now())]
        )
        for number in range(pictures):
            Image.new("RGB", (64, 32), "teal").save(service.log(job, 1).parent / f"samples/step-{step}-{number}.png")
            events.add(session, job, "image", utc_now(), 1, step=step)


def test_the_best_and_the_worst_of_many_categories_are_shown(service: Service, open_tab: Tab) -> None:
    job = service.make_job(attempts=1)
    evaluated(service, job, 50, 1)
    file = service.log(job, 1).parent / "evaluations" / "step-0000050.json"
    file.parent.mkdir()
    figures = {f"DetectionBoxes_PerformanceByCategory/mAP/class {n}": n / 10_000 for n in range(10_000)}
    file.write_text(json.dumps({"step": 50, "metrics": figures}))

    page = open_tab(service, f"/jobs/{job}#results")

    expect(page.get_by_role("row", name="class 9999 100.0 %")).to_be_visible()
    expect(page.get_by_role("row", name="class 0 0.0 %")).to_be_visible()
    expect(page.locator("table.ap").filter(has_text="class")).to_have_count(2)
    expect(page.locator("table.ap th", has_text="class ")).to_have_count(100)
    expect(page.get_by_role("link", name="All 10,000 categories as JSON")).to_be_visible()
    page.get_by_label("Evaluation at").select_option("40")
    expect(page.locator("table.ap th", has_text="class ")).to_have_count(0)


def test_series_with_long_names_are_requested_in_several_requests(service: Service, open_tab: Tab) -> None:
    job = service.make_job(attempts=1)
    names = [f"DetectionBoxes_PerformanceByCategory/mAP/{'種類' * 25}{number}" for number in range(60)]
    with service.store() as store, store.transaction() as session:
        training_series.record(session, job, 1, [training_series.Value(name, 50, 0.5, utc_now()) for name in names])

    page = open_tab(service, f"/jobs/{job}")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/metrics?" in request.url else None)
    page.goto(f"/jobs/{job}#results")

    expect(page.locator("table.ap th", has_text="種類")).to_have_count(60)
    assert len(asked) > 4
    assert max(map(len, asked)) < 9000  # the service may refuse a request whose head is longer than 16 KiB


def test_a_new_evaluation_does_not_move_the_pictures_that_are_shown(service: Service, open_tab: Tab) -> None:
    job = service.make_job(attempts=1)
    evaluated(service, job, 50, 12)
    page = open_tab(service, f"/jobs/{job}#results", viewport={"width": 600, "height": 500})
    select, pictures = page.get_by_label("Evaluation at"), page.locator(".gallery img")
    expect(pictures).to_have_count(12)
    expect(page.locator(".live")).to_have_text("live")
    pictures.nth(6).scroll_into_view_if_needed()
    pictures.nth(6).evaluate("picture => { window.seventh = picture }")
    top = pictures.nth(6).bounding_box()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/artifacts" in request.url else None)

    evaluated(service, job, 60, 8)
    expect(select.locator("option")).to_have_count(3)
    expect(select).to_have_value("50")
    assert pictures.nth(6).evaluate("picture => picture === window.seventh")
    assert pictures.nth(6).bounding_box() == top
    assert len([url for url in asked if url.endswith("/artifacts")]) <= 2  # not one for each picture

    page.evaluate("scrollTo(0, 0)")
    select.select_option("60")
    expect(pictures).to_have_count(8)
    evaluated(service, job, 70, 2)
    expect(select).to_have_value("70")
    expect(pictures).to_have_count(2)


def test_new_log_lines_are_announced_to_a_reader_who_has_scrolled_up(service: Service, open_tab: Tab) -> None:
    service.busy()
    job = service.submit(steps=1000)
    page = open_tab(service, f"/jobs/{job}")
    expect(page.locator("#now")).to_contain_text("training")
    with service.log(job, 1).open("a") as file:
        file.write("a line\n" * 200)
    page.locator("#attempt-1").get_by_role("link", name="log").click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("a line")
    log.evaluate("log => log.scrollTo(0, 0)")
    expect(page.get_by_label("follow")).not_to_be_checked()
    with service.log(job, 1).open("a") as file:
        file.write("one more\nand the last\n")

    fresh = page.get_by_role("button", name="2 new lines")
    expect(fresh).to_be_visible()
    assert log.evaluate("log => log.scrollTop") == 0
    fresh.click()
    expect(log).to_contain_text("and the last")
    expect(fresh).to_be_hidden()


def test_an_attempt_that_is_chosen_while_another_one_loads_is_shown_and_searched(
    service: Service, replanned: int, open_tab: Tab
) -> None:
    page = open_tab(service, f"/jobs/{replanned}")
    late: list[Route] = []
    page.route(re.compile(r"/logs/lines\?attempt=2"), lambda route: late.append(route))
    page.get_by_role("tab", name="Log").click()
    page.get_by_label("Attempt", exact=True).select_option("1")
    page.get_by_label("Search the log").fill("TRAINER: one line")
    page.keyboard.press("Enter")
    expect(page.locator(".log .hit")).to_contain_text("fake trainer: one line")
    for route in late:
        route.continue_()
    assert late
    expect(page.locator(".log .hit")).to_contain_text("fake trainer: one line")


def test_two_configurations_are_compared_line_by_line(service: Service, replanned: int, open_tab: Tab) -> None:
    page = open_tab(service, f"/jobs/{replanned}#config")
    page.get_by_label("compared with").select_option("1")
    expect(page.locator("#config .gone", has_text="batch_size: 8")).to_be_visible()
    expect(page.locator("#config .come", has_text="batch_size: ")).to_be_visible()


def test_a_configuration_is_compared_with_the_submitted_one_field_by_field(service: Service, open_tab: Tab) -> None:
    text = pipeline_config.to_text(zoo_like("efficientdet_d0"))
    own: dict[str, Any] = {"model": None, "image_size": None, "checkpoint": None, "pipeline_config": text}
    job = service.make_job(attempts=3, **own)
    page = open_tab(service, f"/jobs/{job}#config")
    page.get_by_label("compared with").select_option("submitted")
    place = page.locator("#config .config")
    weights = place.locator("details", has_text="Starting weights")
    expect(weights).to_contain_text("Training starts from random weights.")
    expect(weights.locator("dt")).to_have_text(["train_config.fine_tune_checkpoint"])
    expect(weights.locator("del")).to_contain_text("PATH_TO_BE_CONFIGURED/ckpt-0")
    data = place.locator("details", has=page.locator("summary", has_text="Dataset"))
    expect(data.locator("dl").first).to_be_hidden()  # fields that the service always sets are folded
    data.locator("summary").click()
    expect(data).to_contain_text("The dataset's own files.")
    expect(place).not_to_contain_text("Unexplained")
    page.get_by_label("compared with").select_option("1")
    expect(place.locator(".line").first).to_be_visible()


def test_a_configuration_that_arrives_late_does_not_replace_the_chosen_one(service: Service, open_tab: Tab) -> None:
    job = service.make_job(attempts=3)
    page = open_tab(service, f"/jobs/{job}#config")
    place, chosen = page.locator("#config .config"), page.get_by_label("pipeline.config of attempt")
    expect(place).to_contain_text("use_bfloat16: true")
    late: list[Route] = []
    page.route(re.compile("/attempts/1/config"), lambda route: late.append(route))
    with page.expect_request(re.compile("/attempts/1/config")):
        chosen.select_option("1")
    chosen.select_option("3")
    with page.expect_response(re.compile("/attempts/1/config")) as answer:
        late[0].continue_()
    answer.value.finished()
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    page.locator("#config").get_by_role("button", name="Copy").click()
    expect(place).to_contain_text("use_bfloat16: true")
    assert "use_bfloat16: true" in page.evaluate("window.copied")


def test_the_best_value_is_marked_only_among_comparable_jobs(service: Service, open_tab: Tab) -> None:
    def made(state: str, model: str, loss: float, images_per_s: float) -> int:
        job = service.make_job(state=state, attempts=1, name=f"{state} {model}", model=model)
        with service.store() as store, store.transaction() as session:
            found = {"Loss/total_loss": loss, "images_per_s": images_per_s}
            values = [training_series.Value(name, 41, value, utc_now()) for name, value in found.items()]
            training_series.record(session, job, 1, values)
        return job

    slow = made("succeeded", "efficientdet_d0", 0.9, 0.335)
    fast = made("paused", "efficientdet_d0", 0.7, 3.289)
    other = made("succeeded", "faster_rcnn_resnet50_fpn", 0.2, 0.2)

    page = open_tab(service, f"/compare?jobs={slow},{fast}")
    expect(page.get_by_role("row", name=re.compile("^Images per second")).locator(".best")).to_have_text("3.289 (best)")
    expect(page.get_by_role("row", name=re.compile("^Total loss")).locator(".best")).to_have_text("0.7 (best)")

    page.goto(f"/compare?jobs={slow},{other}")
    expect(page.get_by_role("row", name=re.compile("^Images per second")).locator(".best")).to_have_text("0.335 (best)")
    expect(page.get_by_role("row", name=re.compile("^Total loss"))).to_contain_text("0.2")
    expect(page.get_by_role("row", name=re.compile("^Total loss")).locator(".best")).to_have_count(0)

    page.route(
        "**/v1/models", lambda route: route.fulfill(json={"items": []})
    )  # as if the service no longer offered them
    page.reload()
    expect(page.get_by_role("row", name=re.compile("^Total loss"))).to_contain_text("0.2")
    expect(page.get_by_role("row", name=re.compile("^Total loss")).locator(".best")).to_have_count(0)
