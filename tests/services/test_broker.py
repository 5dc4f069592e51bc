"""Waking the workers never raises and never hangs, whatever the broker does."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services import broker as queue
from services.broker import make_celery, wake_workers, wake_workers_now
from services.settings import Settings


def settings(broker: str) -> Settings:
    return Settings(home=Path("/nonexistent"), broker_url=broker)


def test_an_unreachable_broker_returns_false() -> None:
    assert wake_workers_now(settings("redis://127.0.0.1:1/0")) is False


def test_a_missing_socket_returns_false() -> None:
    assert wake_workers_now(settings("redis+socket:///nonexistent/redis.sock")) is False


def test_an_invalid_broker_address_returns_false() -> None:
    assert wake_workers_now(settings("redis://127.0.0.1:port/0")) is False


@pytest.fixture
def listening() -> Iterator[Callable[[], str]]:
    """A port that accepts connections and never answers."""
    server = socket.create_server(("127.0.0.1", 0))
    yield lambda: f"redis://127.0.0.1:{server.getsockname()[1]}/0"
    server.close()


@pytest.mark.lengthy
def test_a_broker_that_never_answers_is_waited_for_briefly(listening: Callable[[], str]) -> None:
    assert wake_workers_now(settings(listening())) is False


def test_a_hanging_broker_delays_no_caller_and_calls_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, published = threading.Event(), threading.Event(), []

    def hang(broker: str) -> bool:
        published.append(threading.current_thread())
        begun.set()
        go.wait(60)
        return False

    monkeypatch.setattr(queue, "_publish", hang)
    chosen = settings("redis://127.0.0.1:2/0")
    wake_workers(chosen)
    assert begun.wait(60)
    for _ in range(60):
        wake_workers(chosen)  # would never return if it waited
    go.set()
    published[0].join(60)
    assert len(published) == 2
    assert published[0].daemon  # the process does not wait for it at its end


def test_after_a_pause_workers_are_woken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[threading.Thread] = []
    monkeypatch.setattr(queue, "_publish", lambda broker: published.append(threading.current_thread()))
    for count in (1, 2):
        wake_workers(settings("redis://127.0.0.1:3/0"))
        deadline = time.monotonic() + 60
        while len(published) < count:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        published[-1].join(60)


def test_celery_acknowledges_early_and_stores_no_results() -> None:
    conf = make_celery("redis://127.0.0.1:1/0").conf
    assert conf.task_acks_late is False
    assert conf.task_reject_on_worker_lost is False
    assert conf.worker_cancel_long_running_tasks_on_connection_loss is True
    assert conf.worker_prefetch_multiplier == 1
    assert conf.task_time_limit == 60
    assert conf.broker_connection_max_retries is None
    assert conf.broker_connection_retry_on_startup is True
    assert conf.accept_content == ["json"]
    assert conf.result_backend is None
    assert conf.worker_enable_remote_control is False
    assert conf.broker_transport_options["visibility_timeout"] == conf.visibility_timeout == 600


def test_without_a_thread_waking_workers_does_not_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    published = threading.Event()
    monkeypatch.setattr(queue, "_publish", lambda broker: published.set())
    chosen = settings("redis://127.0.0.1:4/0")
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        wake_workers(chosen)
    wake_workers(chosen)
    assert published.wait(60)
