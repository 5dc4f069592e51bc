"""`python -m launcher run`, with stand-ins for api and worker: what it says, refuses and leaves behind."""

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
    """The process, and what it has said so far."""

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
        self.said: list[str] = []

    def wait_for(self, words: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if words in line:
                return self.said[-1]
        raise AssertionError("\n".join(self.said))

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        self.said += self.process.communicate(timeout=60)[0].splitlines()
        return self.process.returncode


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """With something in place of the sample dataset, which takes seconds to draw."""
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


def test_a_newcomer_is_told_the_address_the_token_and_how_to_submit(
    launch: Callable[..., Launcher], home: Path
) -> None:
    launcher = launch()
    launcher.wait_for("Ctrl-C stops the service")
    token = (home / "admin-token").read_text().strip()

    said = "\n".join(launcher.said)
    assert "Downshift is ready at http://127.0.0.1:" in said
    assert f"{home}/admin-token, shown only this once: {token}" in said
    assert "in a browser; log in with the token" in said
    assert "worker    | waiting" in said
    assert "curl -sS http://127.0.0.1:" in said


def test_ctrl_c_stops_everything_and_the_next_start_keeps_the_token_to_itself(
    launch: Callable[..., Launcher], home: Path
) -> None:
    first = launch()
    first.wait_for("Ctrl-C stops the service")
    assert first.end(signal.SIGINT) == 0
    assert first.said[-2:] == ["downshift | stopping", "downshift | stopped"]

    second = launch()
    second.wait_for("Ctrl-C stops the service")

    assert (home / "admin-token").read_text().strip() not in "\n".join(second.said)
    assert f"  admin token  {home}/admin-token" in second.said


def test_a_second_start_says_that_it_is_running_already(launch: Callable[..., Launcher], home: Path) -> None:
    first = launch()
    url = first.wait_for("ready at").split()[-1]

    second = launch()

    assert second.wait() == 1
    assert second.said == [f"Downshift is already running in {home} (pid {first.process.pid}, {url})"]


def test_a_start_after_a_kill_finds_nothing_in_its_way(launch: Callable[..., Launcher]) -> None:
    first = launch()
    port = first.wait_for("ready at").split()[-1].rpartition(":")[2]
    first.end(signal.SIGKILL)

    second = launch(bind=f"127.0.0.1:{port}")

    second.wait_for("ready at")


def test_a_port_in_use_is_said_before_anything_is_started(launch: Callable[..., Launcher], home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        launcher = launch(bind=f"127.0.0.1:{taken.getsockname()[1]}")

        assert launcher.wait() == 1

    assert launcher.said[0].startswith("DOWNSHIFT_BIND: port")
    assert not (home / "downshift.db").exists()


def test_a_port_that_is_taken_at_the_last_moment_is_no_reason_to_try_for_ever(
    launch: Callable[..., Launcher], home: Path
) -> None:
    launcher = launch("steal")
    try:
        assert launcher.wait() == 1
    finally:
        os.kill(int((home / "thief").read_text()), signal.SIGKILL)

    assert launcher.said[-1].startswith("DOWNSHIFT_BIND: port")


def test_an_api_that_cannot_start_ends_the_launcher_with_its_last_words(launch: Callable[..., Launcher]) -> None:
    launcher = launch("die")

    assert launcher.wait() == 1
    assert "api       | no such module" in launcher.said
    assert launcher.said[-1] == "the api ended 3 times before it was ready; its last lines are above"


@pytest.mark.parametrize("program", ["api", "worker"])
def test_settings_that_a_program_cannot_use_end_the_launcher_at_once(
    launch: Callable[..., Launcher], program: str
) -> None:
    launcher = launch(f"refuse-{program}")

    assert launcher.wait() == 1
    assert f"{program:<9} | DOWNSHIFT_X: not like this" in launcher.said
    assert launcher.said[-1] == f"the {program} cannot start with these settings; its error is above"


class Interrupts:
    def find_spec(self, *arguments: object) -> NoReturn:
        raise KeyboardInterrupt


def test_ctrl_c_while_the_launcher_is_loaded_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "launcher.cli", raising=False)
    monkeypatch.delattr("launcher.cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupts()])

    assert __main__.main() == 130


def test_the_line_to_submit_with_survives_a_home_with_spaces(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "my data")

    said = run.welcome(settings, "http://127.0.0.1:8080", token=None).replace("\\\n", "")

    words = shlex.split(next(line for line in said.splitlines() if "curl" in line))
    assert words[:3] == ["curl", "-sS", "http://127.0.0.1:8080/v1/jobs"]
    assert f"Authorization: Bearer $(cat '{tmp_path}/my data/admin-token')" in words
    assert json.loads(words[-1]) == run.EXAMPLE_JOB


def test_without_authentication_no_token_is_spoken_of(tmp_path: Path) -> None:
    said = run.welcome(Settings(home=tmp_path, authentication=False), "http://127.0.0.1:8080", token=None)

    assert "token" not in said


@pytest.mark.parametrize(
    "line",
    [
        "I uvicorn.error: Uvicorn running on http://127.0.0.1:8080 (Press CTRL+C to quit)",
        "I api.access: GET /readyz 200 51 ms",
        "Task downshift.dispatch[3a7fff86] succeeded in 0.002s: None",
        "",
    ],
)
def test_chatter_is_left_out_of_the_log(line: str) -> None:
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
def test_what_somebody_has_to_know_is_not(line: str) -> None:
    assert run.tidy(line) == line
