"""Which job starts where. Jobs go by priority, then by whose turn it is; a device takes one at a time."""

import dataclasses
import datetime
import functools
import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import usage
from services.clock import utc_now
from services.devices.capacity import (
    KNOWN_S,
    PRESENT_S,
    Capacity,
    absent_devices,
    capacities_of,
    largest_device,
    present_devices,
)
from services.domain.contract import DeviceKind, Probe
from services.domain.jobs.states import State, Verb, advance
from services.domain.memory.law import MemoryLaw
from services.domain.plan.adjustments import NONE, Adjustments
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Prefer
from services.domain.planner import planner
from services.domain.planner import probe as probing
from services.domain.planner.planner import Decision
from services.planning import adopt, grow_back
from services.planning.adopt import Start
from services.planning.measurements import law_for, points_of
from services.planning.plan_json import change_values, plan_of_job, policy_of_job, rung_values, waits_for_device
from services.scheduling import waiting
from services.settings import Settings
from services.store import attempts, devices, events, jobs, leases, queue_order
from services.store.engine import Store
from services.store.models import Attempt, Device, Job, Lease
from services.usage import Standing
from services.webhooks import outbox

__all__ = ["Claim", "claim"]

_LOOK_AT = 100  # queued jobs at a time
_TRIES = 5
_RUNGS = 5  # of a ladder that is kept with each attempt
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
    evaluations: int | None = None
    owns_config: bool = False  # the job's owner sent a pipeline.config


def claim(store: Store, settings: Settings, boot_id: str) -> Claim | None:
    """Give the first job that can start now a free device of this host, or return None.

    One transaction: the job is running and the device leased, or nothing has happened. Jobs that fit no device at
    all any more are planned anew on the way, or fail with the reason.
    """
    now = utc_now()
    with store.reading() as session:  # without the write lock: most looks find nothing to do
        if not _free_devices(session, settings, now) or not jobs.any_claimable(session, now):
            return None
    for _ in range(_TRIES):
        try:
            with store.transaction() as session:
                return _claim(session, settings, boot_id, now)
        except leases.AlreadyLeased:  # another process of this host was first with that device
            continue
    return None


def _claim(session: Session, settings: Settings, boot_id: str, now: datetime.datetime) -> Claim | None:
    look = _Look(session, settings, now)
    standings = usage.of_everybody(session, settings, now)
    for job in _waiting(session, standings, now):
        job_id, owner_id = job.id, job.owner_id
        try:
            device = _place(look, job)
            if device is None or not usage.may_start(session, settings, now, owner_id, standings[owner_id]):
                continue
            with session.begin_nested():
                return _lease(session, settings, job, device, _ladder(look, job, device), boot_id, now)
        except (TypeError, ValueError, LookupError):  # a row of a newer version, say: the others can start
            _log.exception("job %s cannot be started", job_id)
            if job in session:
                session.expunge(job)  # with what was changed of it and is not flushed
    return None


def _waiting(session: Session, standings: Mapping[int, Standing], now: datetime.datetime) -> Iterator[Job]:
    """In their order, some at a time: usually one of the first is the one."""
    ids = queue_order.claimable(session, usage.shares(standings), now)
    for start in range(0, len(ids), _LOOK_AT):
        yield from jobs.lock_claimable(session, ids[start : start + _LOOK_AT], now)


def _free_devices(session: Session, settings: Settings, now: datetime.datetime) -> Sequence[Device]:
    return devices.unleased(session, settings.host, now - datetime.timedelta(seconds=PRESENT_S))


class _Look:
    """What there is, read once for all the jobs of a look. `free` are this host's, `present` everybody's."""

    def __init__(self, session: Session, settings: Settings, now: datetime.datetime) -> None:
        self.session = session
        self.now = now
        self._is_private = settings.private_jobs
        self.free = _free_devices(session, settings, now)
        self.rooms = {room.device_id: room for room in capacities_of(self.free)}
        self.present = capacities_of(present_devices(session, now))
        self._laws: dict[tuple[str, str], MemoryLaw] = {}

    def law(self, job: Job, room: Capacity) -> MemoryLaw:
        key = (job.model, room.kind)
        if key not in self._laws:
            self._laws[key] = law_for(self.session, [job.model], room.kind)
        return self._laws[key]

    @functools.cached_property
    def _holders(self) -> Sequence[tuple[str, int, int]]:
        return leases.holders(self.session)

    def holders(self, job: Job) -> Mapping[str, str]:
        """What each device is busy with, as this job's owner may hear of it."""
        return {
            device_id: "another user's job" if self._is_private and owner_id != job.owner_id else f"job {job_id}"
            for device_id, job_id, owner_id in self._holders
        }

    def there(self, job: Job) -> list[Capacity]:
        """The devices that the job may be planned for; those with a problem are not waited for for ever."""
        is_patient = job.queued_at > self.now - datetime.timedelta(seconds=KNOWN_S)
        return [room for room in self.present if is_patient or room.problem is None]


def _place(look: _Look, job: Job) -> Device | None:
    """The smallest free device that holds the job; None where it has to wait, or has just failed."""
    if _starts_as_asked(job):
        # Whatever the prediction says, it has the best chances on the largest.
        fitting = [device for device in look.free if device.total_bytes >= job.min_memory_bytes]
        _wait(job, None if fitting else waiting.for_size(job.min_memory_bytes))
        return fitting[-1] if fitting else None
    if not _fit_to(look, job):
        return None
    device = _holding(look, job) or _holding_if_smaller(look, job)
    if device is None:
        why = waiting.for_a_device(
            look.free, look.there(job), look.holders(job), lambda room: _suits(job, room, look.law(job, room))
        )
        _wait(job, why)
        return None
    room = look.rooms[device.id]
    grow_back.grow(look.session, job, room, _limit(device), look.law(job, room), look.now)
    return device


def _ladder(look: _Look, job: Job, device: Device) -> list[dict[str, Any]]:
    """What would follow should the job run out of the device's memory: the next steps down, by what is known now."""
    room = look.rooms[device.id]
    rungs = planner.ladder(
        plan_of_job(job.asked),
        policy_of_job(job),
        look.law(job, room),
        [_limit(device)],
        bfloat16=room.bfloat16,
        below=plan_of_job(job.plan),
        most=_RUNGS,
    )
    return [rung_values(rung, [device.id]) for rung in rungs]


def _holding(look: _Look, job: Job) -> Device | None:
    return next((device for device in look.free if _holds(look.rooms[device.id], job, look)), None)


def _holding_if_smaller(look: _Look, job: Job) -> Device | None:
    room = largest_device(list(look.rooms.values()), job.min_memory_bytes)
    if room is None or not grow_back.shrink_back(look.session, job, room, look.law(job, room), look.now):
        return None
    return next(device for device in look.free if device.id == room.device_id)


def _starts_as_asked(job: Job) -> bool:
    return job.attempts == 0 and not policy_of_job(job).plan_ahead


def _holds(room: Capacity, job: Job, look: _Look) -> bool:
    return room.size_bytes >= job.min_memory_bytes and room.free_bytes >= _needed(job, look.law(job, room))


def _needed(job: Job, law: MemoryLaw) -> int:
    """The predicted peak with its margin. A plan that was chosen as a last try is worth the device it was tried for."""
    predicted = law.predict(plan_of_job(job.plan)).high
    capacity = job.planned.get("capacity_bytes")
    return min(predicted, capacity) if capacity else predicted


def _fit_to(look: _Look, job: Job) -> bool:
    """See to it that the job's plan fits the largest device that there is; False where it cannot."""
    room = largest_device(look.there(job), job.min_memory_bytes)
    if room is None:
        _wait(job, waiting.for_repair(look.present) or waiting.for_size(job.min_memory_bytes))
        return False
    law = look.law(job, room)
    plan = plan_of_job(job.plan)
    if _suits(job, room, law):
        return True
    policy = dataclasses.replace(policy_of_job(job), plan_ahead=True)
    decision = planner.first_plan(plan, policy, law, room.total_bytes, bfloat16=room.bfloat16)
    if policy.prefer is Prefer.WAIT or not isinstance(decision, Decision):
        away = _awaited(look, job)
        if away is not None:
            _wait(job, f"Waits for {away.device_id}: its host has not reported lately")
            return False
    if isinstance(decision, Decision):
        adopt.adopt_while_queued(look.session, job, decision, room.total_bytes, look.now)
        return True
    if waits_for_device(job):
        _wait(job, waiting.for_larger(decision.reason))
        return False
    job.state = advance(State(job.state), Verb.FAIL)
    job.reason, job.finished_at = decision.reason, look.now
    job.version += 1
    events.add(look.session, job.id, "state", look.now, state=job.state, reason=job.reason)
    outbox.tell_end(look.session, job, look.now)
    return False


def _awaited(look: _Look, job: Job) -> Capacity | None:
    """A device that would hold the job, if its host came back."""
    for room in capacities_of(absent_devices(look.session, look.now)):
        if _suits(job, room, look.law(job, room)):
            return room
    return None


def _suits(job: Job, room: Capacity, law: MemoryLaw) -> bool:
    """Would the whole device hold the job's plan? One that is known to run out on it does not."""
    known = law.predict(plan_of_job(job.plan)).low
    fits = _needed(job, law) <= room.total_bytes and known <= room.total_bytes
    return fits and room.size_bytes >= job.min_memory_bytes


def _wait(job: Job, reason: str | None) -> None:
    if job.reason != reason:  # a write only where something is new
        job.reason = reason


def _limit(device: Device) -> int:
    """What the attempt can have: of a GPU, what others have left of it."""
    [room] = capacities_of([device])
    return room.free_bytes if device.kind == DeviceKind.GPU else room.total_bytes


def _lease(
    session: Session,
    settings: Settings,
    job: Job,
    device: Device,
    ladder: list[dict[str, Any]],
    boot_id: str,
    now: datetime.datetime,
) -> Claim:
    token = secrets.token_hex(16)
    probe = _probe(session, job, device)
    start = adopt.start_of(settings, job, attempts.of_job(session, job.id))
    job.state = advance(State(job.state), Verb.CLAIM)
    job.attempts += 1
    job.version += 1
    job.reason, job.stop, job.not_before = None, None, None
    job.started_at = job.started_at or now
    leases.take(
        session,
        Lease(
            device_id=device.id,
            job_id=job.id,
            attempt=job.attempts,
            token=token,
            host=settings.host,
            boot_id=boot_id,
            created_at=now,
            expires_at=now + datetime.timedelta(seconds=settings.lease_s),
        ),
    )
    if device.kind == DeviceKind.GPU:  # what is to be free again afterwards
        others = sum(process.get("used_bytes") or 0 for process in device.processes)
        device.baseline_bytes = device.total_bytes - device.free_bytes - others
    attempts.add(
        session,
        Attempt(
            job_id=job.id,
            number=job.attempts,
            plan=job.plan,
            planned={**_planned(job, start), "ladder": ladder},
            adjustments=job.adjustments,
            config="",
            device_id=device.id,
            device_name=device.name,
            limit_bytes=_limit(device),
            host=settings.host,
            token=token,
            phase="starting",
            started_at=now,
        ),
    )
    events.add(session, job.id, "state", now, attempt=job.attempts, state=job.state, device=device.id)
    _log.info("job %s, attempt %s: claimed for %s", job.id, job.attempts, device.id)
    return Claim(
        job_id=job.id,
        attempt=job.attempts,
        token=token,
        device_id=device.id,
        device_key=device.key,
        model=plan_of_job(job.plan).model,
        plan=plan_of_job(job.plan),
        base_config=job.base_config,
        dataset=job.dataset,
        checkpoint=start.checkpoint,
        adjustments=Adjustments.from_dict(job.adjustments),
        probe=probe,
        evaluations=(job.request.get("train") or {}).get("evaluations"),
        owns_config=bool(job.request.get("pipeline_config")),
    )


def _probe(session: Session, job: Job, device: Device) -> Probe | None:
    plan = plan_of_job(job.plan)
    return probing.probe_for(
        plan_of_job(job.asked),
        plan,
        policy_of_job(job),
        points_of(session, plan.model, device.kind),
        _limit(device),
        is_first=job.attempts == 0,
    )


def _planned(job: Job, start: Start) -> dict[str, Any]:
    """How the attempt's plan came about, with what was given up for it."""
    if start.change is None:
        return job.planned
    summary, changes = job.planned["summary"], job.planned.get("changes") or []
    return {
        **job.planned,
        "summary": f"{summary} It {start.change.reason}.",
        "changes": [*changes, *change_values([start.change])],
    }
