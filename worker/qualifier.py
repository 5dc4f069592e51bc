"""Check the GPUs of this host in child processes, one at a time, in the background. See `services.domain.gpus`.

The child holds the device's kernel lock, as a trainer does: no job can start on a GPU while it is checked, also if the
child cannot be killed.
"""

import contextlib
import datetime
import importlib.metadata
import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.attempt_paths import CHECK_LOG_FILE, FINDINGS_FILE, device_lock, qualification_dir
from services.clock import utc_now
from services.devices import qualification
from services.devices.qualification import DueCheck
from services.domain.contract import DeviceKind
from services.domain.gpus.qualification import CheckEnd, fingerprint
from services.safe_files import open_regular
from services.settings import Settings
from services.store.engine import Store
from worker.clean_environment import clean_environment
from worker.devices import DeviceReading, contract_device, trainer_environment
from worker.process_locks import Lock

__all__ = ["Qualifier", "fingerprint_of"]

_ROOT = Path(__file__).parents[1]
_LARGEST = 2**20  # bytes of what the child wrote
_ABANDON_S = 10.0  # from SIGKILL
_log = logging.getLogger(__name__)


def fingerprint_of(reading: DeviceReading, packages: dict[str, str]) -> str | None:
    """None: the device needs no qualification, or cannot be selected by a uuid."""
    if reading.kind is not DeviceKind.GPU or reading.uuid is None:
        return None
    return fingerprint(reading.uuid, reading.driver, packages)


def installed_packages() -> dict[str, str]:
    """TensorFlow and CUDA's libraries with their versions."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower()
        if name.startswith(("nvidia-", "tensorflow")):
            found[name] = distribution.version
    return found


def _memory_options(reading: DeviceReading) -> list[str]:
    """What a trainer's device is told about memory: the check must find the limit that a trainer will have."""
    device = contract_device(reading, async_allocator=False)
    return ["--reserve-mb", str(device.reserve_mb), "--workspace-mb", str(device.workspace_mb)]


class Qualifier:
    """Call `poll` regularly with the host's devices."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._check: _Check | None = None
        self._has_asked = False
        self.packages = installed_packages()

    @property
    def process(self) -> int | None:
        """The child that runs now."""
        return self._check.process.pid if self._check else None

    def poll(self, readings: Sequence[DeviceReading]) -> None:
        if not self._has_asked:
            qualification.ask_again_for_failed(self._store, self._settings.host)
            self._has_asked = True
        if self._check is not None:
            self._finish_if_ended(self._check)
        if self._check is None:
            self._start_next(readings)

    def _start_next(self, readings: Sequence[DeviceReading]) -> None:
        by_key = {reading.key: reading for reading in readings if reading.problem is None}
        fingerprints = {key: fingerprint_of(reading, self.packages) for key, reading in by_key.items()}
        wanted = {key: value for key, value in fingerprints.items() if value is not None}
        due = qualification.next_due(self._store, self._settings.host, wanted)
        if due is None:
            return
        lock = Lock(device_lock(self._settings, due.key))
        if lock.take():
            _log.info("%s is being checked", due.device_id)
            self._check = _Check.start(self._settings, due, by_key[due.key], lock)
        else:  # the processes of an attempt have yet to end
            lock.close()

    def _finish_if_ended(self, check: "_Check") -> None:
        end = check.end(self._settings.qualify_s)
        if end is None:
            return
        self._check = None
        check.lock.close()
        ok = qualification.record(self._store, check.due, end, check.started_at)
        if ok is not None:
            _log.info("%s %s its check", check.due.device_id, "passed" if ok else "failed")


@dataclass
class _Check:
    """A child that checks a device."""

    due: DueCheck
    process: "subprocess.Popen[bytes]"
    folder: Path
    free_bytes: int
    lock: Lock
    started_at: datetime.datetime
    began: float
    killed: float | None = None

    @classmethod
    def start(cls, settings: Settings, due: DueCheck, reading: DeviceReading, lock: Lock) -> "_Check":
        folder = qualification_dir(settings, due.key)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FINDINGS_FILE).unlink(missing_ok=True)
        with (folder / CHECK_LOG_FILE).open("wb") as log:
            process = subprocess.Popen(
                [*settings.qualifier_command, str(folder / FINDINGS_FILE), *_memory_options(reading)],
                cwd=_ROOT,
                env=clean_environment(os.environ, trainer_environment(reading)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[lock.descriptor],
            )
        return cls(due, process, folder, reading.free_bytes, lock, utc_now(), time.monotonic())

    def end(self, limit_s: float) -> CheckEnd | None:
        """How it ended; None while it runs. Kills it at the limit, and waits no longer than a moment for its death."""
        seconds = time.monotonic() - self.began
        status = self.process.poll()
        if status is None and self.killed is None and seconds > limit_s:
            self.killed = time.monotonic()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        if status is None and (self.killed is None or time.monotonic() - self.killed < _ABANDON_S):
            return None
        ended = None if self.killed is not None else status
        return CheckEnd(self._document(), self._text(CHECK_LOG_FILE), ended, seconds, self.free_bytes)

    def _document(self) -> dict[str, Any]:
        try:
            found = json.loads(self._text(FINDINGS_FILE))
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _text(self, name: str) -> str:
        try:
            with open_regular(self.folder / name) as file:
                return file.read(_LARGEST).decode(errors="replace")
        except OSError:
            return ""
