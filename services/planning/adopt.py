"""How a plan becomes a job's, and what an attempt under it starts from."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from services.domain.contract import resumed_step
from services.domain.plan.changes import Change
from services.domain.plan.policy import Lever
from services.domain.planner.planner import Decision
from services.planning.attempt_config import checkpoint_path
from services.planning.plan_json import as_planned, plan_of_job
from services.settings import Settings
from services.store import events
from services.store.models import Attempt, Job
from services.webhooks import outbox

__all__ = ["Start", "adopt", "adopt_while_queued", "start_of"]


def adopt(job: Job, decision: Decision, capacity: int | None) -> None:
    """Make the decided plan the job's. Its progress is told in the new plan's steps; another network has none."""
    before, after = plan_of_job(job.plan), decision.plan
    job.plan, job.planned, job.steps = after.to_dict(), as_planned(decision, capacity), after.steps
    kept = before.model == after.model
    job.step = min(after.steps, resumed_step(job.step or 0, before.batch_size, after.batch_size)) if kept else 0


def adopt_while_queued(
    session: Session, job: Job, decision: Decision, capacity: int | None, now: datetime.datetime
) -> None:
    """As `adopt`, for a job that waits: those who watch it are told. What a remedy of an earlier attempt changed is
    still to be told with the next one."""
    remedied = [change for change in job.planned.get("changes") or [] if change["lever"] is None]
    adopt(job, decision, capacity)
    job.planned = {**job.planned, "changes": [*job.planned["changes"], *remedied]}
    job.version += 1
    events.add(session, job.id, "planned", now, summary=decision.summary)
    how = {"summary": decision.summary, "changes": job.planned["changes"], "plan": job.plan}
    outbox.tell(session, job, outbox.Kind.REPLANNED, now, **how)


@dataclass(frozen=True)
class Start:
    """`checkpoint` is what a network without steps of its own starts from; `change` says what was given up for it."""

    checkpoint: str | None
    change: Change | None = None


def start_of(settings: Settings, job: Job, earlier: Sequence[Attempt]) -> Start:
    """What the next attempt starts from, where it finds no checkpoint of its own network in the job's directory.

    The job's own checkpoint fits the network that was asked for. For a smaller one it is the checkpoint that is
    registered under the model's name, if there is one.
    """
    model = job.plan["model"]
    if model == job.model:
        return Start(job.request.get("checkpoint"))
    registered = model if checkpoint_path(settings.checkpoints_dir, model) else None
    given_up = earlier[-1].plan["model"] if earlier else model
    if given_up == model:
        return Start(registered)
    steps = max(attempt.step for attempt in earlier if attempt.plan["model"] == given_up)
    after = f"the registered checkpoint {registered}" if registered else "from scratch"
    reason = f"starts {'from ' if registered else ''}{after}: {steps} steps of {given_up} are lost"
    return Start(registered, Change(Lever.BACKBONE, "start", f"step {steps} of {given_up}", after, reason))
