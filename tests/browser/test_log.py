"""The log of a job while new lines arrive: all of them are shown, and nothing moves under the reader."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Tab
from tests.browser.service import Service

LATE = {"attempt": 1, "diagnosis": "bug", "message": "late", "lines": [{"line": 1004, "text": "RuntimeError"}]}


def write(service: Service, job: int, text: str, attempt: int = 1) -> None:
    with service.log(job, attempt).open("a") as file:
        file.write(text)


def test_the_search_key_opens_the_log_from_every_tab(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, f"/jobs/{service.make_job(attempts=1)}#config")
    expect(page.locator("#config .config")).to_contain_text("model")
    page.keyboard.press("/")
    search = page.get_by_label("Search the log")
    expect(search).to_be_focused()
    expect(page).to_have_url(re.compile("#log$"))
    page.keyboard.type("out of")
    page.keyboard.press("Enter")
    expect(page.locator(".log .hit")).to_contain_text("Ran OUT of memory")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(search).to_be_focused()


def hide_and_show(page: Page) -> None:
    page.get_by_role("tab", name="Attempts").click()
    page.get_by_role("tab", name="Log").click()


def test_lines_that_were_printed_while_the_page_was_hidden_are_shown_and_found(service: Service, open_tab: Tab) -> None:
    job = service.make_job(state="paused", attempts=2)
    page = open_tab(service, f"/jobs/{job}#log:1:end")
    log, count = page.get_by_role("log"), page.locator(".match-count")
    expect(log).to_contain_text("Ran OUT of memory")
    page.get_by_label("Search the log").fill("MEMORY")
    page.keyboard.press("Enter")
    expect(count).to_have_text("1 of 1")

    write(service, job, "memory again\nthe last line\n")
    hide_and_show(page)
    expect(log).to_contain_text("the last line")
    page.get_by_label("Search the log").press("Enter")
    expect(page.locator(".log .hit")).to_contain_text("memory again")
    expect(count).to_have_text("2 of 2")

    write(service, job, "RuntimeError: of a process that outlived it\n")
    page.route(re.compile("/logs/error"), lambda route: route.fulfill(json=LATE))
    page.get_by_role("button", name="Jump to error").click()
    expect(page.locator(".log .hit")).to_contain_text("RuntimeError: of a process")

    page.get_by_label("Attempt", exact=True).select_option("2")
    expect(page.locator(".log-status")).to_contain_text("of 1,001")
    expect(count).to_have_text("")


def test_the_log_switches_to_a_new_attempt_unless_a_line_or_another_attempt_was_chosen(
    service: Service, open_tab: Tab
) -> None:
    job = service.make_job(state="paused", attempts=1)
    page = open_tab(service, f"/jobs/{job}#log")
    chosen = page.get_by_label("Attempt", exact=True)
    expect(page.get_by_role("log")).to_contain_text("Ran OUT of memory")

    service.add_attempt(job, 2)
    expect(chosen).to_have_value("2")
    expect(page.get_by_role("log")).to_contain_text("Ran OUT of memory")
    page.get_by_label("Search the log").fill("out of memory")
    page.keyboard.press("Enter")
    expect(page.locator(".log .hit")).to_be_visible()
    service.add_attempt(job, 3)
    expect(chosen.locator("option")).to_have_count(3)
    expect(chosen).to_have_value("2")  # a line is marked, so the log stays with this attempt
    chosen.select_option("1")
    service.add_attempt(job, 4)
    expect(chosen.locator("option")).to_have_count(4)
    expect(chosen).to_have_value("1")


def test_a_text_selection_stays_while_lines_arrive(service: Service, open_tab: Tab) -> None:
    service.busy()
    job = service.submit(steps=1000)
    page = open_tab(service, f"/jobs/{job}#log")
    log = page.get_by_role("log")
    expect(log).to_contain_text("one line of log")
    write(service, job, "".join(f"line {number}\n" for number in range(2, 81)))
    expect(log).to_contain_text("line 80")
    log.locator('[data-line="78"] > span').click(click_count=3)
    assert "line 78" in selected(page)

    with page.expect_response(re.compile("/logs/lines")):
        pass  # no new line has arrived
    assert "line 78" in selected(page)
    write(service, job, "one more\n" * 5)
    expect(log).to_contain_text("one more")
    expect(log.locator('[data-line="85"]')).to_be_in_viewport()
    assert "line 78" in selected(page)


def selected(page: Page) -> str:
    found: str = page.evaluate("getSelection().toString()")
    return found


def test_a_log_that_is_followed_for_days_keeps_a_few_thousand_lines(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, f"/jobs/{service.make_job(attempts=1)}")
    page.locator("#timeline .attempt").wait_for()
    kept = page.evaluate("""async () => {
      const job = document.querySelector('script[src$="job.js"]').src;
      const { LogView } = await import(job.replace("pages/job.js", "job/log_view.js"));
      const view = new LogView({ fetch: async () => null, onDraw() {}, onScroll() {}, onSelect() {} });
      document.body.append(view.element);
      for (let total = 500; total <= 60000; total += 500) view.take(total - 499, Array(500).fill("a line"), total);
      return [view.lines.size <= 20000, view.lines.has(60000), view.element.textContent.includes("60000a line")];
    }""")
    assert kept == [True, True, True]


NOISE = (
    "2026-11-17 16:09:29: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized\n"
    "To enable the following instructions: AVX2 FMA, rebuild TensorFlow\n"
    "WARNING:tensorflow:From builder.py:235: map_with_legacy_function is deprecated and will be removed\n"
    "Instructions for updating:\n"
    "Use `tf.data.Dataset.map()\n"
)


def test_start_up_messages_are_folded_and_unfold_for_a_link_or_a_search_match(service: Service, open_tab: Tab) -> None:
    job = service.make_job(attempts=1)
    service.log(job, 1).write_text(f"first\n{NOISE}" + "".join(f"line {number}\n" for number in range(7, 1007)))
    page = open_tab(service, f"/jobs/{job}#log:1:7")
    log = page.get_by_role("log")
    hidden = log.get_by_role("button", name="Show 5 lines of routine TensorFlow output")
    expect(hidden).to_be_visible()
    expect(log.locator('[data-line="4"]')).to_have_count(0)
    expect(log.locator(".hit")).to_have_text("7line 7")  # numbered as in the file
    expect(page.locator(".log-status")).to_contain_text("of 1,006")

    hidden.click()
    expect(log.locator('[data-line="4"]')).to_contain_text("map_with_legacy_function")
    log.get_by_role("button", name="hide 5 lines").click()
    expect(log.locator('[data-line="4"]')).to_have_count(0)

    page.get_by_label("Search the log").fill("legacy_function")
    page.keyboard.press("Enter")
    expect(log.locator(".hit")).to_contain_text("map_with_legacy_function")
    expect(log.locator(".hit")).to_be_in_viewport()
    page.get_by_label("Search the log").fill("line 1006")
    page.keyboard.press("Enter")
    expect(log.locator(".hit")).to_have_text("1006line 1006")
    log.evaluate("log => log.scrollIntoView({ block: 'end' })")  # its end may be below the visible part of the page
    expect(log.locator(".hit")).to_be_in_viewport()

    page.goto("about:blank")
    page.goto(f"/jobs/{job}#log:1:5")
    expect(log.locator(".hit")).to_contain_text("Instructions for updating")
    page.goto("about:blank")
    page.goto(f"/jobs/{job}#log:1:end")
    write(service, job, "one more\n")
    hide_and_show(page)
    log.evaluate("log => log.scrollIntoView({ block: 'end' })")
    expect(log.locator('[data-line="1007"]')).to_be_in_viewport()
