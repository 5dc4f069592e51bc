"""Estimate what submitting a request would lead to, without submitting it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from services.clock import utc_now
from services.devices.capacity import Capacity
from services.domain.memory.law import MemoryLaw
from services.domain.plan.plan import Plan
from services.domain.planner.decision import Decision, GiveUp
from services.domain.planner.ladder import ladder
from services.domain.planner.request import PlanRequest
from services.jobs import box_warnings, feasibility, own_config_changes, quota
from services.jobs.check_request import check_request
from services.planning import plan_job
from services.planning.plan_json import as_planned, prediction_values, rung_values
from services.settings import Settings
from services.store import measurements
from services.store.engine import Store
from services.users.principal import Principal

__all__ = ["estimate"]


def estimate(store: Store, settings: Settings, principal: Principal, request: Mapping[str, Any]) -> dict[str, Any]:
    """The first plan, whether it fits each device, and the smaller plans that may follow. Raises Invalid."""
    quota.check_priority(principal, request.get("priority") or 0)
    checked = check_request(settings, request)
    with store.reading() as session:
        first = plan_job.plan_first(session, checked.asked, checked.policy, checked.min_memory_bytes, utc_now())
        host_peak = measurements.host_peak(session, checked.asked.model)
    decision, law = first.decision, first.law
    fault, awaited = feasibility.fault(checked, first), feasibility.awaited(checked, first)
    words = awaited.sentence if awaited else None
    plan = decision.plan if isinstance(decision, Decision) else checked.asked
    capacities = [device.usable_bytes for device in first.present]
    device_ids = [device.device_id for device in first.present]
    decided = as_planned(decision, None)["changes"] if isinstance(decision, Decision) else []
    changes = own_config_changes.at_submit(settings, checked, plan, decided)
    rungs = ladder(PlanRequest(checked.asked, checked.policy, law, first.half), capacities)
    return {
        "asked": checked.asked.to_dict(),
        "plan": decision.plan.to_dict() if isinstance(decision, Decision) else None,
        "predicted": prediction_values(law.predict(plan)),
        "changes": decided,
        "warnings": box_warnings.small_boxes(settings, checked, plan),
        "config_changes": changes,
        "summary": _sentence(fault.message if fault else words)
        or own_config_changes.with_count(_summary(decision), changes),
        "possible": fault is None and awaited is None,
        "problem": None if fault is None else dataclasses.asdict(fault),
        "waits_for": words,
        "devices": [_on_device(device, plan, law) for device in first.present],
        "ladder": [rung_values(rung, device_ids) for rung in rungs],
        "host_peak_bytes": host_peak,
    }


def _sentence(clause: str | None) -> str:
    return f"{clause[0].upper()}{clause[1:]}" if clause else ""


def _summary(decision: Decision | GiveUp) -> str:
    return decision.summary if isinstance(decision, Decision) else decision.reason


def _on_device(device: Capacity, plan: Plan, law: MemoryLaw) -> dict[str, Any]:
    predicted = law.predict(plan)
    return {
        "id": device.device_id,
        "name": device.name,
        "total_bytes": device.usable_bytes,
        "free_bytes": device.free_bytes,
        "predicted": prediction_values(predicted),
        "fits": predicted.high <= device.usable_bytes,
        "fits_now": predicted.high <= device.free_bytes and device.problem is None,
        "problem": device.problem,
    }
