"""The event stream of a page: after an interruption no event is missing and none arrives twice."""

from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from services.store import events
from tests.browser.breakable_proxy import proxy_to
from tests.browser.conftest import JOBS_REQUEST, Guard, Tab, two_per_page
from tests.browser.service import Service
from tests.support.newcomer import until

CUT_MS = 10_000
# Records the events that the page's scripts receive. Live updates have no id and are not replayed.
LISTEN = """async () => {
  const header = document.querySelector('script[src$="header.js"]').src;
  const { listen } = await import(header.replace("frame/header.js", "shared/events.js"));
  const momentary = ["hello", "reset", "progress", "queue", "device", "job"];
  window.seen = [];
  listen((event) => {
    if (!momentary.includes(event.kind)) seen.push(Number(event.id));
  });
}"""


def newest(service: Service) -> int:
    with service.store() as store, store.reading() as session:
        return (events.newest(session) or [0])[0]


def kept(service: Service, after: int) -> list[int]:
    with service.store() as store, store.reading() as session:
        return [event.id for event, _ in events.after(session, after, 100_000)]


def test_after_ten_seconds_without_a_connection_no_event_is_missing_or_repeated(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|ERR_SOCKET")
    service.behave(step_s=0.3)
    address = urlsplit(service.url)
    assert address.hostname
    assert address.port
    with proxy_to(address.hostname, address.port) as proxy:
        behind = service.make_job(state="paused", name="behind the first page")
        for number in range(2):
            service.make_job(name=f"before it {number}")
        here = f"127.0.0.1:{proxy.port}"
        page: Page = open_tab(service, f"http://{here}/devices", host=here)
        page.route(JOBS_REQUEST, two_per_page)
        page.goto(f"http://{here}/")
        expect(page.locator(f'#rows tr[data-key="{behind}"]')).to_be_attached()
        expect(page.locator(".live")).to_have_text("live")
        before = newest(service)
        page.evaluate(LISTEN)
        job = service.submit(steps=1000, name="goes on meanwhile")
        row = page.locator(f'#rows tr[data-key="{job}"]')
        expect(row.locator(".dot")).to_have_text("running")

        proxy.cut()
        expect(page.locator(".live")).to_have_text("reconnecting")
        during = newest(service)
        missed = service.submit(name="came while nobody looked")
        page.wait_for_timeout(CUT_MS)
        service.ask("POST", f"/v1/jobs/{behind}/cancel")
        service.ask("POST", f"/v1/jobs/{job}/cancel")
        service.until_state(job, "cancelled")
        service.until_state(missed, "succeeded")
        assert newest(service) > during + 5
        assert row.locator(".dot").text_content() == "running"
        proxy.restore()

        expect(page.locator(".live")).to_have_text("live")
        expect(row.locator(".dot")).to_have_text("cancelled")
        expect(page.locator(f'#rows tr[data-key="{missed}"] .dot')).to_have_text("succeeded")
        expect(page.locator(f'#rows tr[data-key="{behind}"] .dot')).to_have_text("cancelled")
        until("all events", lambda: page.evaluate("seen.at(-1)") == newest(service))
        assert page.evaluate("seen") == kept(service, before)
