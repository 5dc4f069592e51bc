"""What a job shows of its training's results: the best checkpoint, what was exported, and why it stopped early."""

from collections.abc import Mapping
from typing import Any

from services.domain.contract import CHECKPOINTS_DIR, BestMetric, Outcome
from services.planning.adopt import end_early
from services.sanitize import count, number, text
from services.store.models import Job

__all__ = ["note_best", "note_end"]

_LONGEST_NAME = 256


def note_best(job: Job, attempt: int, data: Mapping[str, Any]) -> None:
    """Store the best checkpoint that an event of a trainer names. Null: there is none yet, of this architecture."""
    if "best" not in data:
        return  # another event, or an older trainer
    best, before = _best(attempt, data["best"]), (job.results or {}).get("best")
    if best and before and {**before, "attempt": attempt} == best:
        return  # a resumed trainer reports what an earlier attempt found
    _store(job, best=best)


def note_end(job: Job, outcome: Outcome) -> None:
    """Store what a completed training exported. If it stopped early, the step that it reached is the last one."""
    exported = outcome.exported
    if exported is not None:
        value = None if exported.value is None else number(exported.value)
        of_export = {"which": str(exported.which), "step": count(exported.step) or 0, "value": value}
        _store(job, exported_checkpoint={**of_export, "metric": exported.metric and str(exported.metric)})
    if outcome.stopped_early:
        _store(job, stopped_early=text(f"{outcome.message[:1].upper()}{outcome.message[1:]}."))
        end_early(job, count(outcome.step) or 0)


def _store(job: Job, **results: Any) -> None:
    job.results = {**(job.results or {}), **results}


def _best(attempt: int, reported: Any) -> dict[str, Any] | None:
    if not isinstance(reported, Mapping):
        return None
    step, value, metric, name = (reported.get(key) for key in ("step", "value", "metric", "checkpoint"))
    if count(step) is None or number(value) is None or metric not in list(BestMetric) or not isinstance(name, str):
        return None
    checkpoint = f"{CHECKPOINTS_DIR}/{text(name)[:_LONGEST_NAME]}"
    return {"step": step, "metric": metric, "value": value, "attempt": attempt, "checkpoint": checkpoint}
