"""`python -m launcher run` with fakes for api and worker: what it prints, refuses and leaves running."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from launcher import __main__, run
from services.settings import Settings

ROOT = Path(__file__).parents[2]


class Launcher:
    """The process, and what it has printed so far."""

    def __init__(self, home: Path, behaviour: str, bind: str) -> None:
        environment = {"DOWNSHIFT_HOME": str(home), "DOWNSHIFT_BIND": bind}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fake_service", behaviour],
            env=os.environ | environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.printed: list[str] = []

    def wait_for(self, words: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line.rstrip("\n"))
            if words in line:
                return self.printed[-1]
        raise AssertionError("\n".join(self.printed))

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        self.printed += self.process.communicate(timeout=60)[0].splitlines()
        return self.process.returncode


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """With an empty folder as the sample dataset, which takes seconds to make."""
    (tmp_path / "home" / "datasets" / "shapes").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def launch(home: Path) -> Iterator[Callable[..., Launcher]]:
    started: list[Launcher] = []

    def start(behaviour: str = "listen", bind: str = "127.0.0.1:0") -> Launcher:
        started.append(Launcher(home, behaviour, bind))
        return started[-1]

    yield start
    for launcher in started:
        launcher.process.kill()
        launcher.process.communicate()


def test_the_first_start_prints_the_address_the_token_and_how_to_submit(
    launch: Callable[..., Launcher], home: Path
) -> None:
    launcher = launch()
    launcher.wait_for("Ctrl-C stops the service")
    token = (home / "admin-token").read_text().strip()

    printed = "\n".join(launcher.printed)
    assert "Downshift is ready at http://127.0.0.1:" in printed
    assert f"{home}/admin-token, shown only this once: {token}" in printed
    assert "in a browser; log in with the token" in printed
    assert "worker    | waiting" in printed
    assert "curl -sS http://127.0.0.1:" in printed


def test_ctrl_c_stops_everything_and_the_next_start_does_not_print_the_token(
    launch: Callable[..., Launcher], home: Path
) -> None:
    first = launch()
    first.wait_for("Ctrl-C stops the service")
    assert first.end(signal.SIGINT) == 0
    assert first.printed[-2:] == ["downshift | stopping", "downshift | stopped"]

    second = launch()
    second.wait_for("Ctrl-C stops the service")

    assert (home / "admin-token").read_text().strip() not in "\n".join(second.printed)
    assert f"  admin token  {home}/admin-token" in second.printed


def test_a_second_start_says_that_the_service_is_already_running(launch: Callable[..., Launcher], home: Path) -> None:
    first = launch()
    url = first.wait_for("ready at").split()[-1]

    second = launch()

    assert second.wait() == 1
    assert second.printed == [f"Downshift is already running in {home} (pid {first.process.pid}, {url})"]


def test_a_start_after_a_kill_works_on_the_same_port(launch: Callable[..., Launcher]) -> None:
    first = launch()
    port = first.wait_for("ready at").split()[-1].rpartition(":")[2]
    first.end(signal.SIGKILL)

    second = launch(bind=f"127.0.0.1:{port}")

    second.wait_for("ready at")


def test_a_port_in_use_is_reported_before_anything_is_started(launch: Callable[..., Launcher], home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        launcher = launch(bind=f"127.0.0.1:{taken.getsockname()[1]}")

        assert launcher.wait() == 1

    assert launcher.printed[0].startswith("DOWNSHIFT_BIND: port")
    assert not (home / "downshift.db").exists()


def test_the_launcher_ends_if_another_program_takes_the_port_at_the_last_moment(
    launch: Callable[..., Launcher], home: Path
) -> None:
    launcher = launch("steal")
    try:
        assert launcher.wait() == 1
    finally:
        os.kill(int((home / "thief").read_text()), signal.SIGKILL)

    assert launcher.printed[-1].startswith("DOWNSHIFT_BIND: port")


def test_the_launcher_ends_with_the_error_of_an_api_that_cannot_start(launch: Callable[..., Launcher]) -> None:
    launcher = launch("die")

    assert launcher.wait() == 1
    assert "api       | no such module" in launcher.printed
    assert launcher.printed[-1] == "the api ended 3 times before it was ready; its last lines are above"


@pytest.mark.parametrize("program", ["api", "worker"])
def test_the_launcher_ends_at_once_if_a_program_rejects_its_settings(
    launch: Callable[..., Launcher], program: str
) -> None:
    launcher = launch(f"refuse-{program}")

    assert launcher.wait() == 1
    assert f"{program:<9} | DOWNSHIFT_X: not like this" in launcher.printed
    assert launcher.printed[-1] == f"the {program} cannot start with these settings; its error is above"


class InterruptedImport:
    def find_spec(self, *arguments: object) -> NoReturn:
        raise KeyboardInterrupt


def test_ctrl_c_while_the_launcher_is_imported_prints_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "launcher.cli", raising=False)
    monkeypatch.delattr("launcher.cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [InterruptedImport()])

    assert __main__.main() == 130


def test_the_printed_command_works_in_a_home_with_spaces(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "my data")

    printed = run.welcome(settings, "http://127.0.0.1:8080", token=None).replace("\\\n", "")

    words = shlex.split(next(line for line in printed.splitlines() if "curl" in line))
    assert words[:3] == ["curl", "-sS", "http://127.0.0.1:8080/v1/jobs"]
    assert f"Authorization: Bearer $(cat '{tmp_path}/my data/admin-token')" in words
    assert json.loads(words[-1]) == run.EXAMPLE_JOB


def test_without_authentication_the_token_is_not_mentioned(tmp_path: Path) -> None:
    printed = run.welcome(Settings(home=tmp_path, authentication=False), "http://127.0.0.1:8080", token=None)

    assert "token" not in printed


@pytest.mark.parametrize(
    "line",
    [
        "I uvicorn.error: Uvicorn running on http://127.0.0.1:8080 (Press CTRL+C to quit)",
        "I api.access: GET /readyz 200 51 ms",
        "Task downshift.dispatch[3a7fff86] succeeded in 0.002s: None",
        "",
    ],
)
def test_routine_lines_are_left_out_of_the_log(line: str) -> None:
    assert run.tidy(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "E uvicorn.error: [Errno 98] error while attempting to bind on address",
        "I api.access: GET /readyz 503 51 ms",
        "I api.access: POST /v1/jobs 202 12 ms",
        "Task downshift.dispatch[3a7fff86] raised unexpected: ValueError",
        "  File 'x.py', line 1",
    ],
)
def test_important_lines_are_logged(line: str) -> None:
    assert run.tidy(line) == line
