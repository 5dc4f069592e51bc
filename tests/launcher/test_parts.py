"""Parts of the launcher: HOME's lock, the port, the private Redis."""

import io
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from launcher import addresses, home_lock, private_redis
from launcher.children import Child
from launcher.console import Console
from launcher.manager import Manager
from services.settings import Settings, SettingsError


def test_a_second_start_in_the_same_home_is_refused_with_the_pid_and_url_of_the_first(tmp_path: Path) -> None:
    with home_lock.hold(tmp_path) as lock:
        lock.publish("http://127.0.0.1:8080")
        message = f"Downshift is already running in {tmp_path} (pid {os.getpid()}, http://127.0.0.1:8080)"

        with pytest.raises(home_lock.AlreadyRunning, match=re.escape(message)), home_lock.hold(tmp_path):
            pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = f"""
import signal, pathlib
from launcher import home_lock
with home_lock.hold(pathlib.Path({str(tmp_path)!r})) as lock:
    print("held", flush=True)
    signal.pause()
"""
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(home_lock.AlreadyRunning), home_lock.hold(tmp_path):
        pass

    holder.kill()
    holder.wait()
    holder.stdout.close()

    with home_lock.hold(tmp_path):
        pass


def test_the_error_for_a_port_in_use_names_its_variable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"DOWNSHIFT_BIND: port {port} of 127.0.0.1 is in use by another"):
            addresses.free_bind(("127.0.0.1", port))


def test_the_error_for_an_address_of_another_machine_names_its_variable() -> None:
    with pytest.raises(SettingsError, match=r"DOWNSHIFT_BIND: cannot listen on 192\.0\.2\.1:80"):
        addresses.free_bind(("192.0.2.1", 80))


def test_port_0_is_replaced_by_a_free_port() -> None:
    host, _, port = addresses.free_bind(("127.0.0.1", 0)).rpartition(":")

    assert host == "127.0.0.1"
    assert int(port) > 0


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (("127.0.0.1", 8080), "http://127.0.0.1:8080"),
        (("0.0.0.0", 80), "http://127.0.0.1:80"),
        (("::", 80), "http://[::1]:80"),
        (("gpu-box", 80), "http://gpu-box:80"),
    ],
)
def test_the_shown_url_can_be_opened_on_this_machine(address: tuple[str, int], url: str) -> None:
    assert addresses.url(address) == url


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.fixture
def server(settings: Settings) -> Iterator[Child]:
    child = Child(private_redis.program(settings))
    deadline = time.monotonic() + 20
    while not settings.redis_socket.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield child
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
    with redis.Redis(unix_socket_path=str(settings.redis_socket)) as client:
        deadline = time.monotonic() + 20
        while True:
            try:
                assert client.ping()
                break
            except redis.ConnectionError:
                assert time.monotonic() < deadline
                time.sleep(0.02)
    child.kill()
    while child.poll() is None:
        time.sleep(0.02)
    child.last_lines()


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
