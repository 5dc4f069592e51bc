"""Every error is problem+json, and reveals no more than the caller needs."""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError

from api.app import create_app
from api.http import problems
from api.routes import events
from services.devices import listing
from services.domain.jobs.states import WrongState
from services.errors import DownshiftError
from services.store.engine import Store
from tests.support.api_service import BODY, Service, expect_problem
from tests.support.box import ROOT

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("content", [b"{", b"", b"{'a': 1}", b"\xff\xfe", b"[" * 200_000, b'{"a": ' * 100_000])
def test_a_body_that_is_no_json_is_refused(service: Service, content: bytes) -> None:
    refused = service.post("/v1/jobs", content=content, headers=JSON)
    assert refused.status_code in (400, 422)
    expect_problem(refused, refused.status_code)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_of_another_kind_is_refused(service: Service, kind: str) -> None:
    refused = service.post("/v1/jobs", content=b'{"dataset": "shapes"}', headers={"Content-Type": kind})
    expect_problem(refused, 415, "unsupported_media_type")


def pieces(count: int) -> Iterator[bytes]:
    for _ in range(count):
        yield b" " * 1024


def test_a_body_that_is_too_large_is_refused_also_in_chunks(service: Service) -> None:
    limit = service.settings.max_body_kb
    expect_problem(service.post("/v1/jobs", content=b" " * (limit * 1024 + 1), headers=JSON), 413, "too_large")
    expect_problem(service.post("/v1/jobs", content=pieces(limit + 1), headers=JSON), 413, "too_large")
    expect_problem(service.post("/v1/jobs", content=pieces(limit), headers=JSON), 400, "bad_json")


def test_a_method_that_is_not_there_names_those_that_are(service: Service) -> None:
    refused = service.ask("DELETE", "/v1/jobs")
    problem = expect_problem(refused, 405, "method_not_allowed")
    assert refused.headers["allow"] == "GET, POST"
    assert "GET, POST" in problem["detail"]


def test_an_unexpected_error_shows_only_its_request_id(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*args: Any, **options: Any) -> None:
        raise ZeroDivisionError("the password is swordfish")

    monkeypatch.setattr(listing, "list_devices", fails)
    answer = service.get("/v1/devices")
    problem = expect_problem(answer, 500, "internal")
    assert "swordfish" not in answer.text
    assert "ZeroDivision" not in answer.text
    assert problem["request_id"] in caplog.text
    assert "swordfish" in caplog.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_unreachable_database_is_reported_as_such(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **options: Any) -> None:
        raise OperationalError("SELECT 1", {}, Exception("connection to 10.0.0.1 refused"))

    monkeypatch.setattr(listing, "list_devices", fails)
    answer = service.get("/v1/devices")
    expect_problem(answer, 503, "database_away")
    assert "10.0.0.1" not in answer.text
    monkeypatch.setattr("services.users.principal.authenticate", fails)
    expect_problem(service.get("/v1/jobs"), 503, "database_away")


def test_so_is_one_that_is_really_away(service: Service) -> None:
    store = Store.open("postgresql://nobody@127.0.0.1:1/nothing")
    client = TestClient(create_app(service.settings, store), raise_server_exceptions=False)
    answer = client.get("/v1/jobs", headers={"Authorization": f"Bearer {service.tokens['anna']}"})
    expect_problem(answer, 503, "database_away")
    expect_problem(client.post("/v1/session", json={"user": "anna", "password": "x"}), 503, "database_away")


def test_a_name_in_an_error_is_text(service: Service) -> None:
    answer = service.post("/v1/jobs", json={**BODY, "model": "<script>"})
    expect_problem(answer, 422)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_every_answer_has_the_headers_that_browsers_heed(service: Service) -> None:
    service.job(attempts=1)
    paths = ("/", "/docs", "/healthz", "/v1/jobs", "/nothing", "/v1/jobs/1/artifacts/export.tar.gz")
    for path, by in itertools.product(paths, (None, "anna")):
        headers = service.get(path, by=by).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"


def test_a_request_is_one_line_in_the_log(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="api.access")
    answer = service.get("/v1/jobs?q=secret")
    service.get("/v1/a%0Ab%1B[31m")
    lines = [record.getMessage() for record in caplog.records if record.name == "api.access"]
    assert lines[0].startswith("GET /v1/jobs 200 ")
    assert lines[0].endswith(f" ms anna testclient {answer.headers['x-request-id']}")
    assert "secret" not in lines[0]
    assert all("\n" not in line and "\x1b" not in line for line in lines)


def test_importing_the_api_imports_neither_the_worker_nor_tensorflow() -> None:
    program = "import sys, api.app; sys.exit(', '.join({'worker', 'tensorflow', 'keras'} & set(sys.modules)) or None)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_body_with_two_lengths_is_refused(service: Service) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": "2", "Transfer-Encoding": "chunked"}
    refused = service.post("/v1/jobs", content=b"{}", headers=headers)
    assert "not both" in expect_problem(refused, 400, "bad_request")["detail"]
    assert refused.headers["connection"] == "close"  # the rest of the body must not be read as a request


@pytest.mark.parametrize("odd", ["%00", "%27%22%25_%5C%FF%0D%0A"])
def test_no_odd_text_in_an_address_reaches_the_database(
    service_on_postgresql: Service, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL rejects NUL in texts; SQLite would store it."""
    monkeypatch.setattr(events, "MAX_STREAM_S", 0.0)
    service = service_on_postgresql
    service.job(attempts=1)
    asked = 0
    for path, operations in service.get("/openapi.json").json()["paths"].items():
        if "get" in operations and path.startswith("/v1/"):
            known = operations["get"].get("parameters", [])
            place = re.sub(r"\{[^}]+\}", odd, re.sub(r"\{(job_id|number|token_id|webhook_id)\}", "1", path))
            for query in ["", *(f"?{field['name']}={odd}" for field in known if field["in"] == "query")]:
                assert service.get(place + query, by="admin").status_code < 500, place + query
                asked += 1
    assert asked > 40


def test_every_error_code_of_the_services_has_a_status() -> None:
    sources = [path.read_text() for path in (ROOT / "services").rglob("*.py")]
    codes = {code for text in sources for code in re.findall(r'\bConflict\(\s*"(\w+)"', text)}
    codes |= {code for text in sources for code in re.findall(r'\bForbidden\([^()]*,\s*"(\w+)"\s*\)', text)}
    assert {"version_mismatch", "name_taken"} <= codes
    codes |= {WrongState.code, "forbidden", "conflict"}
    codes |= {kind.code for kind in _subclasses(DownshiftError) if isinstance(getattr(kind, "code", None), str)}
    assert codes <= problems._CODES.keys() | {DownshiftError.code}


def _subclasses(kind: type[DownshiftError]) -> Iterator[type[DownshiftError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)
