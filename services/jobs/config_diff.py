"""List the configuration fields that changed from one attempt to the next, with the reason for each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from services.domain import pipeline_config
from services.domain.pipeline_config import Config
from services.domain.plan.changes import outside_config
from services.domain.plan.plan import Plan
from services.jobs import own_config_changes, queries
from services.jobs.own_config_changes import EQUAL_FIELDS
from services.store import attempts, jobs
from services.store.engine import Store
from services.store.models import Attempt, Job
from services.users.principal import Principal

__all__ = ["show_diff", "show_diff_to_submitted"]

_BY_DATA = "sized to the dataset and to the host's free memory"
_FOLLOWS = "follows from the other changes"

# Reasons for fields that no decision of the planner explains.
_OTHER_REASONS: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(r"num_classes$|max_number_of_boxes$|^(train_input_reader|eval_input_reader|eval_config)"), _BY_DATA),
    (re.compile(r"^train_config\.fine_tune_checkpoint"), "set from the checkpoint that the job names"),
]
_NOT_IN_CONFIG = ("async_allocator", "start")


def show_diff(store: Store, principal: Principal, job_id: int, number: int) -> dict[str, Any]:
    """The changes since the previous attempt; for the first attempt, since the request. Raises NotFound.

    If the attempt has no configuration, only the planner's changes.
    """
    with store.reading() as session:
        attempt = queries.visible_attempt(session, principal, job_id, number)
        job = jobs.get(session, job_id)
        before = attempts.get(session, job_id, number - 1)
    assert job is not None
    planned: Mapping[str, Any] = attempt.planned or {}
    if attempt.config and (before is None or before.config):
        changes = _changes(*_configs(job, before, attempt), _plan_before(job, before), Plan(**attempt.plan), planned)
    else:
        changes = iter(planned.get("changes") or [])
    return {
        "job": job_id,
        "attempt": number,
        "against": None if before is None else before.number,
        "summary": planned.get("summary"),
        "changes": list(changes),
    }


def show_diff_to_submitted(store: Store, principal: Principal, job_id: int, number: int) -> dict[str, Any]:
    """Every field that differs between the submitted configuration and the attempt's. Raises NotFound.

    If the attempt has no configuration, only the planner's changes.
    """
    with store.reading() as session:
        attempt = queries.visible_attempt(session, principal, job_id, number)
        job = jobs.get(session, job_id)
        earlier = [one for one in attempts.of_job(session, job_id) if one.number <= number]
    assert job is not None
    planned: Mapping[str, Any] = attempt.planned or {}
    changes = own_config_changes.of_attempt(job, earlier) if attempt.config else planned.get("changes") or []
    summary = planned.get("summary")
    return {"job": job_id, "attempt": number, "against": "submitted", "summary": summary, "changes": changes}


def _plan_before(job: Job, before: Attempt | None) -> Plan:
    return Plan(**(job.asked if before is None else before.plan))


def _configs(job: Job, before: Attempt | None, attempt: Attempt) -> tuple[Config, Config]:
    after = pipeline_config.parse(attempt.config)
    if before is not None:
        return pipeline_config.parse(before.config), after
    # The requested configuration names no files, so paths are not compared.
    asked = pipeline_config.apply(Plan(**job.asked), pipeline_config.parse(job.base_config))
    return pipeline_config.without_paths(asked)[0], pipeline_config.without_paths(after)[0]


def _changes(
    before: Config, after: Config, old: Plan, new: Plan, planned: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    causes = {change["field"]: change for change in planned.get("changes") or []}
    for field in outside_config(old, new):
        yield _entry(field, str(getattr(old, field)), str(getattr(new, field)), causes)
    yield from (dict(causes[field]) for field in _NOT_IN_CONFIG if field in causes)
    for change in pipeline_config.compare(before, after):
        yield _entry(change.field, change.before, change.after, causes)


def _entry(
    field: str, before: str | None, after: str | None, causes: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    sources = (field, EQUAL_FIELDS.get(field, ""), *pipeline_config.settings_of(field))
    cause = next((causes[name] for name in sources if name in causes), None)
    if cause is None:
        reason = next((reason for pattern, reason in _OTHER_REASONS if pattern.search(field)), _FOLLOWS)
        cause = {"lever": None, "reason": reason}
    return {**cause, "field": field, "before": before, "after": after}
