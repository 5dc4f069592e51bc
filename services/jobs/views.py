"""What rows look like to those who ask: plain values that JSON can hold. No queries here."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from services.domain.catalogue import Model
from services.domain.contract import DeviceKind, Reason
from services.domain.jobs.states import State
from services.domain.memory.law import prediction_error
from services.domain.memory.shares import Use, use_of
from services.store.listing import Holding, Tries
from services.store.models import Attempt, Device, Job

__all__ = ["attempt_view", "device_view", "eta_s", "job_view", "model_view", "stamp", "stamp_of"]


def stamp(moment: datetime.datetime | None) -> str | None:
    """RFC 3339 with a Z."""
    return None if moment is None else moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")


def stamp_of(seconds: float) -> str | None:
    """As `stamp`, of a file's time."""
    return stamp(datetime.datetime.fromtimestamp(seconds, datetime.UTC))


def job_view(
    job: Job, owner: str, queue_position: int | None, tries: Tries | None, hold: str | None = None
) -> dict[str, Any]:
    """`hold`: which limit of its owner it waits for."""
    running = job.state == State.RUNNING
    here = f"/v1/jobs/{job.id}"
    return {
        "id": job.id,
        "name": job.name,
        "notes": job.notes,
        "owner": owner,
        "state": str(job.state),
        "reason": hold or job.reason,
        "stopping": job.stop,
        "priority": job.priority,
        "queue_position": queue_position,
        "created_at": stamp(job.created_at),
        "started_at": stamp(job.started_at),
        "finished_at": stamp(job.finished_at),
        "progress": {
            "step": job.step,
            "steps": job.steps,
            "eta_s": eta_s(job.step, job.steps, tries.step_s) if running and tries else None,
        },
        "current_attempt": job.attempts if running else None,
        "attempts": job.attempts,
        "setback": dataclasses.asdict(tries.setback) if tries and tries.setback else None,
        "device": {"id": tries.device_id, "name": tries.device_name} if tries else None,
        "model": job.model,
        "dataset": job.dataset,
        "policy": job.policy,
        "min_memory_bytes": job.min_memory_bytes,
        "asked": job.asked,
        "plan": job.plan,
        "predicted": (job.planned or {}).get("prediction"),
        "summary": (job.planned or {}).get("summary"),
        "version": job.version,
        "links": {
            "self": here,
            **{name: f"{here}/{name}" for name in ("attempts", "metrics", "logs", "events", "artifacts")},
        },
    }


def eta_s(step: int, steps: int, step_s: float | None) -> float | None:
    return None if step_s is None else round(max(0, steps - step) * step_s, 1)


def attempt_view(attempt: Attempt) -> dict[str, Any]:
    planned: Mapping[str, Any] = attempt.planned or {}
    outcome: Mapping[str, Any] = attempt.outcome or {}
    here = f"/v1/jobs/{attempt.job_id}/attempts/{attempt.number}"
    return {
        "job": attempt.job_id,
        "number": attempt.number,
        "plan": attempt.plan,
        "adjustments": attempt.adjustments or {},
        "device": {"id": attempt.device_id, "name": attempt.device_name},
        "limit_bytes": attempt.limit_bytes,
        "predicted": planned.get("prediction"),
        "measured_peak_bytes": attempt.peak_bytes,
        "measured_evaluation_peak_bytes": _evaluation_peak(attempt),
        "measured_host_peak_bytes": outcome.get("host_peak_bytes"),
        "prediction_error": _prediction_error(attempt),
        "changes": planned.get("changes") or [],
        "summary": planned.get("summary"),
        "ladder": planned.get("ladder") or [],
        "phase": attempt.phase,
        "step": attempt.step,
        "saved_step": attempt.saved_step,
        "started_at": stamp(attempt.started_at),
        "trainer_started_at": stamp(attempt.trainer_started_at),
        "ended_at": stamp(attempt.ended_at),
        "outcome": attempt.reason,
        "diagnosis": attempt.diagnosis,
        "finding": attempt.finding,
        "message": attempt.message,
        "evidence": attempt.outcome,
        "exit_status": attempt.exit_status,
        "followed_by": attempt.followed_by,
        "links": {
            "self": here,
            "config": f"{here}/config",
            "diff": f"{here}/diff",
            "logs": f"/v1/jobs/{attempt.job_id}/logs?attempt={attempt.number}",
        },
    }


def _evaluation_peak(attempt: Attempt) -> int | None:
    return ((attempt.outcome or {}).get("allocator") or {}).get("evaluation_peak")


def _prediction_error(attempt: Attempt) -> float | None:
    """None while it runs, and where memory ran out before the peak was reached."""
    if attempt.reason not in (Reason.COMPLETED, Reason.STOPPED) or attempt.step_s is None:
        return None
    predicted = ((attempt.planned or {}).get("prediction") or {}).get("bytes")
    error = prediction_error(predicted, attempt.peak_bytes, _evaluation_peak(attempt))
    return None if error is None else round(error, 4)


def device_view(
    device: Device, holding: Holding | None, present_since: datetime.datetime, *, is_hidden: bool = False
) -> dict[str, Any]:
    """A device that was not reported since `present_since` is shown as away. `is_hidden`: whose job has it is not."""
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


def model_view(model: Model) -> dict[str, Any]:
    sizes: Sequence[tuple[int, int]] = model.image_sizes
    return {
        "name": model.name,
        "family": str(model.family),
        "backbone": model.backbone,
        "image_size": list(model.image_size),
        "image_sizes": [list(size) for size in sizes],
        "batch_size": model.batch_size,
        "learning_rate": model.learning_rate,
        "steps": model.steps,
        "needs_masks": model.needs_masks,
        "smaller": model.smaller,
    }
