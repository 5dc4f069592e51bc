"""Webhooks from the real worker to real receivers, over HTTP and TLS."""

import datetime
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.clock import utc_now
from services.domain.jobs.states import State
from services.domain.webhooks.signing import new_secret
from services.store.engine import Store
from services.store.models import Delivery
from services.webhooks import subscriptions
from services.webhooks.delivery import DueMessage
from tests.faults.fault_box import FaultBox
from tests.support.box import FAKE_TRAINER
from tests.support.certificates import Authority
from tests.support.receiver import Receiver, receiving, verify
from worker import webhook_sender as sending

ALL = ["job.succeeded", "job.failed", "job.replanned"]


@pytest.fixture
def box(tmp_path: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultBox]:
    made = FaultBox(
        tmp_path / "home", sqlite_store, monkeypatch, trainer=FAKE_TRAINER, webhook_private=True, poll_s=0.2
    )
    yield made
    made.close()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def hook(box: FaultBox, url: str, kinds: list[str] = ALL, by: Any = None) -> tuple[int, str]:
    made = subscriptions.create(box.store, box.settings, by or box.owner, url, kinds)
    assert made.secret is not None
    return made.body["id"], made.secret


def sent(box: FaultBox, webhook_id: int) -> list[Delivery]:
    with box.store.reading() as session:
        return list(session.query(Delivery).filter_by(webhook_id=webhook_id).order_by(Delivery.id))


def test_each_owner_gets_their_messages_and_a_slow_receiver_delays_no_other(
    box: FaultBox, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    other = box.user("other")
    with (
        receiving(authority.certificate("localhost")) as good,
        receiving() as redirecting,
        receiving() as slow,
        receiving() as elsewhere,
    ):
        good.statuses, slow.delay_s = [500], 5.0
        redirecting.status, redirecting.headers = 307, {"Location": elsewhere.url()}
        webhook, secret = hook(box, good.url("localhost"))
        redirected, _ = hook(box, redirecting.url(), ["job.failed"])
        for _ in range(10):  # more than are sent at once
            slow_webhook, _ = hook(box, slow.url(), by=other)
            subscriptions.send_test(box.store, other, slow_webhook)
        box.start_worker()
        box.until("the slow one", lambda: slow.all)

        box.behave(need_mb_per_image=400)
        large = {"train": {"steps": 3, "batch_size": 8}, "policy": {"plan_ahead": False}}
        shrinks = box.submit(**large)
        fails = box.submit(**{**large, "policy": {"plan_ahead": False, "levers": ["image_size"]}})
        [shrunk, failed] = box.until_final(shrinks, fails)
        assert (shrunk.state, failed.state) == (State.SUCCEEDED, State.FAILED)
        box.until("every message", lambda: all(delivery.sent_at for delivery in sent(box, webhook)))
        box.until("the redirect", lambda: sent(box, redirected)[0].tries)

    arrived = {got.headers["webhook-id"]: got for got in good.all}
    assert len(good.all) == len(arrived) + 1  # the message that was answered with 500 was repeated
    assert good.all[0].headers["webhook-id"] in [got.headers["webhook-id"] for got in good.all[1:]]
    kinds = sorted((got.message["type"], got.message["data"]["job"]["id"]) for got in arrived.values())
    assert kinds[0] == ("job.failed", fails)
    assert kinds[-1] == ("job.succeeded", shrinks)
    assert set(kinds[1:-1]) == {("job.replanned", shrinks)}
    for got in good.all:
        verify(secret, got.headers, got.body)
    assert set(good.asked_for) == {"localhost"}
    assert slow.most_at_once <= 2  # slow messages of one user wait for each other only
    assert sent(box, redirected)[0].status == 307
    assert elsewhere.all == []


def test_a_worker_that_is_killed_while_sending_loses_no_message(box: FaultBox) -> None:
    with receiving() as receiver:
        number, secret = hook(box, receiver.url())
        subscriptions.send_test(box.store, box.owner, number)  # while no worker runs
        receiver.delay_s = 8.0
        first = box.start_worker()
        box.until("the first try", lambda: receiver.all)
        box.kill(first)
        receiver.delay_s = 0.0
        [delivery] = sent(box, number)
        assert (delivery.sent_at, delivery.tries) == (None, 0)
        assert delivery.next_at is not None
        assert utc_now() < delivery.next_at < utc_now() + datetime.timedelta(minutes=2)
        with box.store.transaction() as session:  # two minutes later
            session.query(Delivery).update({"next_at": utc_now()})
        box.start_worker()
        box.until("the second try", lambda: sent(box, number)[0].sent_at)
    assert [got.headers["webhook-id"] for got in receiver.all] == [delivery.message_id] * 2
    for got in receiver.all:
        verify(secret, got.headers, got.body)


class TestOverTls:
    """The connection goes to the address that was checked, but the certificate must be valid for the host name."""

    NAME = "hooks.test"

    @pytest.fixture(autouse=True)
    def _resolves_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = socket.getaddrinfo

        def resolve(host: str, *rest: Any, **options: Any) -> Any:
            return real("127.0.0.1" if host == self.NAME else host, *rest, **options)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)

    def post(self, receiver: Receiver, host: str = NAME) -> Any:
        secret = new_secret()
        answer = sending.send(DueMessage(1, 1, 1, receiver.url(host), secret, "msg_1", b"{}"), allow_private=True)
        for got in receiver.all:
            verify(secret, got.headers, got.body)
        return answer

    def test_a_certificate_of_an_untrusted_authority_is_refused(self, authority: Authority) -> None:
        with receiving(authority.certificate(self.NAME)) as receiver:
            answer = self.post(receiver)
        assert answer.status is None
        assert "certificate verify failed" in answer.error
        assert receiver.all == []

    @pytest.fixture
    def trusted(self, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        return authority

    @pytest.mark.parametrize(("host", "asked_for"), [(NAME, NAME), ("127.0.0.1", None)])
    def test_the_host_name_is_sent_and_its_certificate_is_accepted(
        self, trusted: Authority, host: str, asked_for: str | None
    ) -> None:
        with receiving(trusted.certificate(host)) as receiver:
            answer = self.post(receiver, host)
        assert (answer.status, answer.error) == (200, None)
        assert receiver.asked_for == [asked_for]
        assert receiver.all[0].headers["host"] == f"{host}:{receiver.port}"

    @pytest.mark.parametrize(
        ("certified", "last_day", "problem"),
        [
            ("other.test", 1, "Hostname mismatch"),
            ("127.0.0.1", 1, "Hostname mismatch"),  # valid for the address, but not for the host name
            (NAME, -1, "certificate has expired"),
        ],
    )
    def test_a_certificate_of_another_host_or_an_expired_one_is_refused(
        self, trusted: Authority, certified: str, last_day: int, problem: str
    ) -> None:
        with receiving(trusted.certificate(certified, last_day)) as receiver:
            answer = self.post(receiver)
        assert answer.status is None
        assert problem in answer.error
        assert receiver.all == []
