"""Devices as the API shows them: their memory by holder, and the job that each one runs."""

import datetime
from typing import Any

from services.clock import stamp, utc_now
from services.devices.capacity import PRESENT_S, half_precision_of, present_devices
from services.domain.contract import DeviceKind
from services.domain.gpus.qualification import is_being_checked
from services.domain.jobs.eta import eta_s
from services.domain.memory.shares import Use, use_of
from services.errors import NotFound
from services.store import listing
from services.store.engine import Store
from services.store.listing import Holding
from services.store.models import Device
from services.users.principal import Principal, Scope

__all__ = ["count_problems", "device_view", "list_devices", "show_device"]

_MOST_PROBLEMS = 10


def list_devices(store: Store, principal: Principal) -> list[dict[str, Any]]:
    principal.require(Scope.READ)
    present_since = utc_now() - datetime.timedelta(seconds=PRESENT_S)
    with store.reading() as session:
        return [
            device_view(
                device, holding, present_since, is_hidden=holding is not None and not principal.sees(holding.owner_id)
            )
            for device, holding in listing.devices(session)
        ]


def show_device(store: Store, principal: Principal, device_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    found = next((shown for shown in list_devices(store, principal) if shown["id"] == device_id), None)
    if found is None:
        raise NotFound(f"there is no device {device_id}")
    return found


def count_problems(store: Store) -> dict[str, Any]:
    """How many devices are there, and what is wrong with some of them, without names: anybody may ask."""
    with store.reading() as session:
        there = present_devices(session, utc_now())
    said = sorted({device.problem for device in there if device.problem})
    return {
        "present": len(there),
        "with_problem": sum(device.problem is not None for device in there),
        "problems": said[:_MOST_PROBLEMS],
    }


def device_view(
    device: Device, holding: Holding | None, present_since: datetime.datetime, *, is_hidden: bool = False
) -> dict[str, Any]:
    """A device that was not reported since `present_since` is shown as absent. `is_hidden`: hide its job and owner."""
    use = _use(device, holding)
    return {
        "id": device.id,
        "host": device.host,
        "kind": device.kind,
        "index": device.index,
        "name": device.name,
        "total_bytes": device.total_bytes,
        "free_bytes": use.free,
        "ours_bytes": use.ours,
        "others_bytes": use.others,
        "bfloat16": device.bfloat16,
        "half_precision": half_precision_of(device),
        "uuid": device.uuid,
        "driver": device.driver,
        "capability": device.capability,
        "utilisation": device.utilisation,
        "temperature": device.temperature,
        "processes": device.processes,
        "problem": device.problem,
        "problem_since": stamp(device.problem_since),
        "health": device.health,
        "is_being_checked": is_being_checked(device.problem),
        "qualification": _qualification_view(device),
        "seen_at": stamp(device.seen_at),
        "is_present": device.seen_at >= present_since,
        "job": None if holding is None else _holder_view(holding, is_hidden),
    }


def _qualification_view(device: Device) -> dict[str, Any] | None:
    """The last check of a GPU. The fingerprint is for us alone."""
    if device.qualification is None:
        return None
    shown = {name: value for name, value in device.qualification.items() if name != "fingerprint"}
    return {**shown, "asked_at": stamp(device.qualify_since)}


def _use(device: Device, holding: Holding | None) -> Use:
    sampled = holding.sampled_bytes if holding is not None and device.kind != DeviceKind.GPU else None
    before = device.baseline_bytes or 0
    return use_of(device.total_bytes, device.free_bytes, device.processes, holding is not None, before, sampled)


def _holder_view(holding: Holding, is_hidden: bool) -> dict[str, Any]:
    attempt = holding.attempt
    memory = {"limit_bytes": attempt.limit_bytes, "peak_bytes": attempt.peak_bytes}
    if is_hidden:
        nobody = {"id": None, "attempt": None, "name": "another user's job", "owner": None}
        return {**nobody, **memory, "predicted": None, "phase": None, "progress": None, "link": None}
    return {
        "id": attempt.job_id,
        "attempt": attempt.number,
        "name": holding.name,
        "owner": holding.owner,
        **memory,
        "predicted": (attempt.planned or {}).get("prediction"),
        "phase": attempt.phase,
        "progress": {
            "step": attempt.step,
            "steps": holding.steps,
            "eta_s": eta_s(attempt.step, holding.steps, attempt.step_s),
        },
        "link": f"/v1/jobs/{attempt.job_id}",
    }
