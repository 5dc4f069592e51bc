"""List the fields of a user's own pipeline.config that differ when it runs, with the reason for each."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from services.datasets import library
from services.domain import pipeline_config
from services.domain.pipeline_config import Config, Decisions, Explanation, Group
from services.domain.plan.changes import outside_config
from services.domain.plan.plan import Plan
from services.domain.sizes import counted
from services.jobs.check_request import ANY_HOST_MEMORY_MB, CheckedRequest
from services.planning import attempt_config
from services.settings import Settings
from services.store.models import Attempt, Job

__all__ = ["EQUAL_FIELDS", "at_submit", "of_attempt", "with_count"]

Changes = list[dict[str, Any]]

# Fields that always equal another one. The planner decides on the training reader's fields.
EQUAL_FIELDS = {
    "train_config.max_number_of_boxes": "train_input_reader.max_number_of_boxes",
    **{
        f"eval_input_reader[0].{name}": f"train_input_reader.{name}"
        for name in ("max_number_of_boxes", "num_parallel_batches", "num_prefetch_batches", "num_parallel_map_calls")
    },
}
_IN_PROPORTION = "the schedule keeps its proportions"


def at_submit(settings: Settings, checked: CheckedRequest, plan: Plan, decided: Iterable[Mapping[str, Any]]) -> Changes:
    """What the first attempt under `plan` would change; empty if the request has no configuration.

    `decided`: the planner's changes. The input pipeline may still differ, as the worker sizes it for its own host.
    """
    request = checked.request
    if not request.get("pipeline_config"):
        return []
    run = attempt_config.compose(
        pipeline_config.parse(checked.base_config),
        plan,
        library.find(settings.datasets_dir, request["dataset"]),
        checkpoint=request.get("checkpoint") if plan.model == checked.asked.model else None,
        host_memory_mb=ANY_HOST_MEMORY_MB,
        is_own=True,
    )
    submitted = pipeline_config.parse(request["pipeline_config"])
    return _changes(submitted, run, _decisions(request, decided, request.get("checkpoint")), checked.asked, plan)


def of_attempt(job: Job, attempts: Sequence[Attempt]) -> Changes:
    """The same for an attempt. `attempts`: the job's attempts up to this one, which must have a configuration.

    If the job's owner sent no configuration, the catalogue's one is compared.
    """
    last = attempts[-1]
    decided = [change for attempt in attempts for change in (attempt.planned or {}).get("changes") or []]
    run = pipeline_config.parse(last.config)
    submitted = pipeline_config.parse(job.request.get("pipeline_config") or job.base_config)
    # A checkpoint's folder has its name.
    checkpoint = Path(run.train_config.fine_tune_checkpoint).parent.name or None
    return _changes(submitted, run, _decisions(job.request, decided, checkpoint), Plan(**job.asked), Plan(**last.plan))


def with_count(summary: str, changes: Changes) -> str:
    """The plan's `summary`, followed by the number of changed fields."""
    count = sum(change["group"] != Group.UNUSED for change in changes)
    if not count:
        return summary
    fields = counted(count, "field")
    return f"{summary} {fields} of your pipeline.config changed: config_changes lists each with its reason."


def _changes(submitted: Config, run: Config, decisions: Decisions, asked: Plan, plan: Plan) -> Changes:
    outside: Changes = []
    for field in outside_config(asked, plan):
        if field in decisions.decided:
            reason = decisions.decided[field]
            values = {"before": str(getattr(asked, field)), "after": str(getattr(plan, field)), "lever": reason.lever}
            outside.append({"field": field, "group": str(reason.group), "reason": reason.text, **values})
    return outside + pipeline_config.as_values(pipeline_config.differences(submitted, run, decisions))


def _decisions(request: Mapping[str, Any], decided: Iterable[Mapping[str, Any]], checkpoint: str | None) -> Decisions:
    reasons = {change["field"]: Explanation(Group.MEMORY, change["reason"], change.get("lever")) for change in decided}
    equal = {name: reasons[field] for name, field in EQUAL_FIELDS.items() if field in reasons}
    return Decisions({**equal, **reasons}, _requested(request), checkpoint)


def _requested(request: Mapping[str, Any]) -> dict[str, str]:
    """The plan's settings that the request sets besides the configuration, or that follow from these."""
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
