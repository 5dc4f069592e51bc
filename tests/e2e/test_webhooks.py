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
from services.webhooks.delivery import Parcel
from tests.faults.house import House
from tests.support.box import FAKE_TRAINER
from tests.support.certificates import Authority
from tests.support.receiver import Receiver, receiving, verify
from worker import webhook_sender as sending

ALL = ["job.succeeded", "job.failed", "job.replanned"]


@pytest.fixture
def house(tmp_path: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    made = House(tmp_path / "home", sqlite_store, monkeypatch, trainer=FAKE_TRAINER, webhook_private=True, poll_s=0.2)
    yield made
    made.close()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def hook(house: House, url: str, kinds: list[str] = ALL, by: Any = None) -> tuple[int, str]:
    made = subscriptions.create(house.store, house.settings, by or house.owner, url, kinds)
    assert made.secret is not None
    return made.body["id"], made.secret


def sent(house: House, webhook_id: int) -> list[Delivery]:
    with house.store.reading() as session:
        return list(session.query(Delivery).filter_by(webhook_id=webhook_id).order_by(Delivery.id))


def test_the_worker_tells_each_owner_and_no_receiver_holds_up_another(
    house: House, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    other = house.user("other")
    with (
        receiving(authority.certificate("localhost")) as good,
        receiving() as leads_on,
        receiving() as slow,
        receiving() as elsewhere,
    ):
        good.statuses, slow.delay_s = [500], 5.0
        leads_on.status, leads_on.headers = 307, {"Location": elsewhere.url()}
        told, secret = hook(house, good.url("localhost"))
        redirected, _ = hook(house, leads_on.url(), ["job.failed"])
        for _ in range(10):  # more than are sent at once
            waited_for, _ = hook(house, slow.url(), by=other)
            subscriptions.test(house.store, other, waited_for)
        house.start_worker()
        house.until("the slow one", lambda: slow.all)

        house.behave(need_mb_per_image=400)
        large = {"train": {"steps": 3, "batch_size": 8}, "policy": {"plan_ahead": False}}
        shrinks = house.submit(**large)
        fails = house.submit(**{**large, "policy": {"plan_ahead": False, "levers": ["image_size"]}})
        [shrunk, failed] = house.until_final(shrinks, fails)
        assert (shrunk.state, failed.state) == (State.SUCCEEDED, State.FAILED)
        house.until("every message", lambda: all(delivery.sent_at for delivery in sent(house, told)))
        house.until("the redirect", lambda: sent(house, redirected)[0].tries)

    arrived = {got.headers["webhook-id"]: got for got in good.all}
    assert len(good.all) == len(arrived) + 1  # the one that was answered with 500 came again, as the same
    assert good.all[0].headers["webhook-id"] in [got.headers["webhook-id"] for got in good.all[1:]]
    kinds = sorted((got.message["type"], got.message["data"]["job"]["id"]) for got in arrived.values())
    assert kinds[0] == ("job.failed", fails)
    assert kinds[-1] == ("job.succeeded", shrinks)
    assert set(kinds[1:-1]) == {("job.replanned", shrinks)}
    for got in good.all:
        verify(secret, got.headers, got.body)
    assert set(good.asked_for) == {"localhost"}
    assert slow.most_at_once <= 2  # they waited for each other, and nobody for them
    assert sent(house, redirected)[0].status == 307
    assert elsewhere.all == []


def test_a_worker_that_is_killed_in_the_middle_loses_no_message(house: House) -> None:
    with receiving() as receiver:
        number, secret = hook(house, receiver.url())
        subscriptions.test(house.store, house.owner, number)  # while no worker is there
        receiver.delay_s = 8.0
        first = house.start_worker()
        house.until("the first try", lambda: receiver.all)
        house.kill(first)
        receiver.delay_s = 0.0
        [delivery] = sent(house, number)
        assert (delivery.sent_at, delivery.tries) == (None, 0)
        assert delivery.next_at is not None
        assert utc_now() < delivery.next_at < utc_now() + datetime.timedelta(minutes=2)
        with house.store.transaction() as session:  # two minutes later
            session.query(Delivery).update({"next_at": utc_now()})
        house.start_worker()
        house.until("the second try", lambda: sent(house, number)[0].sent_at)
    assert [got.headers["webhook-id"] for got in receiver.all] == [delivery.message_id] * 2
    for got in receiver.all:
        verify(secret, got.headers, got.body)


class TestOverTls:
    """The connection goes to the address that was checked; the certificate must be the name's all the same."""

    NAME = "hooks.test"

    @pytest.fixture(autouse=True)
    def _leads_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = socket.getaddrinfo

        def resolve(host: str, *rest: Any, **options: Any) -> Any:
            return real("127.0.0.1" if host == self.NAME else host, *rest, **options)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)

    def post(self, receiver: Receiver, host: str = NAME) -> Any:
        secret = new_secret()
        answer = sending.send(Parcel(1, 1, 1, receiver.url(host), secret, "msg_1", b"{}"), allow_private=True)
        for got in receiver.all:
            verify(secret, got.headers, got.body)
        return answer

    def test_an_authority_that_nobody_trusts_is_refused(self, authority: Authority) -> None:
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
    def test_the_name_is_asked_for_and_the_certificate_is_its_own(
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
            ("127.0.0.1", 1, "Hostname mismatch"),  # the address is not what was asked for
            (NAME, -1, "certificate has expired"),
        ],
    )
    def test_another_s_certificate_or_an_old_one_is_refused(
        self, trusted: Authority, certified: str, last_day: int, problem: str
    ) -> None:
        with receiving(trusted.certificate(certified, last_day)) as receiver:
            answer = self.post(receiver)
        assert answer.status is None
        assert problem in answer.error
        assert receiver.all == []
