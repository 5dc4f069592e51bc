"""Child processes of the launcher: each in its own session, ended by the kernel if the launcher dies."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from launcher.console import LineBuffer

__all__ = ["Child", "Ended", "Program", "dying_with_us"]

_DIE_WITH_PARENT = Path(__file__).with_name("die_with_parent.py")

TidyLine = Callable[[str], str | None]  # a line of output to a line of the log; None drops it


@dataclass(frozen=True)
class Program:
    """A program to start. `dies_by` is the signal that the kernel sends to it if the launcher dies."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    tidy: TidyLine = lambda line: line if line.strip() else None
    dies_by: signal.Signals = signal.SIGTERM
    grace_s: float = 10.0  # from SIGTERM to SIGKILL
    problem: Callable[[], str | None] = lambda: None  # why it must be restarted although it runs


@dataclass(frozen=True)
class Ended:
    status: int  # as in subprocess: negative for a signal

    def __str__(self) -> str:
        if self.status >= 0:
            return f"exited with status {self.status}"
        return f"was killed by {signal.Signals(-self.status).name}"


def dying_with_us(command: Sequence[str], dies_by: signal.Signals) -> list[str]:
    """`command`, wrapped so that the kernel ends it when the thread that started it ends."""
    return [sys.executable, "-I", "-S", str(_DIE_WITH_PARENT), str(os.getpid()), str(int(dies_by)), *command]


class Child:
    """One process of a program. The kernel ends it when the thread that created it ends, so use the main thread.

    It has its own session, so Ctrl-C in a terminal does not reach it. When it ends, the rest of its process group is
    killed. Processes that left that group, such as supervisors and trainers, go on.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._lines = LineBuffer()
        self._process = subprocess.Popen(
            dying_with_us(program.command, program.dies_by),
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
        """The complete lines since the last call; None once the output is closed. Never blocks."""
        data = self._read()
        return None if data == b"" else self._tidy(self._lines.feed(data or b""))

    def _read(self) -> bytes | None:
        """b"" at the end, None if there is nothing to read now."""
        try:
            return os.read(self.output.fileno(), 65536)
        except BlockingIOError:
            return None

    def poll(self) -> Ended | None:
        """How it ended; None while it runs. Kills its process group while the kernel cannot reuse the number yet."""
        if self._process.returncode is None:
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return None
            self._kill_group()
        return Ended(self._process.wait())

    def last_lines(self) -> list[str]:
        """The rest of the output after the process ended, including an incomplete line. Closes the output.

        Does not wait for other processes that still have the output open.
        """
        if self.output.closed:
            return []
        lines: list[str] = []
        while data := self._read():
            lines += self._lines.feed(data)
        self.output.close()
        return self._tidy(lines + self._lines.flush())

    def terminate(self) -> None:
        if self._process.returncode is None:
            os.kill(self.pid, signal.SIGTERM)  # not collected yet, so the kernel has not reused the pid

    def kill(self) -> None:
        """Kill the whole process group, unless the exit status was already collected."""
        if self._process.returncode is None:
            self._kill_group()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _tidy(self, lines: list[str]) -> list[str]:
        tidied = (self.program.tidy(line) for line in lines)
        return [line for line in tidied if line is not None]
