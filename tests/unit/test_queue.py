"""The wake-up call: never raises, never hangs, whatever the broker is."""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.queue import make_celery, wake_workers
from services.settings import Settings


def settings(broker: str) -> Settings:
    return Settings(home=Path("/nonexistent"), broker_url=broker)


def test_a_broker_that_is_away_is_said_and_not_raised() -> None:
    began = time.monotonic()
    assert wake_workers(settings("redis://127.0.0.1:1/0")) is False
    assert time.monotonic() - began < 5


def test_a_socket_that_is_not_there_is_said_and_not_raised() -> None:
    assert wake_workers(settings("redis+socket:///nonexistent/redis.sock")) is False


def test_a_broker_that_cannot_be_is_said_and_not_raised() -> None:
    assert wake_workers(settings("redis://127.0.0.1:port/0")) is False


@pytest.fixture
def listening() -> Iterator[Callable[[], str]]:
    """A port that takes connections and never answers."""
    server = socket.create_server(("127.0.0.1", 0))
    yield lambda: f"redis://127.0.0.1:{server.getsockname()[1]}/0"
    server.close()


def test_a_broker_that_never_answers_does_not_hold_a_request_up(listening: Callable[[], str]) -> None:
    began = time.monotonic()
    assert wake_workers(settings(listening())) is False
    assert time.monotonic() - began < 12


def test_celery_is_set_as_the_faults_demand() -> None:
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
