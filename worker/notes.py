"""The notes that a supervisor leaves in the attempt directory, for the reaper and for the next worker."""

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
    "note_facts",
    "read_environment",
    "read_exit",
    "read_facts",
]

SUPERVISOR_LOG = "supervisor.log"
ENVIRONMENT_FILE = "environment.json"  # in the attempt directory: what the trainer's environment holds beside ours
_FACTS_FILE = "facts.json"
_RUNNING_FILE = "supervisor.json"
_EXIT_FILE = "exit.json"
_LARGEST = 2**20  # bytes of a note
_MOST_STATUS = 256


@dataclass(frozen=True)
class Running:
    """Who runs an attempt. Start times tell these processes from later ones with the same numbers.

    As read, it may be of another version, or damaged: what is not there is 0 or None, and nobody is alive by that.
    """

    supervisor: int = 0
    supervisor_started: int | None = None
    trainer: int = 0
    trainer_started: int | None = None

    def note(self, folder: Path) -> None:
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
    """Durably: the database may be away, and this is the only trace of how the trainer ended."""
    _write(folder / _EXIT_FILE, {"exit_status": exit_status, "killed_because": killed_because})


def read_exit(folder: Path) -> tuple[int | None, str | None]:
    """None for what is not there, or is none."""
    values = _read(folder / _EXIT_FILE) or {}
    status, because = values.get("exit_status"), values.get("killed_because")
    known = isinstance(status, int) and not isinstance(status, bool) and -_MOST_STATUS <= status < _MOST_STATUS
    return (status if known else None), (because if isinstance(because, str) else None)


def note_facts(folder: Path, facts: dict[str, Any]) -> None:
    """What the supervisor saw so far, for a reaper that comes after it."""
    _write(folder / _FACTS_FILE, facts)


def read_facts(folder: Path) -> dict[str, Any]:
    return _read(folder / _FACTS_FILE) or {}


def read_environment(folder: Path) -> dict[str, Any]:
    return _read(folder / ENVIRONMENT_FILE) or {}


def _write(path: Path, values: dict[str, Any]) -> None:
    write_durably(path, json.dumps(values))


def _read(path: Path) -> dict[str, Any] | None:
    """None for what is not there, or is not what anybody of us writes."""
    with contextlib.suppress(OSError, ValueError, RecursionError), open_regular(path) as file:
        values = json.loads(file.read(_LARGEST))
        return values if isinstance(values, dict) else None
    return None


def _number(value: Any) -> int | None:
    """Of a process, or of a moment: above 0, and no larger than the kernel's own."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63 else None
