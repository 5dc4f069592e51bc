"""The parent's side of `nvml_child`: ask for the GPUs, and wait for the answer no longer than the caller wants."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worker.devices.gpu.nvml import Gpu, NvmlUnavailable

__all__ = ["NoAnswer", "NvmlChild"]

_ROOT = Path(__file__).parents[3]
_READ = b"read\n"
_CHUNK = 65_536


class NoAnswer(Exception):
    """The driver has not answered yet; `seconds`: for how long. The next read may bring its answer."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the driver has not answered for {seconds:.0f} s")
        self.seconds = seconds


class NvmlChild:
    """One child. `index`: the GPU that it reads; None: all. Not for several threads at once.

    A request that was not answered in time stays open: a later read returns its answer.
    """

    def __init__(self, index: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._index = index
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the pid that started it: a forked child needs its own
        self._asked_at: float | None = None  # when the request that is not answered yet was sent
        self._received = b""

    def read(self, patience_s: float) -> tuple[str | None, list[Gpu]]:
        """The driver's version and its GPUs. Raises NvmlUnavailable, and NoAnswer `patience_s` after the request."""
        line = self._line(self._asked(), patience_s)
        self._asked_at = None
        answer = json.loads(line)
        if "problem" in answer:
            raise NvmlUnavailable(answer["problem"])
        return answer["driver"], [_gpu(values) for values in answer["gpus"]]

    def ask_ahead(self) -> None:
        """Send the next request now, so that a slow driver's answer is there at the next read."""
        self._asked()

    def close(self) -> None:
        """Kill the child. One that the kernel does not let die is left alone: nothing waits for it."""
        process, self._process, self._asked_at, self._received = self._process, None, None, b""
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)

    def _asked(self) -> float:
        """When the driver was asked. Asks if no request is open."""
        if self._process is None or self._owner != os.getpid():
            self._start()
        if self._asked_at is None:
            self._asked_at = self._clock()
            with contextlib.suppress(OSError):  # the child has ended; `_line` says so
                self._pipes()[0].write(_READ)
        return self._asked_at

    def _start(self) -> None:
        arguments = [] if self._index is None else [str(self._index)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "worker.devices.gpu.nvml_child", *arguments],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C in a terminal must reach the parent only
        )
        self._owner, self._asked_at, self._received = os.getpid(), None, b""

    def _line(self, asked_at: float, patience_s: float) -> bytes:
        """The next line of the child. Raises NoAnswer, and NvmlUnavailable if the child has ended."""
        output = self._pipes()[1]
        deadline = time.monotonic() + asked_at + patience_s - self._clock()
        while b"\n" not in self._received:
            ready, _, _ = select.select([output], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise NoAnswer(self._clock() - asked_at)
            chunk = os.read(output.fileno(), _CHUNK)
            if not chunk:
                self.close()
                raise NvmlUnavailable("the process that reads the NVIDIA driver has ended; it is started again")
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _pipes(self) -> tuple[Any, Any]:
        assert self._process is not None
        return self._process.stdin, self._process.stdout


def _gpu(values: dict[str, Any]) -> Gpu:
    capability, processes = values["capability"], values["processes"]
    return Gpu(
        **{
            **values,
            "capability": None if capability is None else (capability[0], capability[1]),
            "processes": tuple((pid, used) for pid, used in processes),
            "displays": frozenset(values["displays"]),
            "instances": tuple(_gpu(instance) for instance in values["instances"]),
        }
    )
