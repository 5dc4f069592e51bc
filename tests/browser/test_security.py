"""Pages of other origins, injected scripts and users without rights can change nothing."""

import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import Guard, Tab, log_in
from tests.browser.service import PASSWORD, Service

PAGES = (
    "/",
    "/login",
    "/jobs/new",
    "/jobs/1",
    "/devices",
    "/compare",
    "/datasets",
    "/datasets/shapes",
    "/models",
    "/settings",
    "/docs",
)


@contextmanager
def other_site(text: str) -> Iterator[str]:
    """A page on another port of this host: to a browser the same site, but another origin."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_neither_scripts_nor_other_sites_can_use_the_cookie(service: Service, open_tab: Tab) -> None:
    page = open_tab(service)
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] in ("Lax", "Strict")
    assert page.evaluate("document.cookie") == ""


def test_a_request_with_only_the_cookie_changes_nothing(service: Service, open_tab: Tab, guard: Guard) -> None:
    guard.allow("403")
    job = service.make_job(state="paused")
    page = open_tab(service)
    ask = "([path, headers]) => fetch(path, { method: 'POST', headers }).then((answer) => answer.status)"
    for headers in ({}, {"X-CSRF-Token": "guessed"}):
        assert page.evaluate(ask, [f"/v1/jobs/{job}/cancel", headers]) == 403
    assert service.job(job)["state"] == "paused"


def test_a_form_of_another_origin_changes_nothing(service: Service, open_tab: Tab, guard: Guard) -> None:
    guard.allow("another host|403")
    job = service.make_job(state="paused")
    target = f"{service.url}/v1/jobs/{job}/cancel"
    form = f'<form method="post" action="{target}" enctype="text/plain"><input name="a" value="b"></form>'
    page = open_tab(service)
    with other_site(f"{form}<script>document.forms[0].submit()</script>") as address:
        with page.expect_response(target) as answer:
            page.goto(address)
        assert answer.value.status == 403
    assert service.job(job)["state"] == "paused"


def test_a_script_of_another_origin_changes_and_reads_nothing(service: Service, open_tab: Tab, guard: Guard) -> None:
    guard.allow("another host|403|CORS|ERR_FAILED|ERR_BLOCKED|Cross-Origin")
    job = service.make_job(state="paused")
    script = """
      const ask = async (path, method) => (await fetch(`URL${path}`, { method, credentials: "include" })).text();
      Promise.allSettled([ask("/v1/jobs/JOB/cancel", "POST"), ask("/v1/jobs", "GET")]).then((answers) => {
        document.title = answers.map((answer) => answer.status).join(" ");
      });""".replace("URL", service.url).replace("JOB", str(job))
    page = open_tab(service)
    with other_site(f"<script>{script}</script>") as address:
        page.goto(address)
        expect(page).to_have_title("rejected rejected")
    assert service.job(job)["state"] == "paused"


def test_a_page_runs_only_its_own_scripts_and_loads_only_from_the_service(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("Content Security Policy|another host|Framing")
    service.make_job()
    page = open_tab(service)
    for path in PAGES:
        answer = page.goto(path)
        assert answer is not None
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
        broken = page.evaluate(
            """() => new Promise((resolve) => {
              const found = [];
              document.addEventListener("securitypolicyviolation", (event) => {
                found.push(event.effectiveDirective);
                if (found.length === 3) resolve(found);
              });
              const script = document.createElement("script");
              script.textContent = "window.hacked = true";
              document.head.append(script);
              const button = document.createElement("button");
              button.setAttribute("onclick", "window.hacked = true");
              document.body.append(button);
              button.click();
              new Image().src = "http://127.0.0.1:9/x.png";
            })"""
        )
        assert sorted(broken) == ["img-src", "script-src-attr", "script-src-elem"], path
        assert page.evaluate("window.hacked") is None


def test_a_viewer_sees_jobs_and_no_controls_to_change_them(service: Service, open_tab: Tab) -> None:
    job = service.make_job(state="paused", name="not yours")
    page = open_tab(service, f"/jobs/{job}", user="vera")
    expect(page.locator("#name")).to_contain_text("not yours")
    for name in ("Cancel", "Resume"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.goto("/settings")
    expect(page.get_by_role("tab", name="Account")).to_be_visible()
    expect(page.get_by_role("tab", name=re.compile("Users|Audit"))).to_have_count(0)
    expect(open_tab(service, "/settings").get_by_role("tab", name="Audit")).to_be_visible()


def test_a_session_of_a_read_only_token_sees_no_controls_to_change_jobs(service: Service, open_tab: Tab) -> None:
    job = service.make_job(state="paused", name="the admin's own")
    token = service.ask("POST", "/v1/tokens", {"name": "reads", "scopes": ["read"]})["token"]
    page = open_tab(service, f"/login?next=/jobs/{job}", user=None)
    page.get_by_text("Log in with a token").click()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in with it").click()
    expect(page.locator("#name")).to_contain_text("the admin's own")
    expect(page.locator("#actions")).to_be_empty()
    expect(page.locator("[data-edit]")).to_have_count(0)


def test_logging_out_ends_the_session_in_every_tab(service: Service, open_tab: Tab, guard: Guard) -> None:
    guard.allow("401")
    page = open_tab(service, "/login", user=None)
    page.get_by_label("User").fill("anna")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("the name or the password is wrong")
    page.goto("/settings")
    expect(page).to_have_url(f"{service.url}/login?next=%2Fsettings")
    page.get_by_label("User").fill("anna")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page).to_have_url(f"{service.url}/settings")

    other = page.context.new_page()
    other.goto("/")
    expect(other.locator(".live")).to_have_text("live")

    page.get_by_label("Your account").click()
    page.get_by_role("button", name="Log out").click()

    expect(page).to_have_url(f"{service.url}/login")
    expect(other).to_have_url(f"{service.url}/login?next=%2F")
    page.goto("/")
    expect(page).to_have_url(f"{service.url}/login?next=%2F")


def test_a_link_to_the_login_page_cannot_redirect_to_another_site(
    service: Service, open_tab: Tab, guard: Guard
) -> None:
    guard.allow("404|401")
    with other_site("<title>Elsewhere</title>") as elsewhere:
        host = elsewhere.removeprefix("http:").rstrip("/")  # //127.0.0.1:…
        for wanted in (elsewhere, host, f"/.{host}", f"/x/..{host}"):
            page = open_tab(service, f"/login?next={quote(wanted, safe='')}", user=None)
            log_in(page, service, "anna")
            assert page.url.startswith(f"{service.url}/"), wanted
