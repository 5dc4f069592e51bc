"""The front page, devices, settings, and the parts that every page has."""

import datetime
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from services.clock import utc_now
from services.store.models import Device
from tests.browser.conftest import Guard, Tab
from tests.browser.service import Service
from tests.support.newcomer import until


def row(page: Page, job_id: int) -> Locator:
    return page.locator(f'#rows tr[data-key="{job_id}"]')


def test_the_front_page_shows_failures_and_what_was_done_about_them(service: Service, page: Page) -> None:
    service.behave(need_mb_per_image=300)
    asked: dict[str, Any] = {"train": {"steps": 3, "batch_size": 4}}
    shrunk = service.submit(policy={"plan_ahead": False}, **asked)
    service.until_state(shrunk, "succeeded")
    stuck = service.submit(policy={"plan_ahead": False, "levers": []}, **asked)
    reason = service.until_state(stuck, "failed")["reason"]

    expect(row(page, shrunk).locator(".why")).to_have_text(
        re.compile(r"^out of memory, attempt 1 → micro-batch 4 to \d$")
    )
    expect(row(page, shrunk).locator(".attempts > span").first).to_have_text("2/6")
    expect(row(page, stuck).locator(".why")).to_have_attribute("title", reason)


def test_the_devices_at_the_top_show_their_jobs_owner_and_progress(service: Service, page: Page) -> None:
    service.behave(need_mb_per_image=100, step_s=0.3)
    job = service.submit(steps=1000, name="on a slot")
    tile = page.locator("#device-tiles li", has_text="on a slot")
    expect(tile).to_contain_text("in use")
    held = 100 * service.job(job)["plan"]["micro_batch"]
    expect(tile).to_contain_text(f"{held} MB of")  # as the trainer reports, not the host
    expect(tile).to_contain_text("admin")
    expect(tile).to_contain_text("%")
    expect(page.locator("#device-tiles li")).to_have_count(2)
    tile.get_by_role("link", name="on a slot").click()
    expect(page).to_have_url(f"{service.url}/jobs/{job}")


def test_the_filters_for_state_and_mine_are_one_click_each_and_in_the_url(service: Service, open_tab: Tab) -> None:
    job = service.run_job(name="the admin's")
    page = open_tab(service, user="anna")
    expect(row(page, job)).to_be_visible()
    mine, cancelled = page.get_by_role("button", name="Mine"), page.get_by_role("button", name="Cancelled")
    mine.click()
    expect(page).to_have_url(f"{service.url}/?owner=anna")
    expect(row(page, job)).to_have_count(0)
    mine.click()
    expect(row(page, job)).to_be_visible()
    cancelled.click()
    page.get_by_role("button", name="Failed").click()
    expect(page).to_have_url(f"{service.url}/?state=cancelled&state=failed")
    page.reload()
    expect(cancelled).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="All", exact=True).click()
    expect(row(page, job)).to_be_visible()


def test_selecting_rows_moves_nothing_and_a_key_clears_the_selection(service: Service, page: Page) -> None:
    service.busy()
    job = service.submit(steps=1000)
    expect(row(page, job)).to_contain_text("running")
    top = row(page, job).bounding_box()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("#chosen")).to_have_text("1 job selected")
    after = row(page, job).bounding_box()
    assert top is not None
    assert after is not None
    assert top["y"] == after["y"]
    page.keyboard.press("Escape")
    expect(page.locator("#bulk")).to_be_hidden()


def test_a_waiting_job_shows_when_a_device_may_be_free(service: Service, page: Page) -> None:
    service.busy()
    for job in [service.submit(steps=1000) for _ in range(2)]:
        service.until_state(job, "running")  # with a free device, the row could show another reason to wait
    waiting = service.submit()
    expect(row(page, waiting)).to_contain_text("next in queue")
    expect(row(page, waiting)).to_contain_text(re.compile(r"in about \d+ s"))  # once the speed is known
    page.goto(f"/jobs/{waiting}")
    expect(page.locator("#now")).to_contain_text(re.compile(r"Next in queue, to start in about \d+ s"))


@pytest.mark.parametrize("path", ["/nowhere", "/devices/none"])
def test_a_wrong_url_shows_a_page_with_a_link_back(service: Service, open_tab: Tab, guard: Guard, path: str) -> None:
    guard.allow("404")
    page = open_tab(service, path)
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    expect(page.get_by_text(f"There is nothing at {path}.")).to_be_visible()
    page.get_by_role("link", name="All jobs").click()
    expect(page).to_have_url(f"{service.url}/")


def test_a_device_shows_its_jobs_memory_and_its_history_without_a_click(service: Service, open_tab: Tab) -> None:
    service.behave(need_mb_per_image=100, step_s=0.3)
    service.submit(steps=1000, name="holds memory")
    # The probe chooses the micro-batch, so the amount of memory is not fixed here.
    held = until("memory", lambda: max(one["ours_bytes"] for one in service.ask("GET", "/v1/devices")["items"])) >> 20
    page = open_tab(service, "/devices")
    card = page.locator("article", has_text="holds memory")
    expect(card.locator(".holders tr").first).to_contain_text(f"{held} MB")
    expect(card.locator(".holders tr").last).to_contain_text(f"{1000 - held} MB")
    expect(card).to_contain_text("of 1000 MB")
    expect(card.get_by_role("img", name="Memory held in the last 6 h")).to_be_visible()
    page.get_by_role("button", name="24 h").click()
    expect(card.get_by_role("img", name="Memory held in the last 24 h")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?hours=24$"))


@pytest.fixture
def away(service: Service) -> Iterator[str]:
    """A device of a host that last reported two hours ago."""
    seen_at = utc_now() - datetime.timedelta(hours=2)
    what = {"name": "CPU slot", "total_bytes": 2**30, "free_bytes": 2**30, "bfloat16": False, "processes": []}
    with service.store() as store:
        with store.transaction() as session:
            session.add(Device(id="old/cpu-0", host="old", key="cpu-0", kind="cpu", index=0, seen_at=seen_at, **what))
        yield "old/cpu-0"
        with store.transaction() as session:
            session.delete(session.get(Device, "old/cpu-0"))


def test_only_an_offline_device_shows_when_it_was_last_seen_also_after_an_update(
    service: Service, away: str, open_tab: Tab
) -> None:
    page = open_tab(service, "/devices")
    card = page.locator("article", has_text="last seen 2 h ago")
    expect(card).to_have_id(away)
    expect(page.locator("article .now", has_text="seen")).to_have_count(1)
    with service.store() as store, store.transaction() as session:
        session.get_one(Device, away).problem = "its fan is loud"
    expect(card).to_contain_text("its fan is loud")


@pytest.fixture
def sick_gpu(service: Service) -> Iterator[str]:
    """A GPU that has failed its check twice, on another host."""
    result = {
        "ok": False,
        "failures_in_a_row": 2,
        "at": utc_now().isoformat(),
        "seconds": 9.0,
        "problem": "the NVIDIA driver is too old",
        "capability": "8.6",
        "limit_bytes": None,
        "versions": {"driver": "470.1", "cuda": "12.9", "cudnn": "9.10", "tensorflow": "2.20.0"},
        "precisions": {},
        "fingerprint": "a",
    }
    xid = {"code": 48, "at": "2026-11-18T10:00:00Z", "meaning": "an uncorrectable memory error"}
    health = {"uncorrected_errors": 0, "remapped_rows": 2, "repair_pending": True, "slowed_by": ["heat"], "xid": xid}
    what = {"name": "NVIDIA A100 MIG 1g.10gb", "total_bytes": 2**33, "free_bytes": 2**33, "bfloat16": True}
    with service.store() as store:
        with store.transaction() as session:
            session.add(
                Device(
                    id="other/gpu-0-mig-3",
                    host="other",
                    key="gpu-0-mig-3",
                    kind="gpu",
                    index=5,
                    processes=[],
                    seen_at=utc_now() + datetime.timedelta(hours=1),  # no worker reports it
                    problem=result["problem"],
                    qualification=result,
                    health=health,
                    **what,
                )
            )
        yield "other/gpu-0-mig-3"
        with store.transaction() as session:
            session.delete(session.get(Device, "other/gpu-0-mig-3"))


def test_a_gpu_says_what_its_check_found_and_an_admin_has_it_checked_again(
    service: Service, sick_gpu: str, open_tab: Tab
) -> None:
    page = open_tab(service, "/devices")
    card = page.locator("article", has_text="MIG 1g.10gb")
    expect(card.get_by_role("heading")).to_contain_text("GPU 0 MIG 3")  # by its key, not by NVML's number
    expect(card).to_contain_text("quarantined")
    expect(card).to_contain_text("the NVIDIA driver is too old")
    expect(card).to_contain_text("failed its check")
    expect(card).to_contain_text("driver 470.1 · CUDA 12.9 · cuDNN 9.10 · TensorFlow 2.20.0")
    expect(card).to_contain_text("2 remapped rows of memory · a reset will repair its memory · slowed down by heat")
    expect(card).to_contain_text("Xid 48 (an uncorrectable memory error) on ")
    card.get_by_role("button", name="Check again").click()
    expect(card).to_contain_text("a new check is due")
    expect(open_tab(service, "/devices", user="anna").get_by_role("button", name="Check again")).to_have_count(0)


def test_a_token_is_shown_once_and_disappears_when_it_is_revoked(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/settings#tokens", user="anna")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("Name").fill("for a test")
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_role("dialog").locator("pre")).to_have_text(re.compile("^dsh_"))
    page.get_by_role("button", name="Done").click()
    line = page.get_by_role("row", name="for a test")
    expect(line).to_contain_text("read and submit")
    expect(line).to_contain_text("in 90 d")
    line.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke token").click()
    expect(line).to_have_count(0)


def test_only_admins_see_the_team_and_the_audit_log(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/settings#users", user="anna")
    expect(page.get_by_role("tab")).to_have_text(["Account", "Tokens", "Webhooks"])
    expect(page.get_by_role("tabpanel", name="Account")).to_contain_text("anna, member")
    page = open_tab(service, "/settings#users")
    page.get_by_role("button", name="Edit anna").click()
    page.get_by_label("Max running").fill("3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name="anna")).to_contain_text("of 3")
    page.get_by_role("tab", name="Audit").click()
    page.get_by_label("Action", exact=True).select_option("user")
    expect(page.get_by_role("tabpanel").locator("tbody tr").first).to_contain_text("user.change")
    service.ask("PATCH", "/v1/users/anna", {"limits": {"max_running": None}})


def test_arrow_keys_along_the_list_change_the_tab_while_a_tab_has_the_focus(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/settings#tokens")
    page.get_by_role("button", name="New token").focus()
    page.keyboard.press("ArrowDown")
    tokens, webhooks = (page.get_by_role("tab", name=name) for name in ("Tokens", "Webhooks"))
    expect(tokens).to_have_attribute("aria-selected", "true")
    tokens.focus()
    page.keyboard.press("ArrowRight")
    expect(tokens).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(webhooks).to_be_focused()
    page.set_viewport_size({"width": 375, "height": 700})
    expect(page.get_by_role("tablist")).to_have_attribute("aria-orientation", "horizontal")
    page.keyboard.press("ArrowLeft")
    expect(tokens).to_be_focused()


def test_the_link_of_a_model_fills_the_form(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/models")
    page.get_by_role("link", name="Train with efficientdet_d2").click()
    expect(page.get_by_label("Model", exact=True)).to_have_value("efficientdet_d2")


def test_a_viewer_gets_no_button_to_submit_and_the_form_says_why(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/models", user="vera")
    expect(page.locator("#models tr").first).to_be_visible()
    expect(page.get_by_role("link", name="Train with")).to_have_count(0)
    page.goto("/datasets")
    expect(page.locator("#datasets tr").first).to_be_visible()
    expect(page.get_by_role("link", name="Train with")).to_have_count(0)
    expect(page.get_by_text("Add a dataset")).to_be_hidden()
    page.keyboard.press("n")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("go to jobs")
    expect(page.get_by_role("dialog")).not_to_contain_text("new job")
    page.goto("/jobs/new")
    expect(page.get_by_role("main")).to_contain_text("Viewers can only read")
    expect(page.get_by_role("button", name="Submit")).to_have_count(0)


def test_a_session_of_a_read_only_token_gets_no_controls_that_would_fail(service: Service, open_tab: Tab) -> None:
    job = service.make_job(state="paused")
    token = service.ask("POST", "/v1/tokens", {"name": "reads", "scopes": ["read"]})["token"]
    page = open_tab(service, "/login", user=None)
    page.get_by_text("Log in with a token").click()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in with it").click()
    row(page, job).get_by_role("checkbox").check()
    expect(page.locator("#chosen")).to_have_text("1 job selected")
    expect(page.locator("#me .name")).to_have_text("admin")
    expect(page.locator("#cancel")).to_be_hidden()
    page.goto("/jobs/new")
    expect(page.get_by_role("main")).to_contain_text("a read-only token")


def test_the_menu_shows_the_user_and_the_theme_button_shows_the_theme(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, user="vera")
    page.get_by_label("Your account").click()
    expect(page.locator("#me")).to_contain_text("vera, viewer")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Log out")).to_be_hidden()
    page.get_by_role("button", name="Theme: system").click()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()


def test_the_bar_says_when_the_service_is_unreachable_and_when_it_is_back(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("503")
    page = open_tab(service, "/models")
    expect(page.locator(".live")).to_have_text("live")
    page.context.set_offline(True)
    expect(page.locator(".live")).to_have_text("offline")
    page.context.set_offline(False)
    expect(page.locator(".live")).to_have_text("live")
    page.route("**/v1/events*", lambda route: route.fulfill(status=503))
    page.reload()
    expect(page.locator(".live")).to_have_text(re.compile(r"^reconnecting in \d s$"))
    page.unroute_all()
    expect(page.locator(".live")).to_have_text("live")


def test_the_command_that_adds_a_dataset_uses_the_url_of_this_service(service: Service, open_tab: Tab) -> None:
    page = open_tab(service)
    page.goto(f"{service.url}/datasets")
    page.get_by_text("From the command line").click()
    expect(page.locator("#send")).to_contain_text(f"'{service.url}/v1/datasets?name=cones'")


def test_an_expired_session_leads_to_the_login_page(service: Service, open_tab: Tab, guard: Guard) -> None:
    guard.allow("401|503")
    page = open_tab(service, "/devices?hours=1#here")
    page.route("**/v1/events*", lambda route: route.fulfill(status=503))
    page.reload()
    expect(page.locator(".live")).to_have_text(re.compile("^reconnecting"))
    page.context.clear_cookies()
    expect(page).to_have_url(f"{service.url}/login?next=%2Fdevices%3Fhours%3D1%23here")


def test_a_devices_history_shows_the_peak_of_a_job_that_ran_out_of_memory_between_two_samples(
    service: Service, open_tab: Tab
) -> None:
    service.behave(need_mb_per_image=200)
    job = service.submit(
        train={"steps": 3, "batch_size": 8}, policy={"plan_ahead": False, "levers": [], "max_attempts": 1}
    )
    service.until_state(job, "failed")
    [attempt] = service.ask("GET", f"/v1/jobs/{job}/attempts")["items"]
    page = open_tab(service, f"/devices#{attempt['device']['id']}")
    expect(page.locator(f"[id='{attempt['device']['id']}'] .readout")).to_have_text("peak 1000 MB of 1000 MB")
