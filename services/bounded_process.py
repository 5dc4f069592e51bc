"""Run a module on untrusted input in a child process with limits on memory and time. It dies with its parent.

The parent calls `Processes.run`; the module in the child calls `begin` first and `answer` last.
"""

import contextlib
import ctypes
import dataclasses
import json
import logging
import math
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Failed", "OverLimit", "ProcessLimits", "Processes", "Stopped", "answer", "begin", "memory_bounded"]

_ROOT = Path(__file__).parents[1]
_PR_SET_PDEATHSIG = 1
_OUT_OF_MEMORY = 77  # exit status of a child that ran out of memory
_NICE = 10  # requests go first
_LOGGED_OUTPUT = 4000  # bytes of the child's standard error
# The child gets no other variables, so no database and no broker.
_PASSED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")
# One thread each: every further one reserves memory.
_SET_VARIABLES = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProcessLimits:
    memory_mb: int
    seconds: float  # of wall time, and of processor time


class OverLimit(Exception):
    """The process exceeded its memory or its time; the message says which."""


class Failed(Exception):
    """The process ended without an answer. Its last output is in the log."""


class Stopped(Exception):
    """The service is stopping."""


class Processes:
    """Runs modules in bounded processes. After `close` none runs and none can start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    def run(self, module: str, request: Mapping[str, Any], limits: ProcessLimits) -> Any:
        """Run `module` with `request` and return its answer. Raises OverLimit, Failed or Stopped.

        Blocks the calling thread. The process has ended when this returns or raises.
        """
        message = json.dumps({"request": request, "limits": dataclasses.asdict(limits), "parent": os.getpid()})
        with self._started(module) as process:
            try:
                output, errors = process.communicate(message.encode(), limits.seconds)
            except subprocess.TimeoutExpired:
                raise OverLimit(f"it took longer than {limits.seconds:g} s") from None
        if self._is_closed:
            raise Stopped
        if process.returncode == 0:
            return json.loads(output)
        if process.returncode == -signal.SIGXCPU:
            raise OverLimit(f"it took longer than {limits.seconds:g} s")
        if process.returncode == _OUT_OF_MEMORY:
            raise OverLimit(f"it needs more than {limits.memory_mb} MB of memory")
        last_output = errors[-_LOGGED_OUTPUT:].decode(errors="replace")
        _log.error("%s ended with status %d: %s", module, process.returncode, last_output)
        raise Failed(f"{module} ended with status {process.returncode}")

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for process in self._running:
                process.kill()

    @contextlib.contextmanager
    def _started(self, module: str) -> Iterator["subprocess.Popen[bytes]"]:
        with self._lock:
            if self._is_closed:
                raise Stopped
            process = subprocess.Popen(
                [sys.executable, "-m", module],
                cwd=_ROOT,
                env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ} | _SET_VARIABLES,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C in a terminal must reach the parent only
            )
            self._running.add(process)
        try:
            with process:
                try:
                    yield process
                finally:
                    process.kill()
        finally:
            with self._lock:
                self._running.discard(process)


def begin() -> Any:
    """In the child: set the limits and return the request. From here on the child dies with its parent."""
    message = json.loads(sys.stdin.buffer.read())
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != message["parent"]:  # the parent died before the call above
        sys.exit(1)
    limits = ProcessLimits(**message["limits"])
    memory, seconds = limits.memory_mb * 2**20, math.ceil(limits.seconds)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(_NICE)
    return message["request"]


@contextlib.contextmanager
def memory_bounded() -> Iterator[None]:
    """In the child: exit with `_OUT_OF_MEMORY` when memory runs out."""
    try:
        yield
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)  # sys.exit would run code that needs memory


def answer(value: Any) -> None:
    sys.stdout.write(json.dumps(value))
    sys.stdout.flush()
