"""What was changed in a user's own pipeline.config between submitting and running it, field by field, and why."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from services.datasets import library
from services.domain import pipeline_config
from services.domain.pipeline_config import Config, Decisions, Explanation, Group
from services.domain.plan.plan import Plan
from services.domain.sizes import counted
from services.jobs.check_request import ANY_HOST_MEMORY_MB, Prepared
from services.planning import attempt_config
from services.settings import Settings
from services.store.models import Attempt, Job

__all__ = ["TWINS", "at_submit", "of_attempt", "told"]

Changes = list[dict[str, Any]]

# The bound on boxes stands in three places; the reader's is the one that is decided on.
TWINS = {
    "train_config.max_number_of_boxes": "train_input_reader.max_number_of_boxes",
    **{
        f"eval_input_reader[0].{name}": f"train_input_reader.{name}"
        for name in ("max_number_of_boxes", "num_parallel_batches", "num_prefetch_batches")
    },
}
_IN_PROPORTION = "the schedule keeps its proportions"


def at_submit(settings: Settings, prepared: Prepared, plan: Plan, decided: Iterable[Mapping[str, Any]]) -> Changes:
    """What the first attempt under `plan` would run instead of what was sent; none where no configuration was.

    `decided` are the planner's changes. The worker sizes the input pipeline to its own host.
    """
    request = prepared.request
    if not request.get("pipeline_config"):
        return []
    run = attempt_config.compose(
        pipeline_config.parse(prepared.base_config),
        plan,
        library.find(settings.datasets_dir, request["dataset"]),
        checkpoint=request.get("checkpoint") if plan.model == prepared.asked.model else None,
        host_memory_mb=ANY_HOST_MEMORY_MB,
        is_own=True,
    )
    submitted = pipeline_config.parse(request["pipeline_config"])
    return _changes(submitted, run, _decisions(request, decided, request.get("checkpoint")), prepared.asked, plan)


def of_attempt(job: Job, attempts: Sequence[Attempt]) -> Changes:
    """The same for an attempt. `attempts`: the job's, up to this one, whose configuration must have been written.

    Against the catalogue's configuration, as it was asked for, where the job's owner sent none.
    """
    last = attempts[-1]
    decided = [change for attempt in attempts for change in (attempt.planned or {}).get("changes") or []]
    run = pipeline_config.parse(last.config)
    submitted = pipeline_config.parse(job.request.get("pipeline_config") or job.base_config)
    # The folder of a checkpoint is called after it.
    checkpoint = Path(run.train_config.fine_tune_checkpoint).parent.name or None
    return _changes(submitted, run, _decisions(job.request, decided, checkpoint), Plan(**job.asked), Plan(**last.plan))


def told(summary: str, changes: Changes) -> str:
    """`summary`, which speaks of the plan, with a word on the fields that differ."""
    count = sum(change["group"] != Group.UNUSED for change in changes)
    if not count:
        return summary
    fields = counted(count, "field")
    return f"{summary} {fields} of your pipeline.config changed: config_changes lists each with its reason."


def _changes(submitted: Config, run: Config, decisions: Decisions, asked: Plan, plan: Plan) -> Changes:
    beside: Changes = []
    if plan.micro_batch != asked.micro_batch and "micro_batch" in decisions.decided:  # a pipeline.config cannot hold it
        reason = decisions.decided["micro_batch"]
        values = {"before": str(asked.micro_batch), "after": str(plan.micro_batch), "lever": reason.lever}
        beside.append({"field": "micro_batch", "group": str(reason.group), "reason": reason.text, **values})
    return beside + pipeline_config.as_values(pipeline_config.differences(submitted, run, decisions))


def _decisions(request: Mapping[str, Any], decided: Iterable[Mapping[str, Any]], checkpoint: str | None) -> Decisions:
    reasons = {change["field"]: Explanation(Group.MEMORY, change["reason"], change.get("lever")) for change in decided}
    twins = {twin: reasons[field] for twin, field in TWINS.items() if field in reasons}
    return Decisions({**twins, **reasons}, _requested(request), checkpoint)


def _requested(request: Mapping[str, Any]) -> dict[str, str]:
    """Settings of the plan that the request sets beside the configuration, or that follow from one of these."""
    train = {name: value for name, value in (request.get("train") or {}).items() if value is not None}
    found: dict[str, str] = {}
    if "batch_size" in train:
        found["batch_size"] = f"train.batch_size of the request is {train['batch_size']}"
        found["steps"] = found["learning_rate"] = f"{found['batch_size']}, and training sees as many images"
    for name in ("steps", "epochs"):
        if name in train:
            found["steps"] = f"train.{name} of the request is {train[name]:,}; {_IN_PROPORTION}"
    if "learning_rate" in train:
        found["learning_rate"] = f"train.learning_rate of the request is {train['learning_rate']}; {_IN_PROPORTION}"
    if request.get("image_size"):
        height, width = request["image_size"]
        found["image_size"] = f"image_size of the request is {height}x{width}"
    return found
