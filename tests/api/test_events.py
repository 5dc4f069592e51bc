"""The stream of a job's events."""

import json
from typing import Any

import pytest

from api.routes import events as route
from services.clock import utc_now
from services.domain.states import State
from services.store import events
from tests.api.service import Service, expect_problem


def parse(text: str) -> list[dict[str, Any]]:
    told = [block for block in text.split("\n\n") if "id: " in block]
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in told]
    for block in blocks:
        data = json.loads(block["data"])
        assert (str(data["id"]), data["kind"]) == (block["id"], block["event"])
    return [json.loads(block["data"]) for block in blocks]


def test_a_job_that_has_ended_is_told_to_its_end(service_on_each: Service) -> None:
    job = service_on_each.job(attempts=2, state=State.SUCCEEDED)
    answer = service_on_each.get(f"/v1/jobs/{job}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [event["kind"] for event in parse(answer.text)] == ["submitted", "phase", "phase"]


def test_the_last_event_seen_is_where_it_goes_on(service: Service) -> None:
    job = service.job(attempts=2, state=State.SUCCEEDED)
    every = parse(service.get(f"/v1/jobs/{job}/events").text)
    rest = service.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": str(every[0]["id"])})
    assert parse(rest.text) == every[1:]


def test_more_than_one_batch_is_told_once_and_in_order(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "_BATCH", 7)
    job = service.job(state=State.CANCELLED)
    with service.store.transaction() as session:
        for number in range(20):
            events.add(session, job, "warning", utc_now(), message=f"a\nb {number}")
    told = parse(service.get(f"/v1/jobs/{job}/events").text)
    assert [event["data"]["message"] for event in told[1:]] == [f"a\nb {number}" for number in range(20)]


def test_what_happens_meanwhile_is_told_and_the_stream_has_an_end(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(route, "LONGEST_S", 0.3)
    monkeypatch.setattr(route, "KEEP_ALIVE_S", 0.05)
    job = service.job()
    answer = service.get(f"/v1/jobs/{job}/events")
    assert [event["kind"] for event in parse(answer.text)] == ["submitted"]
    assert ": still here" in answer.text


def test_wrong_questions_are_refused(service: Service) -> None:
    expect_problem(service.get("/v1/jobs/99/events"), 404)
    job = service.job()
    expect_problem(service.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": "x"}), 422)


def test_there_is_a_limit_of_streams(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "_MOST_STREAMS", 0)
    expect_problem(service.get(f"/v1/jobs/{service.job()}/events"), 429)
