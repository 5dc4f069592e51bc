"""Slow clients and many clients on real sockets: the server still answers others."""

import contextlib
import dataclasses
import resource
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.connections import Limits
from services.settings import Settings
from tests.api.conftest import service_on_sqlite
from tests.api.test_process import ROOT, environment, free_port
from tests.support.api_server import bearer
from tests.support.api_service import People, Service

MANY = 1100
DESCRIPTORS = 1024
HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-More: "
HALF_A_BODY = (
    b"POST /v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)
GARBAGE = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200))
CUT_OFF = "connections that were too slow or too many"
NEVER_READ = b"GET /login HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2


@pytest.fixture(autouse=True)
def _descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard >= MANY + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY + 200), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@dataclasses.dataclass
class Served:
    address: tuple[str, int]
    log: Path

    def connect(self, said: bytes = b"") -> socket.socket:
        connection = socket.create_connection(self.address, 60)
        with contextlib.suppress(ConnectionError):  # already refused
            connection.sendall(said)
        return connection

    def ask(self, path: str = "/healthz", **options: Any) -> httpx.Response:
        with httpx.Client(base_url=f"http://{self.address[0]}:{self.address[1]}", timeout=60) as client:
            return client.get(path, **options)


@contextlib.contextmanager
def serving(service: Service, log: Path, **changes: Any) -> Iterator[Served]:
    settings = dataclasses.replace(service.settings, bind=f"127.0.0.1:{free_port()}", **changes)
    command = f"ulimit -n {DESCRIPTORS}; exec {shlex.quote(sys.executable)} -m api"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", command], cwd=ROOT, env=environment(settings), stdout=output, stderr=output
        )
    try:
        served = Served(settings.address, log)
        wait_until(lambda: is_up(served), process)
        yield served
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.wait()


def is_up(served: Served) -> bool:
    try:
        return served.ask().status_code == 200
    except httpx.TransportError:
        return False


def asks(service: Service, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.tokens['anna']}\r\n\r\n".encode()


def wait_until(condition: Any, process: "subprocess.Popen[bytes] | None" = None) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process is None or process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_closed(connection: socket.socket) -> bool:
    """Has the server closed the connection? Reads all pending data."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, populated_sqlite: tuple[Path, People], sample: Path
) -> Iterator[Service]:
    """Shared by all tests: they do not change it, and starting the api takes seconds."""
    with service_on_sqlite(tmp_path_factory.mktemp("service") / "home", populated_sqlite, sample) as found:
        yield found


@pytest.fixture(scope="module")
def usual(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(service, tmp_path_factory.mktemp("usual") / "api.log") as served:
        yield served


@pytest.fixture(scope="module")
def impatient(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {"request_head_s": 1, "stall_s": 1, "max_connections_per_address": 3}
    with serving(service, tmp_path_factory.mktemp("impatient") / "api.log", **limits) as served:
        yield served


@pytest.fixture(scope="module")
def behind_a_proxy(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {"max_connections_per_address": 2, "trusted_proxies": "127.0.0.0/8"}
    with serving(service, tmp_path_factory.mktemp("proxy") / "api.log", **limits) as served:
        yield served


@pytest.mark.parametrize(
    "said", [b"", HALF_A_HEAD, HALF_A_BODY, GARBAGE, NEVER_READ], ids=["silent", "head", "body", "garbage", "deaf"]
)
def test_others_are_answered_while_many_clients_are_slow(service: Service, usual: Served, said: bytes) -> None:
    before = len(usual.log.read_text())
    with contextlib.ExitStack() as stack:
        for number in range(MANY):
            stack.enter_context(usual.connect(said))
            if number % 200 == 99:
                wait_until(lambda: usual.ask().status_code == 200)  # 503 while all connections are taken
        assert usual.ask("/v1/jobs", headers=bearer(service.tokens["anna"])).status_code == 200
    text = usual.log.read_text()[before:]
    assert "Too many open files" not in text
    assert len(text) < 400_000, text[-2000:]


def test_from_many_addresses_no_more_come_in_than_there_is_room_for(behind_a_proxy: Served) -> None:
    """A trusted proxy has no limit per address. The limit for all connections, without streams, still holds."""
    limits = Limits.of(Settings(), DESCRIPTORS)
    with contextlib.ExitStack() as stack:
        opened = []
        for number in range(MANY):
            opened.append(stack.enter_context(behind_a_proxy.connect(HALF_A_HEAD)))
            if number % 200 == 99:
                assert behind_a_proxy.ask().status_code == 200
        assert sum(not is_closed(connection) for connection in opened) <= limits.max_connections
    assert "Too many open files" not in behind_a_proxy.log.read_text()


def test_who_does_not_finish_asking_is_cut_off(impatient: Served) -> None:
    for said in (b"", HALF_A_HEAD, HALF_A_BODY):
        with impatient.connect(said) as connection:
            wait_until(lambda c=connection: is_closed(c))
    with impatient.connect(HALF_A_HEAD) as dripping:
        deadline = time.monotonic() + 60
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < deadline:
                dripping.sendall(b"x")
                time.sleep(0.1)
        assert time.monotonic() < deadline
    wait_until(lambda: CUT_OFF in impatient.log.read_text())


def test_who_does_not_read_the_answer_is_cut_off(service: Service, impatient: Served) -> None:
    job = service.job()
    folder = service.settings.jobs_dir / str(job) / "export"
    folder.mkdir(parents=True)
    with (folder / "saved_model.pb").open("wb") as file:
        file.truncate(200 * 2**20)
    path = f"/v1/jobs/{job}/artifacts/export/saved_model.pb"
    before = impatient.log.read_text().count(CUT_OFF)
    with impatient.connect(asks(service, path)) as connection:
        assert connection.recv(20).startswith(b"HTTP/1.1 200")
        wait_until(lambda: impatient.log.read_text().count(CUT_OFF) > before)
        read = 0
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(2**20):
                read += len(piece)
        assert read < 200 * 2**20


def test_a_body_that_keeps_coming_may_take_long(impatient: Served) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(12):
            yield b" " * 4096
            time.sleep(0.3)
        yield b'{"token": "none"}'

    headers = {"Content-Type": "application/json"}
    address = f"http://{impatient.address[0]}:{impatient.address[1]}/v1/session"
    assert httpx.post(address, content=pieces(), headers=headers, timeout=60).status_code == 401


def test_an_event_stream_stays_and_is_not_counted_with_the_others(service: Service, impatient: Served) -> None:
    with contextlib.ExitStack() as stack:
        asked = asks(service, "/v1/events")
        streams = []
        for _ in range(6):
            streams.append(stack.enter_context(impatient.connect(asked)))
            assert streams[-1].recv(20).startswith(b"HTTP/1.1 200")
        idle = [stack.enter_context(impatient.connect(HALF_A_HEAD)) for _ in range(6)]
        wait_until(lambda: all(is_closed(connection) for connection in idle))
        time.sleep(2)  # longer than other connections may be idle
        assert [is_closed(stream) for stream in streams] == [False] * 6
        assert impatient.ask().status_code == 200


def test_one_address_has_only_so_many_and_the_longest_silent_go_first(service: Service, tmp_path: Path) -> None:
    with (
        serving(service, tmp_path / "api.log", max_connections_per_address=5) as served,
        contextlib.ExitStack() as stack,
    ):
        first = [stack.enter_context(served.connect(HALF_A_HEAD)) for _ in range(5)]
        time.sleep(0.5)  # until the server has accepted all
        then = [stack.enter_context(served.connect(HALF_A_HEAD)) for _ in range(3)]
        wait_until(lambda: sum(is_closed(connection) for connection in first) == 3)
        assert not any(is_closed(connection) for connection in then)


def test_behind_a_trusted_proxy_there_are_many_people(behind_a_proxy: Served) -> None:
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(behind_a_proxy.connect(HALF_A_HEAD)) for _ in range(20)]
        for connection in connections:
            connection.sendall(b"\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_where_few_files_can_be_opened_there_are_fewer_connections(service: Service) -> None:
    plenty = Limits.of(service.settings, 100_000)
    assert (plenty.max_connections, plenty.max_streams, plenty.max_per_network) == (1000, 1000, 200)
    few = Limits.of(service.settings, 1024)
    assert 2 * (few.max_connections + few.max_streams) < 1024
    assert few.max_per_network <= few.max_connections


def test_descriptors_are_raised_at_the_start() -> None:
    program = (
        "import resource; from api.connections import raise_file_limit; from services.settings import Settings; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 1200)); "
        "print(raise_file_limit(Settings()), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["1200", "1200", "1200"]
