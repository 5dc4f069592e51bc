"""The only writer of a job's plan.

The plan is written when a job is submitted, fitted to the present devices, grown on a larger one, shrunk back, probed,
or out of memory. `job.planned`, which explains the plan, and `job.steps` are written here too.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from services.domain.contract import resumed_step
from services.domain.plan.changes import Change
from services.domain.plan.plan import Plan
from services.domain.planner.decision import Decision
from services.planning.plan_json import as_planned, change_values, plan_of_job
from services.store import events
from services.store.models import Attempt, Job
from services.webhooks import outbox

__all__ = ["end_early", "plan_after_oom", "plan_new_job", "plan_while_queued", "probed_plan", "record_remedy"]


def plan_new_job(job: Job, plan: Plan, planned: Mapping[str, Any]) -> None:
    """Give a new job its plan."""
    job.plan, job.planned, job.steps = plan.to_dict(), dict(planned), plan.steps


def plan_while_queued(
    session: Session,
    job: Job,
    decision: Decision,
    capacity: int | None,
    now: datetime.datetime,
    **extra: Any,
) -> None:
    """Fit, grow or shrink back a queued job. `extra` is stored in `job.planned`.

    Keeps the changes of an earlier remedy, so that the next attempt reports them too.
    """
    remedied = [change for change in job.planned.get("changes") or [] if change["lever"] is None]
    _replace(job, decision, capacity)
    job.planned = {**job.planned, "changes": [*job.planned["changes"], *remedied], **extra}
    job.version += 1
    events.add(session, job.id, "planned", now, summary=decision.summary)
    _notify_replanned(session, job, now)


def plan_after_oom(
    session: Session,
    job: Job,
    attempt: int,
    decision: Decision,
    capacity: int,
    now: datetime.datetime,
    end: Mapping[str, Any],
) -> None:
    """Give a job whose attempt ran out of memory its smaller plan. `end`: how the attempt ended, for webhooks."""
    _replace(job, decision, capacity)
    how = {name: job.planned[name] for name in ("summary", "changes")}
    events.add(session, job.id, "replanned", now, attempt, plan=job.plan, **how)
    _notify_replanned(session, job, now, **end)


def probed_plan(job: Job, attempt: Attempt, plan: Plan, planned: Mapping[str, Any]) -> None:
    """Make the probed plan the plan of the running attempt and of its job."""
    attempt.plan, attempt.planned = plan.to_dict(), dict(planned)
    job.plan, job.planned = plan.to_dict(), dict(planned)
    job.version += 1


def end_early(job: Job, step: int) -> None:
    """Training stopped early: this step was the last one. The plan stays what was planned."""
    job.steps = max(1, min(step, job.steps))


def record_remedy(job: Job, summary: str, changes: Sequence[Change]) -> None:
    """Keep the plan, and store what a remedy changed after an attempt, so that the next attempt reports it."""
    job.planned = {**job.planned, "summary": summary, "changes": change_values(changes)}


def _replace(job: Job, decision: Decision, capacity: int | None) -> None:
    """Progress is counted in steps of the plan, so it is converted; another network starts at step 0."""
    before, after = plan_of_job(job.plan), decision.plan
    job.plan, job.planned, job.steps = after.to_dict(), as_planned(decision, capacity), after.steps
    kept = before.model == after.model
    job.step = min(after.steps, resumed_step(job.step or 0, before.batch_size, after.batch_size)) if kept else 0


def _notify_replanned(session: Session, job: Job, now: datetime.datetime, **end: Any) -> None:
    how = {"summary": job.planned["summary"], "changes": job.planned["changes"], "plan": job.plan}
    outbox.notify_owner(session, job, outbox.Kind.REPLANNED, now, **end, **how)
