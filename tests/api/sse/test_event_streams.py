"""Event streams behind a real server: many, interrupted and slow ones, while the database changes."""

import asyncio
import contextlib
import random
import socket
import threading
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

import pytest

from api.sse import hub
from api.sse.hub import EventHub
from services.clock import utc_now
from services.devices import reports
from services.domain.jobs.states import State
from services.events.live import LiveEvent, Watch
from services.jobs import actions
from services.store import events, jobs
from services.store.models import Job
from services.users import directory, principal, sessions, tokens
from services.users.principal import Role
from tests.support.api_server import Message, Server, bearer, cookie, following, listening, serving, until
from tests.support.api_service import Service
from tests.support.counting import counted
from tests.support.desk import GB, gpu


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "POLL_EVERY_S", 0.02)
    monkeypatch.setattr(hub, "LIVE_EVERY_S", 0.05)
    monkeypatch.setattr(hub, "RECHECK_EVERY_S", 0.1)


def warn(service: Service, job: int, message: str) -> None:
    with service.store.transaction() as session:
        assert jobs.lock(session, job) is not None
        events.add(session, job, "warning", utc_now(), message=message)


async def warned(heard: AsyncIterator[Message], last: str) -> list[Message]:
    """The warnings up to the one with the message `last`."""
    told = []
    async for message in heard:
        if message.event == "warning":
            told.append(message)
            if message.content["message"] == last:
                return told
    raise AssertionError(f"the stream ended before {last!r}; it had told {told}")


async def first(heard: AsyncIterator[Message], kind: str) -> Message:
    async for message in heard:
        if message.event == kind:
            return message
    raise AssertionError(f"the stream ended without {kind}")


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_fifty_listeners_cost_what_one_costs(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    job = service.job(state=State.RUNNING, attempts=1)
    polls = [0]
    real = Watch.poll

    def poll(watch: Watch) -> object:
        polls[0] += 1
        return real(watch)

    monkeypatch.setattr(Watch, "poll", poll)

    async def cost(address: str, listeners: int) -> float:
        async with contextlib.AsyncExitStack() as stack:
            heard = [
                await stack.enter_async_context(listening(address, service.tokens["vera"])) for _ in range(listeners)
            ]
            for one in heard:
                await first(one, "hello")
            begun = polls[0]
            with counted(service.store) as asked:
                await until(lambda: polls[0] >= begun + 30)
                done = polls[0] - begun
            warn(service, job, "all hear it")
            for one in heard:
                await warned(one, "all hear it")
        return len(asked) / done

    with serving(service.app) as address:
        alone, together = asyncio.run(cost(address, 1)), asyncio.run(cost(address, 50))
    assert alone <= 5
    assert together <= 5.2  # the first of the thirty polls may have been under way


def test_nobody_listens_and_nothing_is_asked(service: Service) -> None:
    async def visit(address: str) -> None:
        async with listening(address, service.tokens["vera"]) as heard:
            await first(heard, "hello")
        event_hub: EventHub = service.app.state.event_hub
        await until(lambda: event_hub.open_streams == 0)
        await asyncio.sleep(0.1)  # a poll may be under way
        with counted(service.store) as asked:
            await asyncio.sleep(0.3)
        assert asked == []

    with serving(service.app) as address:
        asyncio.run(visit(address))


def test_a_stream_that_breaks_repeatedly_sends_every_event_once(service_on_each: Service) -> None:
    service = service_on_each
    number = [service.job(), service.job("bert")]
    count, rng = 300, random.Random(7)

    def work() -> None:
        for index in range(count):
            warn(service, number[index % 2], str(index))

    async def listen(address: str) -> list[Message]:
        told: list[Message] = []
        async with listening(address, service.tokens["vera"]) as heard:
            last = (await first(heard, "hello")).id
        writer = in_thread(work)
        while not told or told[-1].content["message"] != str(count - 1):
            left = rng.randint(0, 25)
            async with listening(address, service.tokens["vera"], last=last) as heard:
                async for message in heard:
                    last = last if message.id is None else message.id
                    if message.event == "warning":
                        told.append(message)
                        left -= 1
                        if left <= 0 or message.content["message"] == str(count - 1):
                            break
        writer.join()
        return told

    with serving(service.app) as address:
        told = asyncio.run(listen(address))
    assert [message.content["message"] for message in told] == [str(index) for index in range(count)]
    ids = [message.id for message in told if message.id is not None]
    assert len(ids) == count
    assert ids == sorted(set(ids))


def test_events_missed_while_no_stream_was_open_are_read_from_the_database(service: Service) -> None:
    job = service.job()

    async def listen(address: str) -> None:
        async with listening(address, service.tokens["vera"]) as heard:
            last = (await first(heard, "hello")).id
        await until(lambda: service.app.state.event_hub.open_streams == 0)
        with service.store.transaction() as session:
            for index in range(1200):
                events.add(session, job, "warning", utc_now(), message=str(index))
        async with listening(address, service.tokens["vera"], last=last) as heard:
            told = await warned(heard, "1199")
        assert [message.content["message"] for message in told] == [str(index) for index in range(1200)]

    with serving(service.app) as address:
        asyncio.run(listen(address))


def test_events_committed_out_of_order_are_sent_in_order(service_on_postgresql: Service) -> None:
    service = service_on_postgresql
    one, two = service.job(), service.job()

    async def listen(address: str) -> None:
        async with listening(address, service.tokens["vera"]) as heard:
            await first(heard, "hello")
            with service.store.transaction() as slow:
                jobs.lock(slow, one)
                events.add(slow, one, "warning", utc_now(), message="first")
                slow.flush()
                await asyncio.to_thread(warn, service, two, "second")
                async with listening(address, service.tokens["vera"]) as late:
                    hello = asyncio.create_task(first(late, "hello"))
                    await asyncio.sleep(0.3)  # many polls
            told = await warned(heard, "second")
            assert [message.content["message"] for message in told] == ["first", "second"]
            await hello

    with serving(service.app) as address:
        asyncio.run(listen(address))


def test_a_listener_that_does_not_read_is_cut_off(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MAX_QUEUED", 5)
    job = service.job()
    event_hub: EventHub = service.app.state.event_hub
    with serving(service.app) as address, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect((urlsplit(address).hostname, urlsplit(address).port))
        request = (
            f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.tokens['vera']}\r\n\r\n"
        )
        deaf.sendall(request.encode())
        asyncio.run(until(lambda: event_hub.open_streams == 1))

        def tell() -> bool:
            warn(service, job, "x" * 500_000)
            return event_hub.open_streams == 0

        asyncio.run(until(tell))


def test_told_to_stop_the_server_ends_its_streams_at_once(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    job = service.job()
    server = Server(service.app)
    address = server.start()

    async def listen() -> list[str]:
        async with (
            listening(address, service.tokens["vera"]) as all_jobs,
            listening(address, service.tokens["vera"], f"/v1/jobs/{job}/events") as one_job,
        ):
            await first(all_jobs, "hello")
            await first(one_job, "submitted")
            service.app.state.event_hub.close()
            stopping = in_thread(server.stop)
            rest = [message.event async for message in all_jobs] + [message.event async for message in one_job]
            stopping.join()
            return rest

    assert set(asyncio.run(listen())) <= {"progress", "queue", "device", "job"}
    assert "timeout graceful shutdown exceeded" not in caplog.text


def test_progress_is_sent_live_and_not_stored(service: Service) -> None:
    job = service.job(state=State.RUNNING, attempts=1)

    async def listen(address: str) -> None:
        async with listening(address, service.tokens["vera"]) as heard:
            await first(heard, "hello")
            assert (await first(heard, "progress")).content["step"] == 40
            with service.store.transaction() as session:
                row = session.get(Job, job)
                assert row is not None
                row.step = 41
            message = await first(heard, "progress")
            assert (message.id, message.data["job"], message.data["attempt"]) == (None, job, 1)
            assert message.content["step"] == 41
            assert message.content["eta_s"] == (100 - 41) * 0.5
            async with listening(address, service.tokens["vera"]) as later:
                assert (await first(later, "progress")).content["step"] == 41  # the current state

    with serving(service.app) as address:
        asyncio.run(listen(address))


def test_jobs_the_queue_and_devices_are_sent_in_their_current_state(service: Service) -> None:
    async def listen(address: str) -> None:
        async with listening(address, service.tokens["vera"]) as heard:
            await first(heard, "hello")
            reports.report(service.store, "box", [gpu(0, 24 * GB, 20 * GB)])
            device = (await first(heard, "device")).content
            assert (device["id"], device["free_bytes"], device["job"]) == ("box/gpu-0", 20 * GB, None)
            job = await asyncio.to_thread(service.job)
            submitted = await first(heard, "submitted")
            assert submitted.data["job"] == job
            shown = (await first(heard, "job")).content
            assert shown == service.get(f"/v1/jobs/{job}").json() | {"links": shown["links"]}
            queue = (await first(heard, "queue")).content
            assert queue == {
                "queued": 1,
                "running": 0,
                "paused": 0,
                "positions": {str(job): 1},
                "expected_start_s": {str(job): 0},
            }
            actions.cancel(service.store, service.principals["anna"], job)
            assert (await first(heard, "state")).content["state"] == "cancelled"
            assert (await first(heard, "job")).content["state"] == "cancelled"
            assert (await first(heard, "queue")).content["positions"] == {}
            reports.report(service.store, "box", [])
            assert (await first(heard, "device")).content == {"id": "box/gpu-0", "is_gone": True}

    with serving(service.app) as address:
        asyncio.run(listen(address))


def test_a_job_s_stream_ends_with_the_job(service: Service) -> None:
    job, other = service.job(), service.job()

    async def listen(address: str) -> list[Message]:
        async with listening(address, service.tokens["vera"], f"/v1/jobs/{job}/events") as heard:
            await first(heard, "submitted")
            await asyncio.to_thread(warn, service, other, "not this one's")
            await asyncio.to_thread(actions.cancel, service.store, service.principals["anna"], job)
            return [message async for message in heard]

    with serving(service.app) as address:
        told = asyncio.run(listen(address))
    assert [message.event for message in told if message.id] == ["state"]


def test_a_job_s_stream_goes_on_whatever_ended_before(service: Service) -> None:
    """Replayed from memory: another stream has been open since before the first event."""

    async def listen(address: str) -> None:
        async with listening(address, service.tokens["vera"]) as all_jobs:
            await first(all_jobs, "hello")
            job, other = [await asyncio.to_thread(service.job) for _ in range(2)]
            async with listening(address, service.tokens["vera"], f"/v1/jobs/{job}/events") as heard:
                last = (await first(heard, "submitted")).id
            await asyncio.to_thread(actions.cancel, service.store, service.principals["anna"], other)
            await first(all_jobs, "state")
            for seen in (None, last):
                async with listening(address, service.tokens["vera"], f"/v1/jobs/{job}/events", seen) as heard:
                    await asyncio.to_thread(warn, service, job, f"after {seen}")
                    told = await warned(heard, f"after {seen}")
                    assert {message.data["job"] for message in told} == {job}

    with serving(service.app) as address:
        asyncio.run(listen(address))


def test_events_of_hidden_jobs_are_not_sent(service: Service) -> None:
    anna = service.principals["anna"].user_id
    object.__setattr__(service.settings, "private_jobs", True)
    theirs, own = service.job("anna"), service.job("bert")

    async def listen(address: str) -> None:
        async with listening(address, service.tokens["bert"]) as heard:
            last = (await first(heard, "hello")).id
            warn(service, theirs, "not for bert")
            warn(service, own, "for bert")
            assert len(await warned(heard, "for bert")) == 1
        for again in ("from memory", "from the database"):
            async with listening(address, service.tokens["bert"], last=last) as heard:
                assert len(await warned(heard, "for bert")) == 1, again
            await until(lambda: service.app.state.event_hub.open_streams == 0)
        with service.store.transaction() as session:
            row = session.get(Job, theirs)
            assert row is not None
            assert row.owner_id == anna
            row.state, row.attempts = State.RUNNING, 1
        service.attempt(theirs, 1, runs=True)
        service.device(leased_to=theirs)
        async with listening(address, service.tokens["bert"]) as heard:
            assert (await first(heard, "device")).content["job"]["id"] is None
        async with listening(address, service.tokens["anna"]) as heard:
            assert (await first(heard, "device")).content["job"]["id"] == theirs

    with serving(service.app) as address:
        asyncio.run(listen(address))


def test_a_stream_ends_when_its_caller_loses_access(service_on_each: Service) -> None:
    service = service_on_each
    store, admin, anna = service.store, service.principals["admin"], service.principals["anna"]
    directory.change(store, admin, "anna", {"password": "correct horse battery"})
    revoked, other = service.token("anna"), service.token("bert")
    begun = sessions.log_in(store, "anna", "correct horse battery")
    with_token = sessions.log_in_with_token(store, service.tokens["vera"])
    as_admin = service.token("admin")
    ways: list[tuple[dict[str, str], Callable[[], object]]] = [
        (bearer(revoked), lambda: tokens.revoke(store, anna, tokens_of(service, revoked))),
        (cookie(begun.secret), lambda: sessions.log_out(store, begun.principal)),
        (cookie(with_token.secret), lambda: tokens.revoke(store, admin, service.principals["vera"].token_id or 0)),
        (bearer(service.tokens["anna"]), lambda: directory.change(store, admin, "anna", {"disabled": True})),
        (bearer(service.tokens["bert"]), lambda: directory.change(store, admin, "bert", {"role": Role.VIEWER})),
    ]

    async def listen(address: str) -> None:
        async with listening(address, as_admin) as stays:
            await first(stays, "hello")
            for headers, dismiss in ways:
                async with following(address, headers) as heard:
                    await first(heard, "hello")
                    await asyncio.to_thread(dismiss)
                    async with asyncio.timeout(10):
                        assert [message.event async for message in heard if message.id] == []
            job = await asyncio.to_thread(service.job, "admin")
            warn(service, job, "the others stay")
            await warned(stays, "the others stay")
        async with listening(address, other) as heard:
            await first(heard, "hello")

    with serving(service.app) as address:
        asyncio.run(listen(address))


def tokens_of(service: Service, secret: str) -> int:
    return principal.authenticate(service.store, secret).token_id or 0


def test_a_caller_without_access_gets_no_queued_messages(service: Service) -> None:
    """Queued messages are dropped, even while the stream is blocked."""
    member = hub.Subscription(service.principals["anna"], None)
    told = hub.Message.of(LiveEvent("warning", {}, utc_now()))
    for _ in range(hub.MAX_QUEUED):
        member.put(told)
    member.end()
    assert (member.queue.get_nowait(), member.queue.empty()) == (None, True)
    assert member.text(told) is None


def test_access_is_rechecked_once_for_all_streams(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "POLL_EVERY_S", 0.05)
    given = [service.token("anna") for _ in range(20)]

    async def listen(address: str) -> list[str]:
        async with contextlib.AsyncExitStack() as stack:
            for token in given:
                await stack.enter_async_context(listening(address, token))
            with counted(service.store) as asked:
                await asyncio.sleep(1)
        return [statement for statement in asked if "tokens" in statement]

    with serving(service.app) as address:
        about_tokens = asyncio.run(listen(address))
    assert 1 <= len(about_tokens) <= 11


def test_two_hundred_streams_at_once(service: Service) -> None:
    job = service.job()

    async def listen(address: str) -> None:
        async with contextlib.AsyncExitStack() as stack:
            heard = [await stack.enter_async_context(listening(address, service.tokens["vera"])) for _ in range(200)]
            for index in range(5):
                warn(service, job, str(index))
            for told in await asyncio.gather(*(warned(one, "4") for one in heard)):
                assert [message.content["message"] for message in told] == ["0", "1", "2", "3", "4"]

    with serving(service.app) as address:
        asyncio.run(listen(address))
