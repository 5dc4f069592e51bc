"""Work on what strangers sent, in a process of its own: bounded in memory and time, and gone when its parent is.

The parent calls `Processes.run`; the module that is run calls `begin` first and `answer` last.
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

__all__ = ["Failed", "Limits", "OverLimit", "Processes", "Stopped", "answer", "begin", "memory_bounded"]

_ROOT = Path(__file__).parents[1]
_PR_SET_PDEATHSIG = 1
_OUT_OF_MEMORY = 77  # the status of a process that says so itself
_NICE = 10  # requests are answered first
_LAST_WORDS = 4000
# Of the parent's environment, that is all: no database, no broker. One thread: each more reserves memory.
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")
_OWN = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    memory_mb: int
    seconds: float  # by the clock, and of processor time


class OverLimit(Exception):
    """It took more memory or time than it may; the message says which."""


class Failed(Exception):
    """It ended without an answer. Its last words are in the log."""


class Stopped(Exception):
    """This service is being stopped."""


class Processes:
    """Runs modules as bounded processes. After `close` none runs, and none can be started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    def run(self, module: str, request: Mapping[str, Any], limits: Limits) -> Any:
        """What `module` answers to `request`; the calling thread waits. Raises OverLimit, Failed or Stopped.

        When this raises, the process is gone.
        """
        said = json.dumps({"request": request, "limits": dataclasses.asdict(limits), "parent": os.getpid()})
        with self._started(module) as process:
            try:
                told, errors = process.communicate(said.encode(), limits.seconds)
            except subprocess.TimeoutExpired:
                raise OverLimit(f"it took longer than {limits.seconds:g} s") from None
        if self._is_closed:
            raise Stopped
        if process.returncode == 0:
            return json.loads(told)
        if process.returncode == -signal.SIGXCPU:
            raise OverLimit(f"it took longer than {limits.seconds:g} s")
        if process.returncode == _OUT_OF_MEMORY:
            raise OverLimit(f"it needs more than {limits.memory_mb} MB of memory")
        words = errors[-_LAST_WORDS:].decode(errors="replace")
        _log.error("%s ended with status %d: %s", module, process.returncode, words)
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
                env={name: os.environ[name] for name in _KEPT if name in os.environ} | _OWN,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C in a terminal is for the parent
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
    """In the process: the request, after its limits are set. From here on it ends with its parent."""
    said = json.loads(sys.stdin.buffer.read())
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != said["parent"]:  # gone before the kernel was asked
        sys.exit(1)
    limits = Limits(**said["limits"])
    memory, seconds = limits.memory_mb * 2**20, math.ceil(limits.seconds)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(_NICE)
    return said["request"]


@contextlib.contextmanager
def memory_bounded() -> Iterator[None]:
    """In the process: end with a status of its own where memory runs out."""
    try:
        yield
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)  # nothing that needs memory on the way


def answer(value: Any) -> None:
    sys.stdout.write(json.dumps(value))
    sys.stdout.flush()
