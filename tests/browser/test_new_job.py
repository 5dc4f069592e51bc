"""The form for a new job: it knows what there is, says what is wrong where it is wrong, and what the job will need."""

import os
import re
import subprocess
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.browser.conftest import NAMED_HOST, Guard, Tab
from tests.browser.service import Service


def test_errors_stand_at_their_fields_and_are_read_out_with_them(service: Service, open_tab: Tab, guard: Guard) -> None:
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
    expect(steps).to_have_accessible_description("")


def test_the_estimate_follows_what_is_typed(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/jobs/new")
    page.get_by_label("Model", exact=True).select_option("efficientdet_d0")
    page.get_by_label("Image size", exact=True).select_option("256x256")
    estimate = page.get_by_role("region", name="Estimate")

    page.get_by_label("Batch", exact=True).fill("1")
    expect(estimate).to_contain_text("Starts with what was asked for")
    expect(estimate).to_contain_text("batch 1")
    expect(estimate.locator(".estimate-devices li")).to_have_count(2)
    page.get_by_label("Batch", exact=True).fill("64")
    expect(estimate).to_contain_text("Starts with less than was asked for")
    expect(estimate).to_contain_text("batch 64")
    expect(estimate).to_contain_text("If it does not fit, step by step")


def test_who_types_before_the_lists_have_come_loses_nothing(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/")
    page.route("**/v1/models", lambda route: (page.get_by_label("Name", exact=True).fill("quick"), route.continue_()))
    page.goto("/jobs/new")
    expect(page.get_by_role("region", name="Estimate")).to_contain_text("If it does not fit")
    expect(page.get_by_label("Name", exact=True)).to_have_value("quick")
    expect(page.get_by_label("Dataset", exact=True)).to_have_value("shapes")


def test_what_is_copied_as_curl_submits_the_same_job(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/jobs/new", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Name", exact=True).fill('it\'s "quoted" $HOME `id`')
    page.get_by_label("Model", exact=True).select_option("efficientdet_d0")
    page.get_by_label("Steps", exact=True).fill("7")
    page.get_by_label("Start exactly as asked").check()
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


def test_over_plain_http_from_another_machine_the_form_works_as_well(service: Service, open_tab: Tab) -> None:
    """There, browsers have no clipboard and no random UUIDs for a page."""
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
