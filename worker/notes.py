"""The notes that worker and supervisor leave in the attempt directory, for the reaper and for the next worker."""

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from services.durable_file import write_durably
from services.safe_files import open_regular

__all__ = [
    "ENVIRONMENT_FILE",
    "SUPERVISOR_LOG",
    "Running",
    "note_exit",
    "note_observations",
    "read_environment",
    "read_exit",
    "read_observations",
]

SUPERVISOR_LOG = "supervisor.log"
ENVIRONMENT_FILE = "environment.json"  # environment variables for the trainer, in addition to the worker's
_OBSERVATIONS_FILE = "facts.json"
_RUNNING_FILE = "supervisor.json"
_EXIT_FILE = "exit.json"
_LARGEST = 2**20  # bytes of a note
_STATUSES = range(-256, 256)


@dataclass(frozen=True)
class Running:
    """The processes that run an attempt. The start times tell them apart from later processes with the same pids.

    A note on disk may be damaged or of another version: a missing value is read as 0 or None, which no process has.
    """

    supervisor: int = 0
    supervisor_started: int | None = None
    trainer: int = 0
    trainer_started: int | None = None

    def write(self, folder: Path) -> None:
        _write(folder / _RUNNING_FILE, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> "Running | None":
        values = _read(folder / _RUNNING_FILE)
        if values is None:
            return None
        return cls(
            _number(values.get("supervisor")) or 0,
            _number(values.get("supervisor_started")),
            _number(values.get("trainer")) or 0,
            _number(values.get("trainer_started")),
        )


def note_exit(folder: Path, exit_status: int, killed_because: str | None) -> None:
    """Save how the trainer ended, durably: while the database is unavailable, this is the only record."""
    _write(folder / _EXIT_FILE, {"exit_status": exit_status, "killed_because": killed_because})


def read_exit(folder: Path) -> tuple[int | None, str | None]:
    """The exit status and the reason of a kill; None for each that is missing or invalid."""
    values = _read(folder / _EXIT_FILE) or {}
    status, because = values.get("exit_status"), values.get("killed_because")
    known = isinstance(status, int) and not isinstance(status, bool) and status in _STATUSES
    return (status if known else None), (because if isinstance(because, str) else None)


def note_observations(folder: Path, observations: dict[str, Any]) -> None:
    """Save the supervisor's observations so far, for the reaper."""
    _write(folder / _OBSERVATIONS_FILE, observations)


def read_observations(folder: Path) -> dict[str, Any]:
    return _read(folder / _OBSERVATIONS_FILE) or {}


def read_environment(folder: Path) -> dict[str, Any]:
    return _read(folder / ENVIRONMENT_FILE) or {}


def _write(path: Path, values: dict[str, Any]) -> None:
    write_durably(path, json.dumps(values))


def _read(path: Path) -> dict[str, Any] | None:
    """None if the note is missing or is not a JSON object."""
    with contextlib.suppress(OSError, ValueError, RecursionError), open_regular(path) as file:
        values = json.loads(file.read(_LARGEST))
        return values if isinstance(values, dict) else None
    return None


def _number(value: Any) -> int | None:
    """A pid or a start time: above 0, and within the kernel's 64 bits."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63 else None
