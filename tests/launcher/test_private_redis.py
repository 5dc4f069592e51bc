"""The private Redis: its options, its restart, and a leftover of an earlier start."""

import io
import os
import signal
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from launcher import private_redis
from launcher.children import Child
from launcher.console import Console
from launcher.manager import Manager
from services.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.fixture
def server(settings: Settings) -> Iterator[Child]:
    child = Child(private_redis.program(settings))
    wait_for_answer(settings)
    yield child
    end(child)


def wait_for_answer(settings: Settings) -> None:
    """The socket exists a moment before Redis listens on it, so wait for an answer."""
    deadline = time.monotonic() + 20
    with redis.Redis(unix_socket_path=str(settings.redis_socket)) as client:
        while True:
            try:
                assert client.ping()
                return
            except redis.ConnectionError:
                assert time.monotonic() < deadline
                time.sleep(0.02)


def end(child: Child) -> None:
    child.kill()
    while child.poll() is None:
        time.sleep(0.02)
    child.last_lines()


def test_only_its_owner_can_open_the_private_redis_and_it_writes_no_files(settings: Settings, server: Child) -> None:
    with redis.Redis(unix_socket_path=str(settings.redis_socket)) as client:
        client.set("a", "b")
        values = {name: client.config_get(name)[name] for name in ("port", "appendonly", "save")}

    assert values == {"port": "0", "appendonly": "no", "save": ""}
    assert stat.S_IMODE(settings.redis_socket.stat().st_mode) == 0o700
    assert [path.name for path in settings.home.iterdir()] == ["redis.sock"]


def test_a_private_redis_whose_socket_was_deleted_is_started_again(settings: Settings) -> None:
    log = io.StringIO()
    with Manager(Console(log)) as manager:
        manager.start(private_redis.program(settings))
        deadline = time.monotonic() + 60

        def poll_until(happened: Callable[[], bool]) -> None:
            while not happened():
                assert time.monotonic() < deadline, log.getvalue()
                manager.poll(0.05)

        poll_until(settings.redis_socket.is_socket)
        poll_until(lambda: manager._managed[0].was_healthy)
        settings.redis_socket.unlink()
        poll_until(lambda: "was deleted; starting it again" in log.getvalue())
        poll_until(settings.redis_socket.is_socket)
        with redis.Redis(unix_socket_path=str(settings.redis_socket)) as client:
            assert client.ping()


def test_a_leftover_private_redis_of_this_home_is_stopped(settings: Settings, server: Child) -> None:
    assert private_redis.stop_leftover(settings) is True
    deadline = time.monotonic() + 20
    while server.poll() is None:  # its threads may end a moment later
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_stale_socket_does_not_prevent_a_start(settings: Settings) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(settings.redis_socket))

    assert private_redis.stop_leftover(settings) is False
    child = Child(private_redis.program(settings))
    wait_for_answer(settings)
    end(child)


def test_the_redis_of_another_home_is_not_stopped(settings: Settings, server: Child, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "redis.sock").symlink_to(settings.redis_socket)

    with pytest.raises(private_redis.RedisError, match="is in use by the Redis of"):
        private_redis.stop_leftover(Settings(home=other))

    assert server.poll() is None


def test_without_a_redis_server_the_message_says_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path: None)

    with pytest.raises(private_redis.RedisError, match="DOWNSHIFT_BROKER_URL"):
        private_redis.program(settings)


def test_only_warnings_of_redis_are_logged(settings: Settings) -> None:
    time_of = "12:M 16 Nov 2025 05:00:00.123"

    assert private_redis.tidy(f"{time_of} * Ready to accept connections") is None
    assert private_redis.tidy(f"{time_of} # Server initialized") is None
    assert private_redis.tidy(f"{time_of} # Out of memory allocating 12 bytes!") == "Out of memory allocating 12 bytes!"
    assert private_redis.tidy("*** FATAL CONFIG FILE ERROR ***") == "*** FATAL CONFIG FILE ERROR ***"


def test_a_normal_start_and_stop_of_redis_log_nothing(settings: Settings, server: Child) -> None:
    os.kill(server.pid, signal.SIGTERM)
    while server.poll() is None:
        time.sleep(0.02)

    assert server.last_lines() == []
