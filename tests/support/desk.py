"""Shortcuts to the use cases for tests, without a worker and without processes. The database is emptied before each
test."""

import dataclasses
import datetime
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import text, update

from services.attempts import finish
from services.attempts.evidence import HostEvidence, known_case
from services.attempts.finish import AttemptResults, Finished, TrainerEnd
from services.clock import utc_now
from services.datasets import shapes
from services.devices import reports
from services.devices.reports import Reported
from services.domain.contract import EXIT_CODES, AllocatorStats, Outcome, Reason
from services.jobs import submit as submission
from services.scheduling import claim as scheduling
from services.scheduling.claim import Claim
from services.settings import Settings
from services.store import attempts, jobs
from services.store.devices import leases
from services.store.engine import Store
from services.store.models import Attempt, Base, Device, Event, Job, Lease, Measurement
from services.users import principal
from services.users.principal import Principal, Role, Scope

MB = 2**20
GB = 2**30
NO_BROKER = "redis://127.0.0.1:1/0"  # nothing listens there, so wake-up messages are lost


def empty(store: Store) -> None:
    with store.transaction() as session:
        for table in reversed(Base.metadata.sorted_tables):
            session.execute(table.delete())


class Desk:
    def __init__(self, store: Store, home: Path, **settings: Any) -> None:
        self.store = store
        self.settings = Settings(
            home=home,
            database_url=store.engine.url.render_as_string(hide_password=False),
            broker_url=NO_BROKER,
            host="box",
            **settings,
        )
        self._reported_at = utc_now()
        self.admin = principal.local_principal(store)
        self.owner = self.user("owner")

    def user(self, name: str) -> Principal:
        user_id = principal.create_user(self.store, self.admin, name, Role.MEMBER)
        return Principal(user_id, name, Role.MEMBER, frozenset({Scope.READ, Scope.SUBMIT}))

    # Devices

    def slots(self, *megabytes: int, host: str = "box") -> None:
        """CPU slots of these sizes."""
        self.report(*(slot(number, mb) for number, mb in enumerate(megabytes)), host=host)

    def report(self, *seen: Reported, host: str = "box") -> None:
        self._reported_at = utc_now()
        reports.report(self.store, host, seen)

    # Actions

    def request(self, **request: Any) -> dict[str, Any]:
        return {
            "dataset": "shapes",
            "model": "efficientdet_d0",
            "image_size": [256, 256],
            "train": {"steps": 10, "batch_size": 8},
            **request,
        }

    def submit(self, *, priority: int = 0, **request: Any) -> int:
        """Submit a job. A priority that only admins may give is set afterwards."""
        wanted = self.request(priority=min(0, priority), **request)
        job_id = submission.submit(self.store, self.settings, self.owner, wanted).job_id
        if priority > 0:
            self.change(Job, job_id, priority=priority)
        return job_id

    def claim(self, host: str = "box") -> Claim | None:
        settings = self.settings if host == "box" else Settings(**{**vars(self.settings), "host": host})
        return scheduling.claim(self.store, settings, "boot")

    def claimed(self, **request: Any) -> Claim:
        """Submit a job and claim it. The devices of the last report are there, however long the disk took since."""
        job_id = self.submit(**request)
        with self.store.transaction() as session:
            session.execute(update(Device).where(Device.seen_at >= self._reported_at).values(seen_at=utc_now()))
        claim = self.claim()
        assert claim is not None, (self.job(job_id).reason, [vars(device) for device in self.rows(Device)])
        assert claim.job_id == job_id
        return claim

    def finish(self, claim: Claim, left: AttemptResults) -> Finished | None:
        return finish.record_end(self.store, claim.job_id, claim.attempt, claim.token, left)

    def end(self, claim: Claim, reason: Reason, **outcome: Any) -> Finished | None:
        """End the attempt with this outcome and the exit code that belongs to it."""
        written = Outcome(reason=reason, message=f"it was {reason}", **outcome)
        return self.finish(claim, self.left(claim, EXIT_CODES[reason], written))

    def ran_out(self, claim: Claim, in_use: int, requested: int = MB, **outcome: Any) -> Finished | None:
        allocator = AllocatorStats(limit=in_use, in_use=in_use, peak=in_use, requested=requested)
        return self.end(claim, Reason.DEVICE_MEMORY, allocator=allocator, **outcome)

    def left(
        self,
        claim: Claim,
        exit_status: int | None,
        outcome: Outcome | None = None,
        log: str = "",
        host: HostEvidence | None = None,
    ) -> AttemptResults:
        """Write these results to the attempt's folder, and read them as a supervisor that observed `host` does."""
        seen = host or HostEvidence()
        folder = self.folder(claim)
        if outcome is not None:
            (folder / "outcome.json").write_text(outcome.to_json())
        (folder / "train.log").write_text(log)
        case = known_case(self.store, claim.job_id, claim.attempt, seen)
        return finish.read_results(folder, TrainerEnd(exit_status, host=seen), case)

    def folder(self, claim: Claim) -> Path:
        folder = self.settings.jobs_dir / str(claim.job_id) / f"attempt-{claim.attempt}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # Stored rows

    def job(self, job_id: int) -> Job:
        with self.store.reading() as session:
            job = jobs.get(session, job_id)
        assert job is not None
        return job

    def attempt(self, claim: Claim) -> Attempt:
        return self.attempts(claim.job_id)[claim.attempt - 1]

    def attempts(self, job_id: int) -> list[Attempt]:
        with self.store.reading() as session:
            return list(attempts.of_job(session, job_id))

    def leases(self) -> list[Lease]:
        with self.store.reading() as session:
            return list(leases.of_host(session, "box"))

    def rows(self, kind: type[Any]) -> list[Any]:
        with self.store.reading() as session:
            return list(session.query(kind).order_by(*kind.__table__.primary_key.columns))

    def events(self, job_id: int, kind: str) -> list[Mapping[str, Any]]:
        return [event.data for event in self.rows(Event) if event.job_id == job_id and event.kind == kind]

    def measurements(self) -> list[Measurement]:
        return self.rows(Measurement)

    def device(self, key: str) -> Device:
        return next(device for device in self.rows(Device) if device.key == key)

    def set(self, table: str, where: str = "1 = 1", **values: Any) -> None:
        """Update rows directly, without a use case."""
        assignments = ", ".join(f'"{name}" = :{name}' for name in values)
        with self.store.transaction() as session:
            session.execute(text(f"UPDATE {table} SET {assignments} WHERE {where}"), values)

    def change(self, kind: type[Any], key: Any, **values: Any) -> None:
        with self.store.transaction() as session:
            row = session.get(kind, key)
            for name, value in values.items():
                setattr(row, name, value)


def slot(number: int, megabytes: int, free_mb: int | None = None, problem: str | None = None) -> Reported:
    free = (megabytes if free_mb is None else free_mb) * MB
    return Reported(
        f"cpu-{number}", "cpu", number, f"slot {number}", megabytes * MB, free, False, None, None, (), problem
    )


def gpu(
    number: int,
    total: int,
    free: int,
    others: int = 0,
    problem: str | None = None,
    capability: str | None = None,
    fingerprint: str | None = None,
    health: dict[str, Any] | None = None,
) -> Reported:
    """`others`: bytes that a process of another program uses. Without a capability it is of an earlier version, without
    a fingerprint it needs no qualification."""
    processes = ({"pid": 4711, "name": "python", "used_bytes": others},) if others else ()
    reported = Reported(f"gpu-{number}", "gpu", number, f"GPU {number}", total, free, True, 0, 40, processes, problem)
    return dataclasses.replace(reported, capability=capability, fingerprint=fingerprint, health=health)


def sample_home(folder: Path) -> Path:
    """A home with the dataset `shapes`."""
    shapes.generate(folder / "datasets" / "shapes", train=4, validation=2, size=64)
    return folder


class Events:
    """Writes an events.jsonl as a trainer does."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.jsonl"
        self._seconds = itertools.count(1_800_000_000)

    def line(self, kind: str, **fields: Any) -> bytes:
        return json.dumps({"kind": kind, "time": next(self._seconds), **fields}).encode() + b"\n"

    def write(self, kind: str, **fields: Any) -> None:
        self.append(self.line(kind, **fields))

    def append(self, text: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(text)

    def step(self, step: int, loss: float = 1.0, peak: int = 100 * MB, **more: Any) -> None:
        losses = {"Loss/total_loss": loss}
        device = {"limit": GB, "current": peak, "peak": peak}
        speed = {"learning_rate": 0.01, "images_per_s": 4.0, "step_s": 0.5}
        self.write("step", step=step, losses=losses, device=device, **speed, **more)


def ago(seconds: float) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds)
