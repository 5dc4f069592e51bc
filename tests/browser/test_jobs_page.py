"""The list of jobs: its content, what stays in place while it changes, and its actions."""

import re

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import JOBS_REQUEST, Guard, Tab, two_per_page
from tests.browser.service import Service


def row(page: Page, job_id: int) -> Locator:
    return page.locator(f'#rows tr[data-key="{job_id}"]')


def state(page: Page, job_id: int) -> Locator:
    return row(page, job_id).locator(".dot")


def cancel_chosen(page: Page) -> None:
    page.locator("#cancel").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Cancel")).click()


def test_new_jobs_queue_changes_and_a_joint_cancel_appear_without_a_reload(service: Service, page: Page) -> None:
    service.busy()
    page.evaluate("window.here = true")
    running = [service.submit(steps=1000, name=f"runs {n}") for n in (1, 2)]
    for job in running:
        expect(state(page, job)).to_have_text("running")
    waiting = [service.submit(name=f"waits {n}") for n in (1, 2, 3)]
    expect(row(page, waiting[0])).to_contain_text("next in queue")
    expect(row(page, waiting[2])).to_contain_text("3rd in queue")

    row(page, waiting[0]).get_by_role("checkbox").check()
    cancel_chosen(page)

    expect(state(page, waiting[0])).to_have_text("cancelled")
    expect(row(page, waiting[1])).to_contain_text("next in queue")
    expect(row(page, waiting[2])).to_contain_text("2nd in queue")

    for job in (*running, *waiting[1:]):
        row(page, job).get_by_role("checkbox").check()
    expect(page.locator("#chosen")).to_contain_text("4 jobs")
    cancel_chosen(page)

    for job in (*running, *waiting[1:]):
        expect(state(page, job)).to_have_text("cancelled")
    expect(page.locator("#bulk")).to_be_hidden()
    assert page.evaluate("window.here")
    assert {service.job(job)["state"] for job in (*running, *waiting)} == {"cancelled"}


def test_selected_jobs_can_be_compared_and_only_open_ones_are_cancelled(service: Service, open_tab: Tab) -> None:
    ended, paused = service.make_job(name="ended"), service.make_job(name="paused", state="paused")
    page = open_tab(service, viewport={"width": 375, "height": 700})
    row(page, ended).get_by_role("checkbox").check()
    expect(page.get_by_role("button", name="Compare")).to_be_disabled()
    expect(page.locator("#cancel")).to_be_hidden()
    row(page, paused).get_by_role("checkbox").check()
    bar = page.locator("#bulk").bounding_box()
    assert bar is not None
    assert bar["x"] >= 0
    assert bar["x"] + bar["width"] <= 375

    page.get_by_role("button", name="Cancel 1 of 2").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Cancel")).click()
    expect(state(page, paused)).to_have_text("cancelled")
    assert service.job(ended)["state"] == "succeeded"

    for job in (ended, paused):
        row(page, job).get_by_role("checkbox").check()
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(re.compile(rf"/compare\?jobs={ended}%2C{paused}$"))


def test_a_long_owner_name_leaves_space_on_a_phone(service: Service, open_tab: Tab) -> None:
    job = service.make_job(name="shapes, first try")
    page = open_tab(service, viewport={"width": 375, "height": 700})
    name = row(page, job).get_by_role("link")
    expect(name).to_be_visible()
    page.route("**/v1/jobs?*", rename_owners)
    page.reload()
    expect(row(page, job).locator("td.owner")).to_contain_text("a-very-long")
    assert name.evaluate("link => link.scrollWidth <= link.clientWidth")


def rename_owners(route: Route) -> None:
    found = route.fetch().json()
    route.fulfill(json={**found, "items": [{**job, "owner": "a-very-long-name-" * 4} for job in found["items"]]})


def test_a_row_has_the_same_content_at_every_width_including_the_device_of_an_ended_job(
    service: Service, open_tab: Tab
) -> None:
    job = service.make_job(name="everywhere", attempts=2)
    page = open_tab(service, viewport={"width": 1200, "height": 700})
    expect(page.get_by_role("columnheader", name="Attempts")).to_be_visible()
    expect(row(page, job).locator("td.device .muted")).to_have_text("Slot 0")
    for width in (1200, 1000, 800, 701, 375):
        page.set_viewport_size({"width": width, "height": 700})
        said = row(page, job).inner_text()
        for words in ("everywhere", "succeeded", "admin", "efficientdet_d0", "shapes", "2/6", "Slot 0"):
            assert said.count(words) == 1, (width, words, said)


def test_filters_are_in_the_url_and_survive_a_reload(service: Service, page: Page) -> None:
    wanted, other = service.make_job(name="find me"), service.make_job(name="another")
    page.get_by_label("Search").fill("find")
    page.get_by_role("button", name="Succeeded").click()
    expect(row(page, other)).to_have_count(0)
    expect(page).to_have_url(re.compile(r"\?q=find&state=succeeded$"))

    page.reload()

    expect(row(page, wanted)).to_be_visible()
    expect(row(page, other)).to_have_count(0)
    expect(page.get_by_label("Search")).to_have_value("find")
    expect(page.get_by_role("button", name="Succeeded")).to_have_attribute("aria-pressed", "true")


def test_after_many_changes_every_job_can_be_reached_and_jobs_that_no_longer_match_disappear(
    service: Service, open_tab: Tab
) -> None:
    older = [service.make_job(name=f"burst {number}", state="paused") for number in range(4)]
    page = open_tab(service, "/devices")
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    page.route(JOBS_REQUEST, two_per_page)
    page.goto("/?q=burst&state=paused")
    expect(page.locator("#rows tr")).to_have_count(4)

    page.route(JOBS_REQUEST, hold)
    with page.expect_request(JOBS_REQUEST):
        newer = [service.make_job(name=f"burst {number}", state="paused") for number in range(4, 7)]
    page.unroute(JOBS_REQUEST, hold)
    for route in late:
        two_per_page(route)

    for job in newer:
        expect(row(page, job)).to_be_visible()
    expect(row(page, older[3])).to_be_visible()
    service.ask("POST", f"/v1/jobs/{older[3]}/cancel")
    expect(row(page, older[3])).to_have_count(0)


def test_scroll_position_and_selection_stay_while_rows_change(service: Service, open_tab: Tab) -> None:
    for number in range(30):
        service.make_job(name=f"filler {number}")
    kept = service.make_job(name="kept", state="paused")
    page = open_tab(service, viewport={"width": 1000, "height": 500})
    row(page, kept).get_by_role("checkbox").check()
    page.locator("#rows tr").nth(20).scroll_into_view_if_needed()
    page.evaluate("getSelection().selectAllChildren(document.querySelectorAll('#rows tr')[20].cells[2])")
    before = page.evaluate("[scrollY, getSelection().toString()]")
    read = page.locator("#rows tr").nth(20).get_attribute("data-key")
    assert before[0] > 0
    where = page.evaluate("document.querySelectorAll('#rows tr')[20].getBoundingClientRect().top")

    service.busy()
    job = service.submit(steps=1000, name="new on top")
    expect(state(page, job)).to_have_text("running")

    now = f"document.querySelector('#rows tr[data-key=\"{read}\"]').getBoundingClientRect().top"
    assert abs(page.evaluate(now) - where) < 2
    assert page.evaluate("getSelection().toString()") == before[1]
    expect(row(page, kept).get_by_role("checkbox")).to_be_checked()
    expect(page.locator("#chosen")).to_contain_text("1 job")


def test_two_tabs_show_the_same_changes_without_a_reload(service: Service, page: Page, open_tab: Tab) -> None:
    service.busy()
    other = open_tab(service, user="anna")
    for tab in (page, other):
        expect(tab.locator(".live")).to_have_text("live")
        tab.evaluate("window.here = true")
    job = service.submit(steps=1000, name="seen by two")
    for tab in (page, other):
        expect(state(tab, job)).to_have_text("running")

    page.evaluate("scrollTo(0, 0)")
    row(page, job).get_by_role("checkbox").check()
    cancel_chosen(page)

    for tab in (page, other):
        expect(state(tab, job)).to_have_text("cancelled")
        assert tab.evaluate("window.here")


def test_keyboard_shortcuts_move_open_search_and_show_help(service: Service, open_tab: Tab) -> None:
    older, newer = service.make_job(name="older"), service.make_job(name="newer")
    page = open_tab(service)
    expect(row(page, newer)).to_be_visible()

    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("er")
    expect(page.get_by_role("searchbox")).to_have_value("er")
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    page.goto("/")
    expect(row(page, older)).to_be_visible()

    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next job")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.keyboard.press("j")
    expect(row(page, newer)).to_have_class(re.compile("current"))
    page.keyboard.press("j")
    expect(row(page, older)).to_have_class(re.compile("current"))
    page.keyboard.press("k")
    expect(row(page, newer)).to_have_class(re.compile("current"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{service.url}/jobs/{newer}")


def test_enter_activates_the_focused_control_even_after_its_row_has_changed(service: Service, open_tab: Tab) -> None:
    job = service.submit(name="waits", device={"min_memory_mb": 500_000, "wait": True})
    page = open_tab(service)
    page.get_by_role("button", name="Mine").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{service.url}/?owner=admin")
    link = row(page, job).get_by_role("link")
    expect(link).to_be_visible()
    page.keyboard.press("j")
    expect(link).to_be_focused()
    service.ask("POST", f"/v1/jobs/{job}/pause")
    expect(state(page, job)).to_have_text("paused")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{service.url}/jobs/{job}")


def test_a_list_that_cannot_be_loaded_says_so_and_is_loaded_again_without_a_click(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("503")
    job = service.make_job(name="later")
    page = open_tab(service, "/devices")
    page.route("**/v1/jobs?*", lambda route: route.fulfill(status=503, json={"detail": "the database is away"}))
    page.goto("/")
    expect(page.get_by_role("alert")).to_contain_text("the database is away")

    page.unroute_all()

    expect(row(page, job)).to_be_visible()
    expect(page.locator("#problem")).to_be_hidden()
