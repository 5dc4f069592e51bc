"""Webhooks notify owners of their jobs: after the commit, signed, with retries, and nobody else."""

import dataclasses
import datetime
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from services.domain.contract import Reason
from services.domain.jobs.states import State
from services.domain.webhooks import signing
from services.errors import Conflict, Invalid, NotFound, TooMany
from services.store.models import Delivery, Webhook
from services.users import directory
from services.users.principal import Principal
from services.webhooks import delivery as deliveries
from services.webhooks import subscriptions
from services.webhooks.delivery import DueMessage
from tests.support.desk import GB, Desk, ago
from tests.support.receiver import Receiver, receiving, verify
from worker import webhook_sender as sending

ALL = ["job.succeeded", "job.failed", "job.replanned"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def open_desk(desk: Desk) -> Desk:
    """A desk that allows webhooks to this machine."""
    desk.settings = dataclasses.replace(desk.settings, webhook_private=True)
    desk.slots(4000)
    return desk


def hook(desk: Desk, url: str, kinds: list[str] = ALL, by: Principal | None = None) -> tuple[int, str]:
    made = subscriptions.create(desk.store, desk.settings, by or desk.owner, url, kinds)
    assert made.secret is not None
    return made.body["id"], made.secret


def deliver(desk: Desk) -> int:
    """Send all due messages, and return their number."""
    total = 0
    while True:
        with sending.SendPool(desk.store, desk.settings) as pool:
            taken = pool.send_due()
        if not taken:
            return total
        total += taken


def sent(desk: Desk) -> Delivery:
    [delivery] = desk.rows(Delivery)
    return delivery


def test_the_specifications_example_gets_its_documented_signature() -> None:
    made = signing.headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert made["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_job_that_succeeds_is_reported_to_its_owner(open_desk: Desk, receiver: Receiver) -> None:
    _, secret = hook(open_desk, receiver.url())
    hook(open_desk, f"{receiver.url()}&other=1", by=open_desk.user("other"))
    claim = open_desk.claimed()
    assert deliver(open_desk) == 0
    open_desk.end(claim, Reason.COMPLETED)
    assert deliver(open_desk) == 1
    [(headers, body)] = receiver.got
    verify(secret, headers, body)
    assert headers["content-type"] == "application/json"
    assert receiver.paths == ["/hook?team=1"]
    message = json.loads(body)
    assert message["type"] == "job.succeeded"
    assert datetime.datetime.fromisoformat(message["timestamp"]) > ago(60)
    assert message["data"]["job"]["id"] == claim.job_id
    assert (message["data"]["job"]["state"], message["data"]["job"]["owner"]) == ("succeeded", "owner")
    assert deliver(open_desk) == 0  # each message is sent once
    kept = sent(open_desk)
    assert (kept.tries, kept.next_at, kept.status, kept.error) == (1, None, 200, None)
    assert kept.sent_at is not None


def test_a_new_plan_is_reported_with_its_changes_and_reasons(open_desk: Desk, receiver: Receiver) -> None:
    hook(open_desk, receiver.url())
    claim = open_desk.claimed()
    open_desk.ran_out(claim, 3 * GB)
    deliver(open_desk)
    [message] = receiver.messages()
    assert message["type"] == "job.replanned"
    assert message["data"]["attempt"] == 1
    assert message["data"]["diagnosis"] == "too_large"
    assert message["data"]["plan"] == open_desk.job(claim.job_id).plan
    assert all(change["reason"] for change in message["data"]["changes"])


def test_a_failure_is_reported_even_if_the_job_never_started(open_desk: Desk, receiver: Receiver) -> None:
    hook(open_desk, receiver.url())
    open_desk.end(open_desk.claimed(), Reason.BAD_CONFIG)
    open_desk.slots(500_000)
    job = open_desk.submit(policy={"levers": [], "plan_ahead": True}, image_size=[1536, 1536])
    open_desk.slots(1000)  # the large device was removed
    assert open_desk.claim() is None
    assert open_desk.job(job).state == State.FAILED
    deliver(open_desk)
    assert sorted(message["data"]["job"]["id"] for message in receiver.messages()) == [job - 1, job]
    assert {message["type"] for message in receiver.messages()} == {"job.failed"}
    assert all(message["data"]["job"]["reason"] for message in receiver.messages())


def test_only_the_wanted_kinds_are_sent(open_desk: Desk, receiver: Receiver) -> None:
    hook(open_desk, receiver.url(), ["job.failed"])
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    assert deliver(open_desk) == 0


def test_a_rolled_back_change_is_not_reported(open_desk: Desk, receiver: Receiver) -> None:
    """The message is written in the job's transaction."""
    hook(open_desk, receiver.url())
    claim = open_desk.claimed()
    open_desk.set("leases", token="'another'")
    open_desk.end(claim, Reason.COMPLETED)
    assert open_desk.rows(Delivery) == []


def make_due(desk: Desk) -> None:
    desk.set("deliveries", "next_at IS NOT NULL", next_at=ago(1))


def test_a_failed_message_is_sent_again_with_growing_delays(open_desk: Desk, receiver: Receiver) -> None:
    _, secret = hook(open_desk, receiver.url())
    receiver.status = 500
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    waits = []
    for tries in range(1, len(signing.RETRIES_S) + 1):
        assert deliver(open_desk) == 1
        kept = sent(open_desk)
        assert (kept.tries, kept.status, kept.error) == (tries, 500, "it answered 500")
        assert kept.next_at is not None
        waits.append((kept.next_at - ago(0)).total_seconds())
        assert deliver(open_desk) == 0  # not yet
        make_due(open_desk)
    assert waits == sorted(waits)
    assert waits[0] < 10
    assert waits[-1] > 12 * 3600
    receiver.status = 204
    assert deliver(open_desk) == 1
    assert sent(open_desk).sent_at is not None
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert len({body for _, body in receiver.got}) == 1
    for headers, body in receiver.got:
        verify(secret, headers, body)
    [webhook] = open_desk.rows(Webhook)
    assert webhook.failing_since is None


def test_after_the_last_try_a_message_is_given_up(open_desk: Desk, receiver: Receiver) -> None:
    hook(open_desk, receiver.url())
    receiver.status = 500
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    open_desk.set("deliveries", tries=len(signing.RETRIES_S))
    assert deliver(open_desk) == 1
    assert (sent(open_desk).next_at, sent(open_desk).sent_at) == (None, None)


def test_redirects_are_not_followed(open_desk: Desk, receiver: Receiver) -> None:
    hook(open_desk, receiver.url())
    receiver.status, receiver.headers = 302, {"Location": receiver.url().replace("hook", "elsewhere")}
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    deliver(open_desk)
    assert receiver.paths == ["/hook?team=1"]
    assert sent(open_desk).status == 302
    assert sent(open_desk).next_at is not None


def test_a_slow_receiver_times_out(open_desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_TIMEOUT_S", 0.2)
    hook(open_desk, receiver.url())
    receiver.delay_s = 1.0
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    deliver(open_desk)
    assert sent(open_desk).status is None
    assert sent(open_desk).next_at is not None


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_silent_receiver_is_disconnected_even_during_the_handshake(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_TIMEOUT_S", 600.0)  # the limit of a single read, not of the whole request
    secret = signing.new_secret()
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"{scheme}://127.0.0.1:{server.getsockname()[1]}/"
        message = DueMessage(1, 1, 1, url, secret, "msg_1", b"{}")
        sender, ends = sending.Sender(url, allow_private=True), list[Exception]()

        def post() -> None:
            try:
                sender.post(message)
            except (OSError, http.client.HTTPException) as error:
                ends.append(error)

        thread = threading.Thread(target=post)
        thread.start()
        connection, _ = server.accept()
        with connection:
            connection.recv(1)  # the client has started the handshake and waits
            sender.abort()
            thread.join(60)
        assert len(ends) == 1
        sender.close()


def test_an_unreachable_receiver_delays_no_other_message(open_desk: Desk, receiver: Receiver) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        hook(open_desk, f"http://127.0.0.1:{nobody.getsockname()[1]}/")
        hook(open_desk, receiver.url())
        open_desk.end(open_desk.claimed(), Reason.COMPLETED)
        assert deliver(open_desk) == 2
    assert len(receiver.got) == 1
    away, there = open_desk.rows(Delivery)
    assert "could not be reached" in (away.error or "")
    assert there.sent_at is not None


def test_one_users_messages_do_not_block_those_of_others(open_desk: Desk) -> None:
    other = open_desk.user("other")
    theirs, _ = hook(open_desk, "http://127.0.0.1/", by=other)
    own, _ = hook(open_desk, "http://127.0.0.1/")
    for _ in range(150):  # more than are read at once
        subscriptions.send_test(open_desk.store, other, theirs)
    subscriptions.send_test(open_desk.store, open_desk.owner, own)
    first = deliveries.claim_due(open_desk.store, 8, 2)
    assert [message.webhook_id for message in first] == [theirs] * 2
    assert [message.webhook_id for message in deliveries.claim_due(open_desk.store, 6, 2, {other.user_id: 0})] == [own]
    assert len(deliveries.claim_due(open_desk.store, 6, 2, {other.user_id: 1})) == 1
    assert len(deliveries.claim_due(open_desk.store, 1, 2)) == 1


def test_two_workers_do_not_send_the_same_message(open_desk: Desk, receiver: Receiver) -> None:
    hook(open_desk, receiver.url())
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    assert len(deliveries.claim_due(open_desk.store, 10, 2)) == 1
    assert deliveries.claim_due(open_desk.store, 10, 2) == []
    make_due(open_desk)  # as if the first worker died while sending
    assert deliver(open_desk) == 1


def test_a_webhook_that_is_gone_or_fails_for_days_is_disabled(open_desk: Desk, receiver: Receiver) -> None:
    number, _ = hook(open_desk, receiver.url())
    receiver.status = 410
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    deliver(open_desk)
    shown = subscriptions.show(open_desk.store, open_desk.owner, number)
    assert "410" in shown["disabled_reason"]
    make_due(open_desk)
    assert deliver(open_desk) == 0
    with pytest.raises(Conflict):
        subscriptions.send_test(open_desk.store, open_desk.owner, number)

    subscriptions.update(open_desk.store, open_desk.settings, open_desk.owner, number, {"disabled": False}, None)
    receiver.status = 500
    subscriptions.send_test(open_desk.store, open_desk.owner, number)
    deliver(open_desk)
    assert subscriptions.show(open_desk.store, open_desk.owner, number)["disabled_at"] is None
    open_desk.set("webhooks", failing_since=ago(6 * 86_400))
    make_due(open_desk)
    deliver(open_desk)
    assert "5 days" in subscriptions.show(open_desk.store, open_desk.owner, number)["disabled_reason"]
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    assert len(receiver.messages()) == 3


# Where it leads


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]:8080/",
        "http://[::ffff:127.0.0.1]/",
        "https://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://user:secret@hooks.example/",
        "ftp://hooks.example/",
        "http://",
        "http://hooks.example:99999/",
        "http://[::1",
    ],
)
def test_a_private_or_invalid_url_is_refused_at_once(desk: Desk, url: str) -> None:
    with pytest.raises(Invalid):
        hook(desk, url)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("localhost", None),
        ("127.1", None),
        ("2130706433", None),
        ("0x7f000001", None),
        ("rebound.example", "127.0.0.1"),
        ("rebound.example", "::ffff:127.0.0.1"),
        ("rebound.example", "::1"),
        ("rebound.example", "10.1.2.3"),
    ],
)
def test_a_host_name_with_a_private_address_is_not_called(
    desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, host: str, address: str | None
) -> None:
    number, _ = hook(desk, f"http://{host}:{receiver.server.server_port}/")
    subscriptions.send_test(desk.store, desk.owner, number)
    [message] = deliveries.claim_due(desk.store, 1, 2)
    # From here on, only the sender runs, and any connection would fail the test.
    if address is not None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        answer = [(family, socket.SOCK_STREAM, 6, "", (address, receiver.server.server_port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: answer)
    called: list[Any] = []
    monkeypatch.setattr(socket, "create_connection", lambda *args: called.append(args))
    result = sending.send(message, allow_private=False)
    assert (result.status, called, receiver.got) == (None, [], [])
    assert "private address" in (result.error or "")


def test_the_connection_goes_to_the_address_that_was_checked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host name that is resolved twice can give two addresses."""
    number, _ = hook(desk, "http://hooks.example/")
    subscriptions.send_test(desk.store, desk.owner, number)
    [message] = deliveries.claim_due(desk.store, 1, 2)
    looked_up, called = [], []

    def look_up(host: str, *args: Any, **options: Any) -> Any:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80))]

    def connect(address: Any, *args: Any) -> Any:
        called.append(address)
        raise ConnectionRefusedError("closed")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", connect)
    result = sending.send(message, allow_private=False)
    assert (looked_up, called) == (["hooks.example"], [("93.184.215.14", 80)])
    assert "could not be reached: closed" in (result.error or "")


# Whose they are


def test_nothing_is_sent_to_webhooks_of_a_disabled_user(open_desk: Desk, receiver: Receiver) -> None:
    hook(open_desk, receiver.url())
    open_desk.end(open_desk.claimed(), Reason.COMPLETED)
    directory.change(open_desk.store, open_desk.admin, "owner", {"disabled": True})
    assert deliver(open_desk) == 0
    assert receiver.got == []
    assert (sent(open_desk).next_at, sent(open_desk).error) == (None, "the account of its owner was disabled")


def test_users_cannot_see_or_change_webhooks_of_others(desk: Desk) -> None:
    number, _ = hook(desk, "https://hooks.example/")
    other = desk.user("other")
    assert subscriptions.list_webhooks(desk.store, other) == []
    for act in (subscriptions.show, subscriptions.send_test, subscriptions.remove):
        with pytest.raises(NotFound):
            act(desk.store, other, number)
    with pytest.raises(NotFound):
        subscriptions.update(desk.store, desk.settings, other, number, {"disabled": True}, None)
    assert subscriptions.show(desk.store, desk.admin, number)["id"] == number
    subscriptions.remove(desk.store, desk.owner, number)
    assert subscriptions.list_webhooks(desk.store, desk.owner) == []


def test_a_user_cannot_exceed_the_limit_of_webhooks(desk: Desk) -> None:
    for _ in range(20):
        hook(desk, "https://hooks.example/")
    with pytest.raises(TooMany):
        hook(desk, "https://hooks.example/")


def test_removing_a_webhook_removes_its_unsent_messages(open_desk: Desk, receiver: Receiver) -> None:
    number, _ = hook(open_desk, receiver.url())
    subscriptions.send_test(open_desk.store, open_desk.owner, number)
    [message] = deliveries.claim_due(open_desk.store, 1, 2)
    subscriptions.remove(open_desk.store, open_desk.owner, number)
    deliveries.record_result(open_desk.store, message, deliveries.SendResult(200))  # ignored
    assert open_desk.rows(Delivery) == []
