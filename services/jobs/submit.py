"""Submit a job: check the request, plan the first attempt, and store the job once per Idempotency-Key."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import idempotency as once
from services.broker import wake_workers
from services.clock import utc_now
from services.domain.jobs.waiting import Waiting
from services.domain.plan.plan import Plan
from services.domain.planner.decision import Decision
from services.errors import Invalid, LimitReached
from services.idempotency import RequestKey, Result
from services.jobs import feasibility, own_config_changes, queries, quota, transitions
from services.jobs.check_request import CheckedRequest, check_request
from services.planning import adopt, plan_job
from services.planning.plan_json import as_planned, prediction_values
from services.settings import Settings
from services.store import jobs
from services.store.engine import Store
from services.store.models import Job
from services.store.users import audit, idempotency
from services.users.principal import Principal

__all__ = ["Submitted", "submit", "submit_once"]


@dataclass(frozen=True)
class Submitted:
    job_id: int
    body: dict[str, Any]  # the job as it was right after it was accepted
    replayed: bool

    @property
    def result(self) -> Result:
        return Result(self.body, f"/v1/jobs/{self.job_id}", replayed=self.replayed)


def submit(
    store: Store,
    settings: Settings,
    principal: Principal,
    request: Mapping[str, Any],
    idempotency_key: str | None = None,
) -> Submitted:
    """Accept a job. Raises Invalid, LimitReached, or Conflict if the key was used for another request.

    A job that no known device can hold is Invalid, unless it asks to wait for one. With a key, sending the same request
    again gives the same result and no second job.
    """
    key = RequestKey.of(principal.user_id, idempotency_key, "job", request)
    return submit_once(store, settings, principal, key, lambda: request)


def submit_once(
    store: Store,
    settings: Settings,
    principal: Principal,
    key: RequestKey | None,
    make_request: Callable[[], Mapping[str, Any]],
) -> Submitted:
    """As `submit`, with a key that is not made from the request. Calls `make_request` only if there is no replay."""
    replay = _replay(store, settings, key)
    if replay:
        return replay
    request = make_request()
    quota.check_priority(principal, request.get("priority") or 0)
    first = _planned_job(store, settings, check_request(settings, request))
    try:
        with store.transaction() as session:
            job = _create(session, settings, principal, first)
            body = {**queries.job_view(session, settings, job), "config_changes": first.changes}
            submitted = Submitted(job.id, body, replayed=False)
            once.store_result(session, key, submitted.result, status=202)
    except (idempotency.KeyTaken, LimitReached):  # perhaps by the same request, sent twice at once
        replay = _replay(store, settings, key)
        if replay is None:
            raise
        return replay
    wake_workers(settings)
    return submitted


@dataclass(frozen=True)
class _PlannedJob:
    """How the job will start. Computed before the transaction, because it takes time and needs no write lock."""

    request: CheckedRequest
    plan: Plan
    planned: dict[str, Any]
    changes: list[dict[str, Any]]  # of the submitted pipeline.config
    waiting: Waiting | None


def _planned_job(store: Store, settings: Settings, request: CheckedRequest) -> _PlannedJob:
    """Raises Invalid if no known device can hold the job and the request does not ask to wait."""
    asked = request.asked
    with store.reading() as session:
        first = plan_job.plan_first(session, asked, request.policy, request.min_memory_bytes, utc_now())
    fault = feasibility.fault(request, first)
    if fault:
        raise Invalid([fault])
    if isinstance(first.decision, Decision):
        plan, planned = first.decision.plan, as_planned(first.decision, first.capacity)
    else:
        predicted = prediction_values(first.law.predict(asked))
        plan = asked
        planned = {"summary": "As asked.", "changes": [], "prediction": predicted, "capacity_bytes": None}
    changes = own_config_changes.at_submit(settings, request, plan, planned["changes"])
    planned = {**planned, "summary": own_config_changes.with_count(planned["summary"], changes)}
    return _PlannedJob(request, plan, planned, changes, feasibility.awaited(request, first))


def _create(session: Session, settings: Settings, principal: Principal, first: _PlannedJob) -> Job:
    quota.require_queue_quota(session, settings, principal.user_id)
    now = utc_now()
    checked = first.request
    request, asked = checked.request, checked.asked
    job = Job(
        owner_id=principal.user_id,
        name=request.get("name") or f"{asked.model} on {request['dataset']}",
        notes=request.get("notes") or "",
        priority=request.get("priority") or 0,
        model=asked.model,
        dataset=request["dataset"],
        request=dict(request),
        policy=checked.policy.to_dict(),
        base_config=checked.base_config,
        asked=asked.to_dict(),
        min_memory_bytes=checked.min_memory_bytes,
    )
    adopt.plan_new_job(job, first.plan, first.planned)
    transitions.put_in_queue(session, job, now, by=principal.name, waiting=first.waiting)
    audit.add(session, principal.user_id, "job.submit", f"job {job.id}", now, name=job.name)
    return job


def _replay(store: Store, settings: Settings, key: RequestKey | None) -> Submitted | None:
    stored = once.replay(store, key)
    if stored is None:
        return None
    job_id = int(stored.body["id"])
    with store.reading() as session:
        job = jobs.get(session, job_id)
        # An older version may have stored the answer: fields that it did not have are as they are now.
        current = {} if job is None else queries.job_view(session, settings, job)
    return Submitted(job_id, {**current, **stored.body}, replayed=True)
