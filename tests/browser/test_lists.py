"""The list of jobs: what is in it, what stays while it changes, and what can be done from it."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.service import Service


def row(page: Page, job_id: int) -> Locator:
    return page.locator(f'#rows tr[data-key="{job_id}"]')


def state(page: Page, job_id: int) -> Locator:
    return row(page, job_id).locator(".dot")


def test_a_job_is_cancelled_from_the_list_and_nothing_is_reloaded(service: Service, page: Page) -> None:
    service.busy()
    page.evaluate("window.here = true")
    job = service.submit(steps=1000, name="to be cancelled")
    expect(state(page, job)).to_have_text("running")

    row(page, job).get_by_role("checkbox").check()
    page.get_by_role("button", name="Cancel them").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel them").click()

    expect(state(page, job)).to_have_text("cancelled")
    assert page.evaluate("window.here")
    assert service.job(job)["state"] == "cancelled"


def test_filters_are_in_the_url_and_survive_a_reload(service: Service, page: Page) -> None:
    wanted, other = service.finished(name="find me"), service.finished(name="another")
    page.get_by_label("Search").fill("find")
    page.get_by_role("button", name="Succeeded").click()
    expect(row(page, other)).to_have_count(0)
    expect(page).to_have_url(re.compile(r"\?q=find&state=succeeded$"))

    page.reload()

    expect(row(page, wanted)).to_be_visible()
    expect(row(page, other)).to_have_count(0)
    expect(page.get_by_label("Search")).to_have_value("find")
    expect(page.get_by_role("button", name="Succeeded")).to_have_attribute("aria-pressed", "true")
