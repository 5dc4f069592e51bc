"""What submitting a request would come to, without submitting it."""

from collections.abc import Mapping, Sequence
from typing import Any

from services import planning
from services.clock import utc_now
from services.domain import planner
from services.domain.memory import MemoryLaw
from services.domain.planner import Decision
from services.domain.plans import Plan
from services.planning import Room
from services.preparation import Prepared, prepare
from services.settings import Settings
from services.store.engine import Store

__all__ = ["estimate"]


def estimate(store: Store, settings: Settings, request: Mapping[str, Any]) -> dict[str, Any]:
    """The first plan, what each device would make of it, and what would follow. Raises Invalid as submitting does."""
    prepared = prepare(settings, request)
    with store.reading() as session:
        first = planning.plan_first(session, prepared.asked, prepared.policy, prepared.min_memory_bytes, utc_now())
    decision, law = first.decision, first.law
    plan = decision.plan if isinstance(decision, Decision) else prepared.asked
    return {
        "asked": prepared.asked.to_dict(),
        "plan": decision.plan.to_dict() if isinstance(decision, Decision) else None,
        "predicted": planning.prediction_values(law.predict(plan)),
        "changes": planning.as_planned(decision, None)["changes"] if isinstance(decision, Decision) else [],
        "summary": decision.summary if isinstance(decision, Decision) else decision.reason,
        "possible": isinstance(decision, Decision),
        "devices": [_on_device(room, plan, law) for room in first.rooms],
        "ladder": _ladder(prepared, law, first.rooms),
    }


def _on_device(room: Room, plan: Plan, law: MemoryLaw) -> dict[str, Any]:
    predicted = law.predict(plan)
    return {
        "id": room.device_id,
        "name": room.name,
        "total_bytes": room.total_bytes,
        "free_bytes": room.free_bytes,
        "predicted": planning.prediction_values(predicted),
        "fits": predicted.high <= room.total_bytes,
        "fits_now": predicted.high <= room.free_bytes,
    }


def _ladder(prepared: Prepared, law: MemoryLaw, found: Sequence[Room]) -> list[dict[str, Any]]:
    rungs = planner.ladder(prepared.asked, prepared.policy, law, [room.total_bytes for room in found])
    return [
        {
            "plan": rung.plan.to_dict(),
            "predicted": planning.prediction_values(rung.prediction),
            "lever": None if rung.lever is None else str(rung.lever),
            "fits": {room.device_id: fits for room, fits in zip(found, rung.fits, strict=True)},
            "summary": rung.sentence,
        }
        for rung in rungs
    ]
