"""/metrics as Prometheus reads it, and the Grafana dashboard that uses it."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from api.http.prometheus_text import Family, Histogram, histogram, write
from services import service_stats
from services.clock import utc_now
from services.devices import reports
from services.domain.jobs.states import State
from services.service_stats import EndedCounts
from services.store import service_stats as counts
from services.store.models import Attempt, Job, Measurement
from tests.support.api_service import Service, expect_problem
from tests.support.desk import GB, ago, gpu

ROOT = Path(__file__).parents[3]
_SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (\S+)')
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')
Key = tuple[str, frozenset[tuple[str, str]]]


def parse(text: str) -> dict[Key, float]:
    """Parse the text format. Each sample must belong to its family and occur once."""
    assert text.endswith("\n")
    found: dict[Key, float] = {}
    family, kind, families = "", "", set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            assert family not in families
            families.add(family)
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2] == family
            kind = line.split(" ")[3]
            assert kind in ("counter", "gauge", "histogram")
            assert (kind == "counter") == family.endswith("_total")
        else:
            sample = _SAMPLE.fullmatch(line)
            assert sample, line
            name, labels, value = sample.groups()
            suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            assert name in {family + suffix for suffix in suffixes}, line
            key = (name, frozenset(_LABEL.findall(labels or "")))
            assert key not in found, line
            found[key] = math.inf if value == "+Inf" else float(value)
    return found


def value(found: dict[Key, float], name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


@pytest.fixture
def busy(service_on_each: Service) -> Service:
    service = service_on_each
    service.job(state=State.RUNNING, attempts=2)
    service.job(state=State.FAILED, attempts=1)
    waits = service.job()
    with service.store.transaction() as session:
        session.get_one(Attempt, (1, 1)).diagnosis = "host"
        session.get_one(Job, waits).queued_at = ago(3600)
        done = session.get_one(Attempt, (2, 1))
        done.planned, done.peak_bytes, done.diagnosis = {"prediction": {"bytes": 12 * GB}}, 5 * GB, "completed"
        done.outcome = {"reason": "completed", "allocator": {"evaluation_peak": 6 * GB}}
        session.add(
            Measurement(
                job_id=2,
                attempt=1,
                model="m",
                precision="float32",
                micro_batch=1,
                accumulation=1,
                height=1,
                width=1,
                device_kind="gpu",
                software="s",
                peak_bytes=6 * GB,
                complete=True,
                created_at=utc_now(),
            )
        )
    reports.report(service.store, "box", [gpu(0, 24 * GB, 20 * GB, others=3 * GB)])
    return service


def test_the_service_in_numbers(busy: Service) -> None:
    answer = busy.get("/metrics", by="vera")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = parse(answer.text)
    states = {state: value(found, "downshift_jobs", state=state) for state in State}
    assert states == {**dict.fromkeys(State, 0), State.RUNNING: 1, State.FAILED: 1, State.QUEUED: 1}
    assert value(found, "downshift_attempts_total", diagnosis="host") == 1
    assert value(found, "downshift_attempts_total", diagnosis="completed") == 1
    assert 3600 <= value(found, "downshift_queue_oldest_seconds") < 3700
    # Only completed attempts count, once each, with the higher of their two peaks.
    assert value(found, "downshift_prediction_error_ratio", quantile="0.5") == pytest.approx(1.0)
    assert value(found, "downshift_predictions_compared") == 1
    device = {"device": "box/gpu-0", "kind": "gpu"}
    assert value(found, "downshift_device_memory_total_bytes", **device) == 24 * GB
    assert value(found, "downshift_device_memory_free_bytes", **device) == 20 * GB
    assert value(found, "downshift_device_memory_others_bytes", **device) == 4 * GB
    assert value(found, "downshift_device_memory_ours_bytes", **device) == 0
    assert value(found, "downshift_device_temperature_celsius", **device) == 40
    assert value(found, "downshift_device_usable", **device) == 1


def test_what_has_ended_is_counted_once_and_what_ends_is_seen_at_once(service_on_each: Service) -> None:
    """Late commits and slow clocks count too: the last hour is always counted again."""
    service, ended = service_on_each, EndedCounts()
    old, _ = service.job(state=State.FAILED, attempts=1), service.job(state=State.SUCCEEDED, attempts=1)
    with service.store.transaction() as session:
        session.get_one(Job, old).finished_at = session.get_one(Attempt, (old, 1)).ended_at = ago(7200)

    def jobs() -> dict[str, int]:
        found = service_stats.read(service.store, ended)
        assert sum(found.attempts.values()) == found.jobs[State.FAILED] + found.jobs[State.SUCCEEDED]
        return {state: count for state, count in found.jobs.items() if count}

    assert jobs() == {"failed": 1, "succeeded": 1}
    with service.store.transaction() as session:  # not done in practice; it shows what is not counted again
        session.get_one(Job, old).finished_at = session.get_one(Attempt, (old, 1)).ended_at = None
    assert jobs() == {"failed": 1, "succeeded": 1}
    late = service.job(state=State.SUCCEEDED, attempts=1)
    with service.store.transaction() as session:
        session.get_one(Job, late).finished_at = session.get_one(Attempt, (late, 1)).ended_at = ago(3000)
    assert jobs() == {"failed": 1, "succeeded": 2}


def test_a_count_that_fails_half_way_counts_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, old = EndedCounts(), service.job(state=State.FAILED, attempts=1)
    with service.store.transaction() as session:
        session.get_one(Job, old).finished_at = session.get_one(Attempt, (old, 1)).ended_at = ago(7200)
    with monkeypatch.context() as patch:
        patch.setattr(counts, "attempts_ended", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            service_stats.read(service.store, ended)
    assert service_stats.read(service.store, ended).jobs[State.FAILED] == 1


def test_what_ended_lately_is_counted_without_reading_the_rest(service: Service) -> None:
    asked: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        if "finished_at >" in statement or "ended_at >" in statement:
            asked.append((statement, parameters))

    event.listen(service.store.engine, "before_cursor_execute", note)
    service_stats.read(service.store, EndedCounts())
    event.remove(service.store.engine, "before_cursor_execute", note)
    with service.store.engine.connect() as connection:
        plans = [str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {said}", given).all()) for said, given in asked]
    assert len(plans) == 2
    assert "ix_jobs_finished_at_state (finished_at>?)" in plans[0]
    assert "ix_attempts_ended_at_diagnosis (ended_at>?)" in plans[1]


def test_requests_are_counted_by_the_pattern_of_their_route(service: Service) -> None:
    job = service.job()
    for path in (f"/v1/jobs/{job}", "/v1/jobs/77", "/v1/jobs/78", "/nothing", "/healthz"):
        service.get(path)
    service.get("/v1/jobs", by=None)
    found = parse(service.get("/metrics").text)
    one = {"method": "GET", "route": "/v1/jobs/{job_id}"}
    assert value(found, "downshift_http_requests_total", **one, status="200") == 1
    assert value(found, "downshift_http_requests_total", **one, status="404") == 2
    assert value(found, "downshift_http_requests_total", method="GET", route="none", status="404") == 1
    assert value(found, "downshift_http_requests_total", method="GET", route="none", status="401") == 1
    assert value(found, "downshift_http_requests_total", method="GET", route="/healthz", status="200") == 1
    assert value(found, "downshift_http_request_seconds_count", **one) == 3
    assert value(found, "downshift_http_request_seconds_bucket", **one, le="+Inf") == 3


def test_a_histogram_counts_what_is_at_most_each_bound() -> None:
    times = Histogram([0.1, 1])
    for seconds in (0.1, 0.5, 7):
        times.add(seconds)
    found = parse(write([histogram("x", "Times.", [({"a": "b"}, times)])]))
    assert [value(found, "x_bucket", a="b", le=bound) for bound in ("0.1", "1", "+Inf")] == [1, 2, 3]
    assert (value(found, "x_sum", a="b"), value(found, "x_count", a="b")) == (pytest.approx(7.6), 3)


def test_names_that_people_gave_break_nothing() -> None:
    name = 'a"b\\c\nd'
    found = parse(write([Family.of("x", "gauge", "With\na line.", [({"device": name}, 1.5), ({}, None)])]))
    assert found == {("x", frozenset({("device", 'a\\"b\\\\c\\nd')})): 1.5}


def test_it_needs_a_token(service: Service) -> None:
    expect_problem(service.get("/metrics", by=None), 401)


def test_the_board_asks_for_numbers_that_there_are(busy: Service) -> None:
    busy.get("/v1/jobs")
    there = set(re.findall(r"^# TYPE (\S+)", busy.get("/metrics").text, re.MULTILINE))
    board = json.loads((ROOT / "docs" / "grafana.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    names = {name for expression in asked for name in re.findall(r"\bdownshift_[a-z_]+", expression)}
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in names} <= there
    assert len(names) > 10
    told = (ROOT / "docs" / "monitoring.md").read_text()
    assert all(name in told for name in there), [name for name in there if name not in told]


def test_a_request_keeps_the_name_that_a_proxy_gave_it(service: Service) -> None:
    assert service.get("/healthz", headers={"X-Request-ID": "proxy-17.abc_DEF"}).headers["x-request-id"] == (
        "proxy-17.abc_DEF"
    )
    for bad in ("short", "x" * 129, "with space 12345", "<script>alert(1)</script>"):
        assert service.get("/healthz", headers={"X-Request-ID": bad}).headers["x-request-id"] != bad
