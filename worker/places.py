"""Where the files of jobs, attempts and locks are, and the notes that a supervisor leaves for whoever comes after."""

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from services.settings import Settings

__all__ = [
    "ENVIRONMENT_FILE",
    "Running",
    "attempt_dir",
    "device_lock",
    "job_dir",
    "job_lock",
    "note_exit",
    "note_facts",
    "read_environment",
    "read_exit",
    "read_facts",
]

ENVIRONMENT_FILE = "environment.json"  # in the attempt directory: what the trainer's environment holds beside ours
_FACTS_FILE = "facts.json"
_RUNNING_FILE = "supervisor.json"
_EXIT_FILE = "exit.json"


def job_dir(settings: Settings, job_id: int) -> Path:
    return settings.jobs_dir / str(job_id)


def attempt_dir(settings: Settings, job_id: int, number: int) -> Path:
    return job_dir(settings, job_id) / f"attempt-{number}"


def job_lock(settings: Settings, job_id: int) -> Path:
    return settings.locks_dir / f"job-{job_id}.lock"


def device_lock(settings: Settings, key: str) -> Path:
    return settings.locks_dir / f"device-{key}.lock"


@dataclass(frozen=True)
class Running:
    """Who runs an attempt. Start times tell these processes from later ones with the same numbers."""

    supervisor: int
    supervisor_started: int | None
    trainer: int
    trainer_started: int | None

    def note(self, folder: Path) -> None:
        _write(folder / _RUNNING_FILE, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> "Running | None":
        values = _read(folder / _RUNNING_FILE)
        return cls(**values) if values else None


def note_exit(folder: Path, exit_status: int, killed_because: str | None) -> None:
    """Durably: the database may be away, and this is the only trace of how the trainer ended."""
    _write(folder / _EXIT_FILE, {"exit_status": exit_status, "killed_because": killed_because})


def read_exit(folder: Path) -> tuple[int | None, str | None]:
    values = _read(folder / _EXIT_FILE) or {}
    return values.get("exit_status"), values.get("killed_because")


def note_facts(folder: Path, facts: dict[str, Any]) -> None:
    """What the supervisor saw so far, for a reaper that comes after it."""
    _write(folder / _FACTS_FILE, facts)


def read_facts(folder: Path) -> dict[str, Any]:
    return _read(folder / _FACTS_FILE) or {}


def read_environment(folder: Path) -> dict[str, Any]:
    return _read(folder / ENVIRONMENT_FILE) or {}


def _write(path: Path, values: dict[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w") as file:
        json.dump(values, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _read(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError):
        values = json.loads(path.read_text())
        return values if isinstance(values, dict) else None
    return None
