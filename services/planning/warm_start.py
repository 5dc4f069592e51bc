"""Choose the weights that a job's next attempt starts from if it has no checkpoint of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.domain.plan.changes import Change
from services.domain.plan.policy import Lever
from services.library.checkpoint_files import checkpoint_path
from services.settings import Settings
from services.store.models import Attempt, Job

__all__ = ["WarmStart", "warm_start"]


@dataclass(frozen=True)
class WarmStart:
    """`checkpoint`: the name of an uploaded one; None for random weights. `change`: the progress that is lost."""

    checkpoint: str | None
    change: Change | None = None


def warm_start(settings: Settings, job: Job, earlier: Sequence[Attempt]) -> WarmStart:
    """The job's own checkpoint fits the requested network only.

    A smaller network starts from the checkpoint that is registered under its model's name, if there is one.
    """
    model = job.plan["model"]
    if model == job.model:
        return WarmStart(job.request.get("checkpoint"))
    registered = model if checkpoint_path(settings.checkpoints_dir, model) else None
    given_up = earlier[-1].plan["model"] if earlier else model
    if given_up == model:
        return WarmStart(registered)
    steps = max(attempt.step for attempt in earlier if attempt.plan["model"] == given_up)
    after = f"the registered checkpoint {registered}" if registered else "from scratch"
    reason = f"starts {'from ' if registered else ''}{after}: {steps} steps of {given_up} are lost"
    return WarmStart(registered, Change(Lever.BACKBONE, "start", f"step {steps} of {given_up}", after, reason))
