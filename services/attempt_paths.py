"""The paths of jobs, attempts, locks and checks of devices below HOME. Nothing else builds them."""

from pathlib import Path

from services.settings import Settings

__all__ = [
    "CHECK_LOG_FILE",
    "FINDINGS_FILE",
    "attempt_dir",
    "attempt_folder",
    "device_lock",
    "job_dir",
    "job_lock",
    "qualification_dir",
    "stuck_dir",
]

CHECK_LOG_FILE, FINDINGS_FILE = "check.log", "found.json"  # of a device's check


def job_dir(settings: Settings, job_id: int) -> Path:
    """The job's folder: checkpoints, the export and a folder for each attempt."""
    return settings.jobs_dir / str(job_id)


def attempt_dir(settings: Settings, job_id: int, number: int) -> Path:
    return job_dir(settings, job_id) / attempt_folder(number)


def attempt_folder(number: int | str) -> str:
    """The name of an attempt's folder. `number` may be a pattern that matches several."""
    return f"attempt-{number}"


def job_lock(settings: Settings, job_id: int) -> Path:
    return settings.locks_dir / f"job-{job_id}.lock"


def device_lock(settings: Settings, key: str) -> Path:
    return settings.locks_dir / f"device-{key}.lock"


def qualification_dir(settings: Settings, key: str) -> Path:
    """What the last check of a device found, and its log."""
    return settings.home / "devices" / key


def stuck_dir(settings: Settings) -> Path:
    """A note for each process of an ended attempt that the kernel does not let die."""
    return settings.locks_dir / "stuck"
