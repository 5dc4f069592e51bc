"""`python -m api` as a process: errors at start, serving, and shutdown."""

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from services.settings import Settings
from services.users import directory
from tests.support.api_service import NOBODY, Service

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def environment(settings: Settings) -> dict[str, str]:
    return {**os.environ, **settings.to_environment()}


def test_beyond_this_machine_it_does_not_start_without_authentication() -> None:
    given = {"DOWNSHIFT_BIND": "0.0.0.0:0", "DOWNSHIFT_AUTHENTICATION": "off"}
    ended = subprocess.run(
        [sys.executable, "-m", "api"],
        cwd=ROOT,
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 2
    assert "0.0.0.0:0 can be reached from other machines, and DOWNSHIFT_AUTHENTICATION is off" in ended.stderr


@contextmanager
def serving(settings: Settings, log: Path) -> Iterator[httpx.Client]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "api"], cwd=ROOT, env=environment(settings), stdout=output, stderr=output
        )
    try:
        with httpx.Client(base_url=f"http://{settings.bind}", timeout=30) as client:
            deadline = time.monotonic() + 60
            while True:
                try:
                    client.get("/healthz")
                    break
                except httpx.TransportError:
                    assert process.poll() is None, log.read_text()
                    assert time.monotonic() < deadline, log.read_text()
                    time.sleep(0.05)
            yield client
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.wait()


def test_it_says_what_to_do_where_the_tables_are_missing(tmp_path: Path) -> None:
    started = subprocess.run(
        [sys.executable, "-m", "api"],
        cwd=ROOT,
        env=environment(Settings(home=tmp_path)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert started.returncode == 2
    assert "run python -m services.setup" in started.stderr
    assert "Traceback" not in started.stderr


def test_it_serves_and_stops_even_with_an_open_stream(service: Service, tmp_path: Path) -> None:
    settings = dataclasses.replace(service.settings, bind=f"127.0.0.1:{free_port()}", log_json=True)
    log = tmp_path / "api.log"
    job, token = service.job(), service.tokens["anna"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(serving(settings, log))
        assert client.get("/v1/jobs").status_code == 401
        assert [item["id"] for item in client.get("/v1/jobs", headers=headers).json()["items"]] == [job]
        assert client.get("/readyz").json()["status"] == "ready"
        pieces = (b" " * 1024 for _ in range(settings.max_body_kb + 10))
        refused = client.post("/v1/jobs", headers=headers, content=pieces)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        assert "server" not in refused.headers
        listening = client.send(client.build_request("GET", f"/v1/jobs/{job}/events", headers=headers), stream=True)
        assert next(listening.iter_lines()) == "retry: 2000"
    lines = log.read_text().splitlines()
    seen = [json.loads(line) for line in lines]
    asked = [
        (line["method"], line["path"], line["status"], line["user"]) for line in seen if line["logger"] == "api.access"
    ]
    assert ("GET", "/v1/jobs", 401, "-") in asked
    assert ("GET", "/v1/jobs", 200, "anna") in asked
    assert token not in log.read_text()
    assert "Cancel 1 running task" not in log.read_text()  # the stream was ended in time


def _log_in(client: httpx.Client, forwarded_for: str, **body: str) -> httpx.Response:
    headers = {"X-Forwarded-For": forwarded_for, "X-Forwarded-Proto": "https"}
    return client.post("/v1/session", json=body or {"token": NOBODY}, headers=headers)


def _addresses(log: Path) -> set[str]:
    found = [json.loads(line) for line in log.read_text().splitlines()]
    return {line["address"] for line in found if line["logger"] == "api.access" and line["method"] == "POST"}


def test_the_headers_of_an_untrusted_proxy_are_ignored(service: Service, tmp_path: Path) -> None:
    settings = dataclasses.replace(service.settings, bind=f"127.0.0.1:{free_port()}", log_json=True)
    log = tmp_path / "api.log"
    with serving(settings, log) as client:
        entered = _log_in(client, "192.0.2.99", token=service.tokens["anna"])
        assert "secure" not in entered.headers["set-cookie"].lower()
        tried = [_log_in(client, f"192.0.2.{number}").status_code for number in range(40)]
        assert 429 in tried
    assert _addresses(log) == {"127.0.0.1"}
    assert _last_log_in(service)["address"] == "127.0.0.1"


def test_a_trusted_proxy_is_believed_and_what_its_client_made_up_is_not(service: Service, tmp_path: Path) -> None:
    bind = f"127.0.0.1:{free_port()}"
    settings = dataclasses.replace(service.settings, bind=bind, log_json=True, trusted_proxies="127.0.0.0/8")
    log = tmp_path / "api.log"
    with serving(settings, log) as client:
        # The first address is the client's claim; the proxy appends the one that it saw.
        tried = [_log_in(client, f"198.51.100.{number}, 192.0.2.1").status_code for number in range(40)]
        assert 429 in tried
        assert _log_in(client, "192.0.2.2", user="anna", password="not the password").status_code == 401
        entered = _log_in(client, "192.0.2.3", token=service.tokens["anna"])
        assert "secure" in entered.headers["set-cookie"].lower()
    assert _addresses(log) == {"192.0.2.1", "192.0.2.2", "192.0.2.3"}
    assert "wrong password for user anna, from 192.0.2.2" in log.read_text()
    assert _last_log_in(service)["address"] == "192.0.2.3"


def _last_log_in(service: Service) -> dict[str, Any]:
    page = directory.audit_page(service.store, service.principals["admin"], 50)
    return next(entry["data"] for entry in page.items if entry["action"] == "session.begin")
