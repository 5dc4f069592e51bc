"""Submitting a job: what was asked for is checked, planned, and becomes a row and an event, once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import config_changes, feasibility, once, planning, queries, quota
from services.accounts import Principal
from services.clock import utc_now
from services.domain.planner import Decision
from services.domain.states import State
from services.errors import Invalid, LimitReached
from services.once import Done, Key
from services.preparation import Prepared, prepare
from services.queue import wake_workers
from services.settings import Settings
from services.store import audit, events, idempotency, jobs
from services.store.engine import Store
from services.store.models import Job

__all__ = ["Submitted", "submit", "submit_once"]


@dataclass(frozen=True)
class Submitted:
    job_id: int
    body: dict[str, Any]  # the job as it was right after it was accepted
    replayed: bool

    @property
    def done(self) -> Done:
        return Done(self.body, f"/v1/jobs/{self.job_id}", replayed=self.replayed)


def submit(
    store: Store,
    settings: Settings,
    principal: Principal,
    request: Mapping[str, Any],
    idempotency_key: str | None = None,
) -> Submitted:
    """Accept a job. Raises Invalid, LimitReached, or Conflict where the key was used for another request.

    A job that no known device can hold is Invalid, unless it asks to wait for one.

    With a key, the same request again gives the same answer and no second job.
    """
    key = Key.of(principal, idempotency_key, "job", request)
    return submit_once(store, settings, principal, key, lambda: request)


def submit_once(
    store: Store, settings: Settings, principal: Principal, key: Key | None, ask: Callable[[], Mapping[str, Any]]
) -> Submitted:
    """As `submit`, where the key stands for more or less than the request, which is asked for only if it is needed."""
    replay = _replay(store, key)
    if replay:
        return replay
    request = ask()
    quota.check_priority(principal, request.get("priority") or 0)
    prepared = prepare(settings, request)
    try:
        with store.transaction() as session:
            job, changes = _create(session, settings, principal, prepared)
            body = {**queries.job_view(session, settings, job), "config_changes": changes}
            submitted = Submitted(job.id, body, replayed=False)
            once.keep(session, key, submitted.done, status=202)
    except (idempotency.KeyTaken, LimitReached):  # perhaps by the same request, sent twice at once
        replay = _replay(store, key)
        if replay is None:
            raise
        return replay
    wake_workers(settings)
    return submitted


def _create(
    session: Session, settings: Settings, principal: Principal, prepared: Prepared
) -> tuple[Job, list[dict[str, Any]]]:
    """The job, and what is changed in the pipeline.config that came with it."""
    quota.require_room(session, settings, principal.user_id)
    now = utc_now()
    first = planning.plan_first(session, prepared.asked, prepared.policy, prepared.min_memory_bytes, now)
    fault = feasibility.fault(prepared, first)
    if fault:
        raise Invalid([fault])
    decision = first.decision
    request, asked = prepared.request, prepared.asked
    job = Job(
        owner_id=principal.user_id,
        name=request.get("name") or f"{asked.model} on {request['dataset']}",
        notes=request.get("notes") or "",
        state=State.QUEUED,
        priority=request.get("priority") or 0,
        model=asked.model,
        dataset=request["dataset"],
        request=dict(request),
        policy=prepared.policy.to_dict(),
        base_config=prepared.base_config,
        asked=asked.to_dict(),
        plan=asked.to_dict(),
        planned={
            "summary": "As asked.",
            "changes": [],
            "prediction": planning.prediction_values(first.law.predict(asked)),
            "capacity_bytes": None,
        },
        min_memory_bytes=prepared.min_memory_bytes,
        steps=asked.steps,
        created_at=now,
        queued_at=now,
    )
    if isinstance(decision, Decision):
        job.plan, job.planned = decision.plan.to_dict(), planning.as_planned(decision, first.capacity)
        job.steps = decision.plan.steps
    changes = config_changes.at_submit(settings, prepared, planning.plan_of_job(job.plan), job.planned["changes"])
    job.planned = {**job.planned, "summary": config_changes.told(job.planned["summary"], changes)}
    job.reason = feasibility.awaited(prepared, first)
    jobs.add(session, job)
    events.add(session, job.id, "submitted", now, by=principal.name, summary=job.planned["summary"])
    audit.add(session, principal.user_id, "job.submit", f"job {job.id}", now, name=job.name)
    return job, changes


def _replay(store: Store, key: Key | None) -> Submitted | None:
    done = once.replay(store, key)
    return None if done is None else Submitted(int(done.body["id"]), done.body, replayed=True)
