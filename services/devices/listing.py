"""Devices as the API shows them: their memory by holder, and the job that each one runs."""

import datetime
from typing import Any

from services.clock import stamp, utc_now
from services.devices.capacity import PRESENT_S
from services.domain.contract import DeviceKind
from services.domain.jobs.eta import eta_s
from services.domain.memory.shares import Use, use_of
from services.store import listing
from services.store.engine import Store
from services.store.listing import Holding
from services.store.models import Device
from services.users.principal import Principal, Scope

__all__ = ["device_view", "list_devices"]


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
        "utilisation": device.utilisation,
        "temperature": device.temperature,
        "processes": device.processes,
        "problem": device.problem,
        "problem_since": stamp(device.problem_since),
        "seen_at": stamp(device.seen_at),
        "is_present": device.seen_at >= present_since,
        "job": None if holding is None else _holder_view(holding, is_hidden),
    }


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
