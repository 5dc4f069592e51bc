"""Start the service as a new user does: `python -m launcher run` in an empty HOME.

Everything is real except the trainer, which is the fake one (DOWNSHIFT_TRAINER="" for the real one).
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from services.datasets import shapes
from tests.support.box import FAKE_TRAINER, ROOT

__all__ = ["TIMEOUT_S", "Newcomer", "Started", "until"]

TIMEOUT_S = 120.0
SETTINGS = {
    "DOWNSHIFT_BIND": "127.0.0.1:0",
    "DOWNSHIFT_DEVICES": "cpu:1000",
    "DOWNSHIFT_HOST": "box",
    "DOWNSHIFT_HEARTBEAT_S": "0.2",
    "DOWNSHIFT_POLL_S": "0.5",
    "DOWNSHIFT_RATE_LIMIT": "0",
    "DOWNSHIFT_LEASE_S": "5",
    "DOWNSHIFT_MIN_FREE_DISK_MB": "1",
    "DOWNSHIFT_TRAINER": FAKE_TRAINER,
}


def until(what: str, happened: Callable[[], Any], timeout_s: float = TIMEOUT_S) -> Any:
    deadline = time.monotonic() + timeout_s
    while not (found := happened()):
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        time.sleep(0.05)
    return found


class Newcomer:
    """A HOME, the processes that were started in it, and their output."""

    def __init__(self, folder: Path, train: int = 4, validation: int = 2, size: int = 64) -> None:
        """The numbers describe the sample dataset."""
        self.home = folder / "home"
        self.behaviour = folder / "behaviour.json"
        self.observer = folder / "observer.txt"
        self.behave()
        shapes.generate(self.home / "datasets" / "shapes", train=train, validation=validation, size=size)
        self._started: list[subprocess.Popen[bytes]] = []
        self._logs = folder

    def behave(self, **behaviour: Any) -> None:
        self.behaviour.write_text(json.dumps({"observer": str(self.observer), **behaviour}))

    def start(self, *command: str, **environment: str) -> "Started":
        log = self._logs / f"said-{len(self._started)}.log"
        settings = {"DOWNSHIFT_HOME": str(self.home), "FAKE_TRAINER": str(self.behaviour), **SETTINGS, **environment}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "launcher", *(command or ("run",))],
                cwd=ROOT,
                env=os.environ | settings,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=_as_at_a_terminal,
            )
        self._started.append(process)
        return Started(process, log, self.home)

    def lives(self) -> list[list[str]]:
        """Lines that the trainers wrote: START or STOP, job, attempt, device, pid, time."""
        return [line.split() for line in self.observer.read_text().splitlines()] if self.observer.exists() else []

    def processes(self) -> list[str]:
        """The command lines of all living processes that were started here."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"FAKE_TRAINER={self.behaviour}".encode() in (folder / "environ").read_bytes():
                    found.append(_command(folder.name))
            except OSError:
                continue
        return found

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()
        for _, _, _, _, pid, _ in self.lives():  # left by a failed test
            if f"FAKE_TRAINER={self.behaviour}".encode() in _environment(pid):
                os.kill(int(pid), signal.SIGKILL)
        until("the end of everything", lambda: not self.processes())


def _command(pid: str) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def _environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _as_at_a_terminal() -> None:
    """Accept Ctrl-C, which processes that a script starts in the background ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Started:
    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, home: Path) -> None:
        self.process = process
        self._log = log
        self._home = home

    @property
    def said(self) -> str:
        return self._log.read_text()

    def until_ready(self) -> str:
        def address() -> str | None:
            assert self.process.poll() is None, self.said
            found = re.search(r"Downshift is ready at (\S+)(?s:.*)Ctrl-C stops", self.said)
            return found and found[1]

        return str(until("ready", address))

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        return self.process.wait(TIMEOUT_S)

    def client(self) -> httpx.Client:
        url = self.until_ready()
        token = (self._home / "admin-token").read_text().strip()
        return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=20)

    def child(self, words: str) -> int:
        """The process id of the only child with these words in its command line."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        [found] = [child for child in children if words in _command(child)]
        return int(found)
