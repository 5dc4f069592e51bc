"""Event streams of one job and of all jobs."""

import asyncio
import dataclasses
import datetime
import json
from typing import Any

import pytest

from api.routes import events as route
from api.sse import hub
from api.sse.hub import EventHub
from services.clock import utc_now
from services.domain.jobs.states import State
from services.domain.jobs.waiting import Holder, WaitedDevice, Waiting, WaitKind
from services.errors import TooMany
from services.events.live import Watch
from services.jobs import actions, transitions
from services.store import events
from services.store.models import Device, Job, Token
from services.users import directory, principal
from tests.support.api_service import Service, expect_problem
from tests.support.training.records import DEVICE


def parse(text: str) -> list[dict[str, Any]]:
    told = [block for block in text.split("\n\n") if "id: " in block]
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in told]
    for block in blocks:
        data = json.loads(block["data"])
        assert (str(data["id"]), data["kind"]) == (block["id"], block["event"])
    return [json.loads(block["data"]) for block in blocks]


def test_all_events_of_an_ended_job_are_sent(service_on_each: Service) -> None:
    job = service_on_each.job(attempts=2, state=State.SUCCEEDED)
    answer = service_on_each.get(f"/v1/jobs/{job}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [event["kind"] for event in parse(answer.text)] == ["submitted", "phase", "phase"]


def test_the_last_event_seen_is_where_it_goes_on(service: Service) -> None:
    job = service.job(attempts=2, state=State.SUCCEEDED)
    every = parse(service.get(f"/v1/jobs/{job}/events").text)
    rest = service.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": str(every[0]["id"])})
    assert parse(rest.text) == every[1:]


def test_more_than_one_page_of_events_is_sent_once_and_in_order(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "PAGE", 7)
    job = service.job(state=State.CANCELLED)
    with service.store.transaction() as session:
        for number in range(20):
            events.add(session, job, "warning", utc_now(), message=f"a\nb {number}")
    told = parse(service.get(f"/v1/jobs/{job}/events").text)
    assert [event["data"]["message"] for event in told[1:]] == [f"a\nb {number}" for number in range(20)]


def test_new_events_are_sent_and_the_stream_ends(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "POLL_EVERY_S", 0.01)
    monkeypatch.setattr(route, "MAX_STREAM_S", 0.3)
    monkeypatch.setattr(route, "KEEP_ALIVE_S", 0.05)
    job = service.job()
    answer = service.get(f"/v1/jobs/{job}/events")
    assert [event["kind"] for event in parse(answer.text)] == ["submitted"]
    assert ": keep-alive" in answer.text


def test_wrong_questions_are_refused(service: Service) -> None:
    expect_problem(service.get("/v1/jobs/99/events"), 404)
    job = service.job()
    expect_problem(service.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": "x"}), 422)


@pytest.mark.parametrize("path", ["/v1/events", "/v1/jobs/1/events"])
def test_there_is_a_limit_of_streams(service: Service, path: str) -> None:
    assert service.job() == 1
    service.app.state.event_hub = EventHub(service.store, dataclasses.replace(service.settings, max_streams=0))
    expect_problem(service.get(path), 429)


def test_an_ended_job_without_new_events_is_answered_with_204(service: Service) -> None:
    job = service.job(attempts=2, state=State.SUCCEEDED)
    last = parse(service.get(f"/v1/jobs/{job}/events").text)[-1]["id"]
    assert service.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": str(last)}).status_code == 204


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "MAX_STREAM_S", 0.01)


def kinds(text: str) -> list[str]:
    return [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ")]


@pytest.mark.usefixtures("_short")
def test_all_jobs_events_start_now_or_after_the_one_that_is_named(service: Service) -> None:
    for owner in ("anna", "bert"):
        service.job(owner)
    now = service.get("/v1/events").text
    assert now.startswith("retry: 2000\n\nid: 2\nevent: hello\n")
    [hello] = parse(now)
    assert hello["data"] == {"newest": 2}
    for options in ({"headers": {"Last-Event-ID": "1"}}, {"params": {"since": "1"}}):
        rest = service.get("/v1/events", **options).text
        assert kinds(rest)[:2] == ["hello", "submitted"]
        assert [event["id"] for event in parse(rest)] == [2]  # `hello` has no id here
    both = service.get("/v1/events?since=0", headers={"Last-Event-ID": "2"})
    assert parse(both.text) == []


@pytest.mark.usefixtures("_short")
def test_who_has_seen_a_number_that_never_was_or_missed_too_much_starts_anew(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        service.job()
    told = service.get("/v1/events", headers={"Last-Event-ID": "99"}).text
    assert kinds(told)[:2] == ["reset", "hello"]
    monkeypatch.setattr(route, "MAX_REPLAYED", 2)
    told = service.get("/v1/events", headers={"Last-Event-ID": "1"}).text
    assert kinds(told)[:2] == ["reset", "hello"]
    assert "reset" not in kinds(service.get("/v1/events", headers={"Last-Event-ID": "2"}).text)


@pytest.mark.usefixtures("_short")
def test_of_a_job_too_a_number_that_never_was_counts_for_nothing(service: Service) -> None:
    """The database was restored from a backup: new events have smaller ids than those already seen."""
    job = service.job(state=State.FAILED)
    told = service.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": "99"})
    assert (told.status_code, kinds(told.text)) == (200, ["submitted"])


def test_a_changed_reason_to_wait_is_sent(service_on_each: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service = service_on_each
    waits, _ = service.job("anna"), service.job("bert")
    watch = Watch(service.store, service.settings, live_every_s=0.0)
    watch.start()
    watch.poll()

    def wait_for(waiting: Waiting | None) -> None:
        with service.store.transaction() as session:
            transitions.note_waiting(session.get_one(Job, waits), waiting, utc_now())

    device = WaitedDevice("box/gpu-0", "GPU 0", 8192 * 2**20)
    memory = Waiting(WaitKind.FREE_MEMORY, device, Holder(), free_bytes=8100 * 2**20)
    for waiting in (memory, None):
        wait_for(waiting)
        with monkeypatch.context() as patch:  # the database fails in the middle of a poll
            patch.setattr(watch, "_devices", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                watch.poll()
        [event] = watch.poll()
        assert (event.kind, event.data["id"], event.id) == ("job", waits, None)
        assert event.data["reason"] == (waiting.sentence if waiting else None)
        assert (event.data["waiting_for"] or {}).get("kind") == (waiting.kind if waiting else None)
        assert watch.poll() == []
        if waiting:  # free memory changes all the time
            wait_for(dataclasses.replace(waiting, free_bytes=8000 * 2**20))
            assert watch.poll() == []


def test_events_of_a_failed_poll_are_sent_by_the_next(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(service.store, service.settings, live_every_s=0.0)
    watch.start()
    watch.poll()
    service.job()
    with monkeypatch.context() as patch:
        patch.setattr(watch, "_devices", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            watch.poll()
    assert [event.kind for event in watch.poll()] == ["submitted", "job", "queue"]


def test_with_private_jobs_users_get_only_their_own_queue_positions(service_on_each: Service) -> None:
    service = service_on_each
    object.__setattr__(service.settings, "private_jobs", True)
    annas, berts = service.job("anna"), service.job("bert")
    watch = Watch(service.store, service.settings, live_every_s=0.0)
    watch.start()

    def places() -> dict[int | None, dict[str, int]]:
        return {one.owner_id: one.data["positions"] for one in watch.poll() if one.kind == "queue"}

    anna, bert = (service.principals[name].user_id for name in ("anna", "bert"))
    more = service.job("bert")
    assert places() == {None: {}, anna: {str(annas): 1}, bert: {str(berts): 2, str(more): 3}}
    actions.cancel(service.store, service.principals["anna"], annas)
    assert places() == {None: {}, bert: {str(berts): 1, str(more): 2}}
    assert anna not in {one.owner_id for one in watch.current}


def test_disabling_or_limiting_a_user_changes_the_queue_and_is_sent(service_on_each: Service) -> None:
    service = service_on_each
    annas, berts = service.job("anna"), service.job("bert")
    watch = Watch(service.store, service.settings, live_every_s=0.0)
    watch.start()
    assert watch.poll() == []

    def told(**change: Any) -> tuple[dict[str, int], dict[int, str | None]]:
        directory.change(service.store, service.principals["admin"], "anna", change)
        found = watch.poll()
        [queue] = [one.data["positions"] for one in found if one.kind == "queue"]
        return queue, {one.data["id"]: one.data["reason"] for one in found if one.kind == "job"}

    places, reasons = told(disabled=True)
    assert places == {str(berts): 1, str(annas): 2}
    assert list(reasons) == [annas]
    assert "disabled" in (reasons[annas] or "")
    assert told(disabled=False) == ({str(annas): 1, str(berts): 2}, {annas: None})
    assert told(limits={"max_running": 0})[0] == {str(berts): 1, str(annas): 2}
    assert watch.poll() == []


def test_the_last_report_of_a_device_is_sent_once_it_is_absent(service: Service) -> None:
    service.device()
    watch = Watch(service.store, service.settings, live_every_s=0.0)
    watch.start()
    [there] = watch.poll()
    assert "seen_at" not in there.data
    with service.store.transaction() as session:
        session.get_one(Device, DEVICE).seen_at = utc_now() - datetime.timedelta(hours=2)
    [away] = watch.poll()
    assert (away.data["is_present"], away.masked) == (False, away.data)
    assert away.data["seen_at"] == service.get("/v1/devices").json()["items"][0]["seen_at"]
    assert watch.poll() == []


def test_nobody_takes_all_streams(service: Service) -> None:
    async def joined(event_hub: EventHub) -> None:
        bert, anna = service.principals["bert"], service.principals["anna"]
        members = [await event_hub.subscribe(anna) for _ in range(2)]
        with pytest.raises(TooMany, match="you already have 2 of 2 event streams open"):
            await event_hub.subscribe(anna)
        members.append(await event_hub.subscribe(bert))
        for member in members:
            event_hub.unsubscribe(member)

    asyncio.run(joined(EventHub(service.store, dataclasses.replace(service.settings, max_streams=8))))


def test_a_stream_does_not_outlive_its_token(service: Service) -> None:
    made = service.post("/v1/tokens", json={"name": "short", "expires_in_days": 1}).json()["token"]
    with service.store.transaction() as session:
        token = session.get(Token, principal.authenticate(service.store, made).token_id)
        assert token is not None
        token.expires_at = utc_now() + datetime.timedelta(seconds=0.5)
    assert "hello" in service.get("/v1/events", by=made).text  # the stream ends
