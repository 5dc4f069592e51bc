"""The Celery app: one short task, and regular polling of the database, so that a lost message does no harm."""

import logging
import os
import shutil
import subprocess
import threading
import time
from typing import Any

from celery import bootsteps
from celery.signals import worker_process_init

from services.attempt_paths import attempt_dir, device_lock, job_lock
from services.broker import DISPATCH, make_celery
from services.devices import reports
from services.devices.reports import Reported
from services.domain.contract import DeviceKind
from services.domain.sizes import in_mb
from services.preload import warm_up
from services.settings import Settings
from services.store.devices import devices as device_rows
from services.store.devices import leases
from services.store.engine import Store, StoreUnavailable
from services.store.models import Lease
from worker import attempt_processes, stuck_processes, webhook_sender
from worker.devices import DeviceReading, Devices, parse_devices, processes_of_others, with_descendants
from worker.devices.gpu.driver import Driver
from worker.devices.readings import MB
from worker.dispatch import dispatch
from worker.notes import Running
from worker.process_locks import is_alive
from worker.qualifier import Qualifier, fingerprint_of
from worker.reaper import Reaper

__all__ = ["Worker", "celery"]

_log = logging.getLogger(__name__)


class Worker:
    """The work of one worker process: report the devices, reap orphaned attempts, start jobs.

    `is_main`: this process reports the devices. Other processes only start jobs on reported devices.
    """

    def __init__(self, settings: Settings, is_main: bool = True) -> None:
        self.settings = settings
        self._is_main = is_main
        self.store = Store.open(settings.database_url)
        self.reaper = Reaper(self.store, settings)
        self._driver = Driver()
        self._qualifier = Qualifier(self.store, settings)
        self._devices: Devices | None = None
        self._known_slot_bytes: int | None = None
        self._supervisors: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()

    def poll(self) -> None:
        """Do all of it once. Does not raise if the database does not answer: the next poll may succeed."""
        try:
            with self._lock:
                self._report_devices()
                self.reaper.reap()
            self.dispatch()
        except StoreUnavailable as error:
            _log.warning("the database does not answer: %s", error)

    def dispatch(self) -> None:
        with self._lock:
            self._supervisors = [supervisor for supervisor in self._supervisors if supervisor.poll() is None]
            self._supervisors += dispatch(self.store, self.settings, self._read_devices())

    def poll_regularly(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            started = time.monotonic()
            try:
                self.poll()
            except Exception:
                _log.exception("polling the database failed; next try in %s s", self.settings.poll_s)
            stopped.wait(max(0.1, self.settings.poll_s - (time.monotonic() - started)))

    def _read_devices(self) -> list[DeviceReading]:
        if self._devices is None or not self._is_main:
            slot_bytes = self._reported_slot_bytes()
            if self._devices is None or slot_bytes != self._known_slot_bytes:
                self._known_slot_bytes = slot_bytes
                self._devices = Devices(
                    parse_devices(self.settings.devices),
                    cuda_visible=os.environ.get("CUDA_VISIBLE_DEVICES"),
                    auto_slot_bytes=slot_bytes,
                    nvml=self._driver,
                )
        return self._devices.read()

    def _reported_slot_bytes(self) -> int | None:
        """The size of an automatic slot that was reported before; None if it may be computed.

        The main process keeps the size from before a restart while a job runs in the slot. Other processes use what
        the main process reported. Computed again, the size would differ.
        """
        with self.store.reading() as session:
            leased = {lease.device_id for lease in leases.of_host(session, self.settings.host)}
            rows = [row for row in device_rows.of_host(session, self.settings.host) if row.kind == DeviceKind.CPU]
            return next((row.total_bytes for row in rows if row.id in leased or not self._is_main), None)

    def _report_devices(self) -> None:
        """Report them, and check those that are to be qualified: a report keeps jobs away from them first."""
        checking = self._qualifier.process
        ours = with_descendants([*self._trainers(), *([checking] if checking else [])])
        disk_problem = self._disk_problem()
        readings = self._read_devices()
        packages = self._qualifier.packages
        leased = self._leased_keys()
        found = []
        for reading in readings:
            lock = None if reading.key in leased else device_lock(self.settings, reading.key)
            stuck = stuck_processes.device_problem(self.settings, reading.key, lock)
            problem = stuck or reading.problem or disk_problem
            found.append(_reported(reading, ours, problem, fingerprint_of(reading, packages)))
        reports.report(self.store, self.settings.host, found)
        self._qualifier.poll(readings)

    def _leased_keys(self) -> set[str]:
        with self.store.reading() as session:
            return {lease.device_id.rpartition("/")[2] for lease in leases.of_host(session, self.settings.host)}

    def _trainers(self) -> list[int]:
        with self.store.reading() as session:
            held = leases.of_host(session, self.settings.host)
        return [pid for lease in held for pid in self._trainers_of(lease)]

    def _trainers_of(self, lease: Lease) -> list[int]:
        try:
            note = Running.read(attempt_dir(self.settings, lease.job_id, lease.attempt))
            if note is not None and is_alive(note.trainer, note.trainer_started):
                return [note.trainer]
            lock = job_lock(self.settings, lease.job_id)
            return [process.pid for process in attempt_processes.of_attempt(lease.token, lock)]
        except Exception:  # one attempt must not prevent the report of the devices, for which the queue waits
            _log.exception("job %s, attempt %s: its processes cannot be found", lease.job_id, lease.attempt)
            return []

    def _disk_problem(self) -> str | None:
        self.settings.home.mkdir(parents=True, exist_ok=True)
        free, least = shutil.disk_usage(self.settings.home).free, self.settings.min_free_disk_mb * MB
        if free >= least:
            return None
        return f"the disk is almost full: {in_mb(free)} free; training starts again at {in_mb(least)}"


def _reported(reading: DeviceReading, ours: set[int], problem: str | None, fingerprint: str | None) -> Reported:
    theirs = processes_of_others(reading, ours)
    return Reported(
        key=reading.key,
        kind=str(reading.kind),
        index=reading.index,
        name=reading.name,
        total_bytes=reading.total_bytes,
        free_bytes=reading.free_bytes,
        bfloat16=reading.bfloat16,
        utilisation=reading.utilisation,
        temperature=reading.temperature,
        processes=tuple(vars(one) for one in theirs),
        problem=problem,
        uuid=reading.uuid,
        driver=reading.driver,
        capability="{}.{}".format(*reading.capability) if reading.capability else None,
        health=reading.health,
        fingerprint=fingerprint,
    )


settings = Settings.from_environment()
celery = make_celery(settings.broker)
_process: dict[str, Worker] = {}
_main_pid = os.getpid()
_stopped = threading.Event()


def _worker() -> Worker:
    """The worker of this process. A forked child needs its own: connections do not survive a fork."""
    if "worker" not in _process:
        _process["worker"] = Worker(settings, is_main=_main_pid == os.getpid())
    return _process["worker"]


@celery.task(name=DISPATCH)  # type: ignore[untyped-decorator]
def dispatch_task() -> None:
    try:
        _worker().dispatch()
    except StoreUnavailable as error:
        _log.warning("the database does not answer: %s", error)


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _begin_process(**_: Any) -> None:
    _process.clear()  # the parent's worker
    warm_up()


class Polling(bootsteps.StartStopStep):  # type: ignore[misc]
    """Starts the threads. They must start after the pool has forked, and must not wait for the broker."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        worker = _worker()
        threading.Thread(target=worker.poll_regularly, args=[_stopped], name="polling", daemon=True).start()
        sending = [worker.store, worker.settings, _stopped]
        threading.Thread(target=webhook_sender.deliver_regularly, args=sending, name="webhooks", daemon=True).start()

    def stop(self, parent: Any) -> None:
        _stopped.set()


celery.steps["worker"].add(Polling)
