"""Claim a job for a free device of this host. Jobs go by priority, then by fair share; a device takes one at a time."""

import datetime
import logging
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import usage
from services.clock import utc_now
from services.devices import quarantine
from services.devices.capacity import hardware_of
from services.domain.contract import DeviceKind, Probe
from services.domain.jobs.states import Verb
from services.domain.plan import evaluation
from services.domain.plan.adjustments import NONE, Adjustments
from services.domain.plan.plan import Plan
from services.domain.planner import probe_spec as probing
from services.jobs import transitions
from services.planning.measurements import points_of
from services.planning.plan_json import change_values, plan_of_job, policy_of_job
from services.planning.warm_start import WarmStart, warm_start
from services.scheduling.placement import Devices, Placement, free_devices, place
from services.settings import Settings
from services.store import attempts, jobs, queue_order
from services.store.devices import leases
from services.store.engine import Store
from services.store.models import Attempt, Device, Job, Lease
from services.usage import UserUsage

__all__ = ["Claim", "claim"]

_AT_ONCE = 100  # queued jobs that are read at a time
_TRIES = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    """A job and a device that belong together until the token's lease ends."""

    job_id: int
    attempt: int
    token: str
    device_id: str
    device_key: str
    model: str
    plan: Plan
    base_config: str
    dataset: str
    checkpoint: str | None
    adjustments: Adjustments = NONE
    probe: Probe | None = None
    evaluations: evaluation.EvaluationSettings = evaluation.DEFAULTS
    owns_config: bool = False  # the job's owner sent a pipeline.config


def claim(store: Store, settings: Settings, boot_id: str) -> Claim | None:
    """Give the first job that can start now a free device of this host; None where there is no such job.

    One transaction: the job is running and the device leased, or neither. Jobs that fit no device any more are planned
    anew on the way, or fail with the reason.
    """
    now = utc_now()
    with store.reading() as session:  # without the write lock: most calls find nothing to do
        if not free_devices(session, settings, now) or not jobs.any_claimable(session, now):
            return None
    for _ in range(_TRIES):
        try:
            with store.transaction() as session:
                return _claim_first(session, settings, boot_id, now)
        except leases.AlreadyLeased:  # another process of this host was first with that device
            continue
    return None


def _claim_first(session: Session, settings: Settings, boot_id: str, now: datetime.datetime) -> Claim | None:
    found = Devices(session, settings, now)
    usages = usage.of_everybody(session, settings, now)
    for job in _claimable(session, usages, now):
        job_id, owner_id = job.id, job.owner_id
        try:
            placement = place(found, job)
            if placement is None or not usage.may_start(session, settings, now, owner_id, usages[owner_id]):
                continue
            with session.begin_nested():
                return _start(session, settings, job, placement, boot_id, now)
        except (TypeError, ValueError, LookupError):  # a row of a newer version, say: the others can start
            _log.exception("job %s cannot be started", job_id)
            if job in session:
                session.expunge(job)  # with what was changed of it and is not flushed
    return None


def _claimable(session: Session, usages: Mapping[int, UserUsage], now: datetime.datetime) -> Iterator[Job]:
    """In the order of the queue, some at a time: usually one of the first can start."""
    ids = queue_order.claimable(session, usage.shares(usages), now)
    for start in range(0, len(ids), _AT_ONCE):
        yield from jobs.lock_claimable(session, ids[start : start + _AT_ONCE], now)


def _start(
    session: Session, settings: Settings, job: Job, placement: Placement, boot_id: str, now: datetime.datetime
) -> Claim:
    """Set the job running, lease the device and add the attempt. Raises AlreadyLeased."""
    device, token = placement.device, secrets.token_hex(16)
    probe = _probe(session, job, placement)
    start = warm_start(settings, job, attempts.of_job(session, job.id))
    transitions.move(session, job, Verb.CLAIM, now, device=device.id)
    leases.take(session, _lease(settings, job, device, token, boot_id, now))
    quarantine.note_baseline(device)
    attempts.add(session, _attempt(settings, job, placement, start, token, now))
    _log.info("job %s, attempt %s: claimed for %s", job.id, job.attempts, device.id)
    return _claim_of(job, device, token, start, probe)


def _lease(settings: Settings, job: Job, device: Device, token: str, boot_id: str, now: datetime.datetime) -> Lease:
    return Lease(
        device_id=device.id,
        job_id=job.id,
        attempt=job.attempts,
        token=token,
        host=settings.host,
        boot_id=boot_id,
        created_at=now,
        expires_at=now + datetime.timedelta(seconds=settings.lease_s),
    )


def _attempt(
    settings: Settings, job: Job, placement: Placement, start: WarmStart, token: str, now: datetime.datetime
) -> Attempt:
    return Attempt(
        job_id=job.id,
        number=job.attempts,
        plan=job.plan,
        planned={**_planned(job, start), "ladder": placement.ladder},
        adjustments=job.adjustments,
        config="",
        device_id=placement.device.id,
        device_name=placement.device.name,
        limit_bytes=placement.limit_bytes,
        free_bytes=placement.device.free_bytes if placement.device.kind == DeviceKind.GPU else None,
        versions=_versions(placement.device),
        host=settings.host,
        token=token,
        phase="starting",
        started_at=now,
    )


def _versions(device: Device) -> dict[str, Any] | None:
    """What is known before the trainer starts; it reports the rest."""
    if device.kind != DeviceKind.GPU:
        return None
    checked = (device.qualification or {}).get("versions") or {}
    return {**checked, "driver": device.driver, "capability": device.capability}


def _claim_of(job: Job, device: Device, token: str, start: WarmStart, probe: Probe | None) -> Claim:
    plan = plan_of_job(job.plan)
    return Claim(
        job_id=job.id,
        attempt=job.attempts,
        token=token,
        device_id=device.id,
        device_key=device.key,
        model=plan.model,
        plan=plan,
        base_config=job.base_config,
        dataset=job.dataset,
        checkpoint=start.checkpoint,
        adjustments=Adjustments.from_dict(job.adjustments),
        probe=probe,
        evaluations=evaluation.EvaluationSettings.of_request(job.request),
        owns_config=bool(job.request.get("pipeline_config")),
    )


def _probe(session: Session, job: Job, placement: Placement) -> Probe | None:
    plan = plan_of_job(job.plan)
    return probing.probe_for(
        plan_of_job(job.asked),
        plan,
        policy_of_job(job),
        points_of(session, plan.model, placement.device.kind, hardware_of(placement.device)),
        placement.limit_bytes,
        is_first=job.attempts == 0,
    )


def _planned(job: Job, start: WarmStart) -> dict[str, Any]:
    """How the attempt's plan came about, with what was given up for it."""
    if start.change is None:
        return job.planned
    summary, changes = job.planned["summary"], job.planned.get("changes") or []
    return {
        **job.planned,
        "summary": f"{summary} It {start.change.reason}.",
        "changes": [*changes, *change_values([start.change])],
    }
