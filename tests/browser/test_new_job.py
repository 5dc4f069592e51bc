"""The form for a new job: its choices, its errors, and the estimate of what the job needs."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from services.datasets import shapes
from services.domain import catalogue, pipeline_config
from tests.browser.conftest import NAMED_HOST, Guard, Tab
from tests.browser.service import Service
from tests.support.training.checkpoint_index import shapes_of, write_index
from tests.support.training.zoo import zoo_like


def test_errors_are_shown_at_their_fields_and_announced_with_them(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("422")
    page = open_tab(service, "/jobs/new")
    steps = page.get_by_label("Steps", exact=True)
    steps.fill("0")

    expect(steps).to_have_attribute("aria-invalid", "true")
    expect(steps).to_have_accessible_description(re.compile("greater|least|1"))
    expect(page.get_by_label("Batch", exact=True)).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Submit").click()
    expect(steps).to_be_focused()
    expect(page).to_have_url(re.compile("/jobs/new$"))

    steps.fill("5")
    expect(steps).not_to_have_attribute("aria-invalid", "true")
    expect(steps).to_have_accessible_description("20 epochs of 4 images")


def test_the_estimate_follows_the_input(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/jobs/new")
    page.get_by_label("Model", exact=True).select_option("efficientdet_d0")
    page.get_by_label("Image size", exact=True).select_option("256x256")
    estimate = page.get_by_role("region", name="Estimate")

    page.get_by_label("Batch", exact=True).fill("1")
    expect(estimate).to_contain_text("Will start as requested")
    expect(estimate).to_contain_text("batch 1")
    expect(estimate.locator(".estimate-devices li")).to_have_count(2)
    page.get_by_label("Batch", exact=True).fill("64")
    expect(estimate).to_contain_text("Will be reduced to fit")
    expect(estimate).to_contain_text("batch 64")
    expect(estimate).to_contain_text("Fallbacks, tried in this order")


def test_early_stopping_is_asked_for_in_the_form_and_shown_in_a_clone(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("422")
    page = open_tab(service, "/jobs/new?model=efficientdet_d0")
    page.get_by_label("Steps", exact=True).fill("100")
    patience = page.get_by_label("Stop early after")
    expect(patience).to_have_accessible_description("evaluations without a gain")
    patience.fill("2")
    page.get_by_label("Minimum gain").fill("0.01")
    expect(patience).to_have_accessible_description(re.compile("send train.evaluations of at least 4"))
    page.get_by_label("Evaluations", exact=True).fill("10")
    expect(patience).not_to_have_attribute("aria-invalid", "true")
    metric = page.get_by_label("Best checkpoint by")
    expect(metric.locator("option")).to_have_text(["mAP (default)", "mAP50", "mAP75", "AR100"])
    metric.select_option("AR100")
    page.get_by_label("Export", exact=True).select_option("last checkpoint")
    page.get_by_label("Image size", exact=True).select_option("256x256")
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))

    job = int(page.url.rpartition("/")[2])
    sent = service.ask("GET", f"/v1/jobs/{job}/request")["train"]
    wished = {"best_metric": "AR100", "early_stopping": {"patience": 2, "min_gain": 0.01}, "export": "last"}
    assert sent == {"steps": 100, "evaluations": 10, **wished}
    page = open_tab(service, f"/jobs/new?clone={job}")
    expect(page.get_by_label("Stop early after")).to_have_value("2")
    expect(page.get_by_label("Minimum gain")).to_have_value("0.01")
    expect(page.get_by_label("Best checkpoint by")).to_have_value("AR100")
    expect(page.get_by_label("Export", exact=True)).to_have_value("last")


@pytest.fixture
def boxes(service: Service) -> Iterator[str]:
    """A dataset without masks."""
    folder = service.home / "datasets" / "boxes"
    shapes.generate(folder, train=200, validation=2, size=64)
    manifest = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps({**manifest, "has_masks": False}))
    yield folder.name
    shutil.rmtree(folder)


def field(page: Page, label: str) -> str:
    return page.get_by_label(label, exact=True).input_value()


def test_for_a_dataset_without_masks_only_suitable_models_are_offered(
    service: Service, boxes: str, open_tab: Tab
) -> None:
    page = open_tab(service, "/datasets")
    page.get_by_role("link", name=f"Train with {boxes}").click()

    expect(page.get_by_role("region", name="Estimate")).to_contain_text("Fallbacks")
    assert (field(page, "Dataset"), field(page, "Model")) == (boxes, "efficientdet_d0")
    model = page.get_by_label("Model", exact=True)
    expect(model.locator("option[value=mask_rcnn_resnet50_fpn]")).to_be_disabled()
    expect(model.locator("option[value=faster_rcnn_resnet50_fpn]")).to_be_enabled()
    expect(page.get_by_label("Steps", exact=True)).to_have_attribute("placeholder", "1250")  # 100 epochs, batch 16
    expect(page.locator("#steps-hint")).to_have_text("100 epochs of 200 images")
    page.get_by_label("Dataset", exact=True).select_option("shapes")
    expect(model.locator("option[value=mask_rcnn_resnet50_fpn]")).to_be_enabled()
    expect(page.locator("#steps-hint")).to_have_text("2000 epochs of 4 images")


def test_an_estimate_warns_of_boxes_that_no_anchor_reaches(service: Service, boxes: str, open_tab: Tab) -> None:
    file = service.home / "datasets" / boxes / "dataset.json"
    manifest = json.loads(file.read_text())
    manifest["statistics"]["train"]["box_share"]["bins"] = [{"from": 0, "to": 0.01, "count": 9}]
    file.write_text(json.dumps(manifest))
    page = open_tab(service, f"/jobs/new?dataset={boxes}")
    expect(page.get_by_role("region", name="Estimate")).to_contain_text("About 100% of the training boxes are")


def test_an_empty_form_preselects_the_first_choices_and_explains_random_weights(
    service: Service, boxes: str, open_tab: Tab
) -> None:
    page = open_tab(service, "/jobs/new")
    expect(page.get_by_role("region", name="Estimate")).to_contain_text("Fallbacks")
    assert (field(page, "Dataset"), field(page, "Model"), field(page, "Start from")) == (boxes, "efficientdet_d0", "")
    expect(page.locator("#checkpoint-hint")).to_contain_text("random weights needs far more images and steps")

    page.goto("/jobs/new?model=mask_rcnn_resnet50_fpn")
    expect(page.get_by_role("region", name="Estimate")).to_contain_text("Fallbacks")
    assert (field(page, "Dataset"), field(page, "Model")) == ("shapes", "mask_rcnn_resnet50_fpn")


def test_a_registered_checkpoint_of_the_model_is_preselected(service: Service, open_tab: Tab) -> None:
    folder = service.home / "checkpoints" / "zoo-d1"
    write_index(folder / "ckpt-0.index", shapes_of(catalogue.get("efficientdet_d1")))
    try:
        page = open_tab(service, "/jobs/new?model=efficientdet_d1")
        start, hint = page.get_by_label("Start from"), page.locator("#checkpoint-hint")
        expect(start).to_have_value("zoo-d1")
        expect(hint).to_have_text("")
        page.get_by_label("Model", exact=True).select_option("efficientdet_d0")
        expect(start).to_have_value("")
        expect(hint).to_contain_text("No registered checkpoint fits this model")
        page.get_by_label("Model", exact=True).select_option("efficientdet_d1")
        expect(start).to_have_value("zoo-d1")
    finally:
        shutil.rmtree(folder)


def test_the_choice_of_random_weights_stays_after_a_reload_and_in_a_clone(service: Service, open_tab: Tab) -> None:
    folder = service.home / "checkpoints" / "zoo-d1"
    write_index(folder / "ckpt-0.index", shapes_of(catalogue.get("efficientdet_d1")))

    def stays_random(page: Page) -> None:
        expect(page.get_by_role("region", name="Estimate")).to_contain_text("Fallbacks")
        for model in ("efficientdet_d0", "efficientdet_d1"):
            page.get_by_label("Model", exact=True).select_option(model)
            expect(page.get_by_label("Start from")).to_have_value("")

    try:
        page = open_tab(service, "/jobs/new?model=efficientdet_d1")
        expect(page.get_by_label("Start from")).to_have_value("zoo-d1")
        page.get_by_label("Start from").select_option("")
        page.reload()
        stays_random(page)

        page.goto(f"/jobs/new?clone={service.make_job(model='efficientdet_d0')}")
        stays_random(page)
    finally:
        shutil.rmtree(folder)


def test_the_form_takes_its_values_from_a_pasted_config_also_in_a_clone(service: Service, open_tab: Tab) -> None:
    template = pipeline_config.build_config(catalogue.get("faster_rcnn_resnet50_fpn"), 3, (448, 640), 3, 77, 0.0125)
    page = open_tab(service, "/jobs/new")
    expect(page.get_by_role("region", name="Estimate")).to_contain_text("Fallbacks")
    page.get_by_label("Image size", exact=True).select_option("1536x1536")
    page.get_by_text("a pipeline.config of your own").click()
    page.get_by_label("pipeline.config", exact=True).fill(pipeline_config.to_text(template))

    def follows() -> None:
        expect(page.get_by_label("Model", exact=True)).to_have_value("faster_rcnn_resnet50_fpn")
        expect(page.get_by_label("Model", exact=True)).to_be_disabled()
        expect(page.locator("#model-hint")).to_contain_text("pipeline.config")
        for label, usual in (("Steps", "77"), ("Batch", "3"), ("Learning rate", "0.0125")):
            expect(page.get_by_label(label, exact=True)).to_have_attribute("placeholder", usual)
        size = page.get_by_label("Image size", exact=True)
        expect(size.locator("option:checked")).to_have_text("448×640 (from pipeline.config)")
        backbones = page.get_by_label("Minimum backbone").locator("option")
        expect(backbones).to_have_text(["any", "resnet50_fpn"])

    follows()
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))
    page.goto(f"/jobs/new?clone={page.url.rpartition('/')[2]}")
    follows()

    page.get_by_label("pipeline.config", exact=True).fill("")
    expect(page.get_by_label("Model", exact=True)).to_be_enabled()
    expect(page.get_by_label("Model", exact=True)).to_have_value("efficientdet_d0")
    expect(page.get_by_label("Image size", exact=True).locator("option:checked")).to_contain_text("model default")


def test_a_pasted_config_with_a_checkpoint_asks_what_to_start_from(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("422")
    page = open_tab(service, "/jobs/new")
    estimate, start = page.get_by_role("region", name="Estimate"), page.get_by_label("Start from")
    expect(estimate).to_contain_text("Fallbacks")
    page.get_by_text("a pipeline.config of your own").click()
    page.get_by_label("pipeline.config", exact=True).fill(pipeline_config.to_text(zoo_like("efficientdet_d0")))
    expect(page.locator("[data-field=checkpoint] .error")).to_contain_text("POST /v1/checkpoints")
    expect(start.locator("option:checked")).to_have_text("from pipeline.config")
    start.select_option("random weights")
    expect(estimate).to_contain_text("Changed in your pipeline.config")
    expect(estimate).to_contain_text("Training starts from random weights.")
    page.get_by_label("Steps", exact=True).fill("3")
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))
    job = page.url.rpartition("/")[2]
    assert service.ask("GET", f"/v1/jobs/{job}/request")["checkpoint"] is None
    page.goto(f"/jobs/new?clone={job}")
    expect(start).to_have_value("random weights")


def test_input_before_the_lists_are_loaded_is_kept(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/")

    def type_first(route: Route) -> None:
        page.get_by_label("Name", exact=True).fill("quick")
        route.continue_()

    page.route("**/v1/models", type_first)
    page.goto("/jobs/new")
    expect(page.get_by_role("region", name="Estimate")).to_contain_text("Fallbacks")
    expect(page.get_by_label("Name", exact=True)).to_have_value("quick")
    expect(page.get_by_label("Dataset", exact=True)).to_have_value("shapes")


def test_the_copied_curl_command_submits_the_same_job(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/jobs/new", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Name", exact=True).fill('it\'s "quoted" $HOME `id`')
    page.get_by_label("Model", exact=True).select_option("efficientdet_d0")
    page.get_by_label("Steps", exact=True).fill("7")
    page.get_by_label("Start exactly as requested").check()
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")

    ran = subprocess.run(
        ["bash", "-c", command], env={**os.environ, "TOKEN": service.token}, capture_output=True, text=True, timeout=60
    )

    found = re.search(r'"id": ?(\d+)', ran.stdout)
    assert found, ran.stdout + ran.stderr
    job = service.job(int(found[1]))
    assert job["name"] == 'it\'s "quoted" $HOME `id`'
    assert (job["asked"]["steps"], job["policy"]["plan_ahead"]) == (7, False)


def test_the_form_works_over_plain_http_from_another_machine(service: Service, open_tab: Tab) -> None:
    """In such a page browsers offer no clipboard and no random UUIDs."""
    url = f"http://{NAMED_HOST}:{urlsplit(service.url).port}"
    page = open_tab(service, f"{url}/login", user=None, host=urlsplit(url).netloc)
    assert not page.evaluate("isSecureContext")
    page.get_by_text("Log in with a token").click()
    page.get_by_label("Token").fill(service.token)
    page.get_by_role("button", name="Log in with it").click()
    expect(page.locator(".live")).to_have_text("live")
    page.goto(f"{url}/jobs/new")
    page.get_by_label("Model", exact=True).select_option("efficientdet_d0")
    page.get_by_label("Steps", exact=True).fill("2")
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))
    expect(page.locator("#state")).to_have_text("succeeded")
