"""A child process: in its own session, its life bound to ours, its output as lines."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from launcher.console import LineBuffer

__all__ = ["Child", "Ended", "Program", "bound_to_us"]

_BOUND = Path(__file__).with_name("die_with_parent.py")

Tidy = Callable[[str], str | None]  # a line as the log shows it; None leaves it out


@dataclass(frozen=True)
class Program:
    """What to start. `dies_by` is what the kernel sends it when we are gone without having stopped it."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    tidy: Tidy = lambda line: line if line.strip() else None
    dies_by: signal.Signals = signal.SIGTERM
    grace_s: float = 10.0  # from SIGTERM to SIGKILL
    complaint: Callable[[], str | None] = lambda: None  # why it has to be started again though it lives


@dataclass(frozen=True)
class Ended:
    status: int  # as subprocess has it: negative for a signal

    def __str__(self) -> str:
        if self.status >= 0:
            return f"ended with status {self.status}"
        return f"was ended by {signal.Signals(-self.status).name}"


def bound_to_us(command: Sequence[str], dies_by: signal.Signals) -> list[str]:
    """`command`, ended by the kernel when the thread that starts it is gone."""
    return [sys.executable, "-I", "-S", str(_BOUND), str(os.getpid()), str(int(dies_by)), *command]


class Child:
    """One process of a program. The thread that makes it must live as long as it does: the kernel binds it to that.

    Its session is its own, so that Ctrl-C in a terminal does not reach it, and what it started in its own process
    group ends with it. What left that group (training) does not.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._lines = LineBuffer()
        self._process = subprocess.Popen(
            bound_to_us(program.command, program.dies_by),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | dict(program.environment),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.output = self._process.stdout
        os.set_blocking(self.output.fileno(), False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def read_lines(self) -> list[str] | None:
        """The whole lines it has printed since; None once it has closed its output. Never waits."""
        data = self._read()
        return None if data == b"" else self._tidy(self._lines.feed(data or b""))

    def _read(self) -> bytes | None:
        """b"" at the end, None where there is nothing for now."""
        try:
            return os.read(self.output.fileno(), 65536)
        except BlockingIOError:
            return None

    def poll(self) -> Ended | None:
        """How it ended, or None while it lives. Ends its process group before its number can be given away."""
        if self._process.returncode is None:
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return None
            self._signal_group(signal.SIGKILL)
        return Ended(self._process.wait())

    def last_lines(self) -> list[str]:
        """What is left of its output after its end, an unfinished line included. Closes it: another process that
        still holds the other end is not waited for."""
        if self.output.closed:
            return []
        lines: list[str] = []
        while data := self._read():
            lines += self._lines.feed(data)
        self.output.close()
        return self._tidy(lines + self._lines.flush())

    def terminate(self) -> None:
        if self._process.returncode is None:
            os.kill(self.pid, signal.SIGTERM)  # not yet waited for, so the number is still its own

    def kill(self) -> None:
        """The whole group, where it has not been waited for."""
        if self._process.returncode is None:
            self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _tidy(self, lines: list[str]) -> list[str]:
        tidied = (self.program.tidy(line) for line in lines)
        return [line for line in tidied if line is not None]
