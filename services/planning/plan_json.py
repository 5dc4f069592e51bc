"""Convert plans, policies and predictions to and from the JSON values of the database and the API."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from services.domain.memory.law import Prediction
from services.domain.plan.changes import Change
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Policy
from services.domain.planner.decision import Decision
from services.domain.planner.ladder import Rung
from services.store.models import Job

__all__ = [
    "as_planned",
    "change_values",
    "plan_of_job",
    "policy_of_job",
    "prediction_values",
    "rung_values",
    "waits_for_device",
]


def plan_of_job(values: Mapping[str, Any]) -> Plan:
    return Plan(**values)


def policy_of_job(job: Job) -> Policy:
    return Policy.from_dict(job.policy)


def waits_for_device(job: Job) -> bool:
    """Did the owner ask to wait for a device that can hold the job?"""
    return bool((job.request.get("device") or {}).get("wait"))


def as_planned(decision: Decision, capacity: int | None) -> dict[str, Any]:
    """The value of `job.planned`: how the plan came about."""
    return {
        "summary": decision.summary,
        "changes": change_values(decision.changes),
        "prediction": prediction_values(decision.prediction),
        "capacity_bytes": capacity,
    }


def change_values(changes: Iterable[Change]) -> list[dict[str, Any]]:
    return [
        {
            "lever": None if change.lever is None else str(change.lever),
            "field": change.field,
            "before": change.before,
            "after": change.after,
            "reason": change.reason,
            "what": change.what,
            "why": change.why,
            "cost": change.cost,
        }
        for change in changes
    ]


def prediction_values(prediction: Prediction) -> dict[str, Any]:
    return {
        "bytes": prediction.bytes,
        "low_bytes": prediction.low,
        "high_bytes": prediction.high,
        "source": str(prediction.source),
        "points": prediction.points,
    }


def rung_values(rung: Rung, device_ids: Sequence[str]) -> dict[str, Any]:
    """`device_ids`: the devices that `rung.fits` refers to, in the same order."""
    return {
        "plan": rung.plan.to_dict(),
        "predicted": prediction_values(rung.prediction),
        "lever": None if rung.lever is None else str(rung.lever),
        "fits": dict(zip(device_ids, rung.fits, strict=True)),
        "cost": rung.cost,
        "summary": rung.sentence,
    }
