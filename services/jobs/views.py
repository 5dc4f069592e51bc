"""Jobs and attempts as JSON values for the API. No queries here."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from services.clock import stamp
from services.domain.contract import HostCores, Reason
from services.domain.jobs import input_wait
from services.domain.jobs.eta import eta_s
from services.domain.jobs.states import State
from services.domain.jobs.waiting import Waiting
from services.domain.memory.law import prediction_error
from services.planning.past_attempts import device_kind
from services.store.listing import Running, Tries
from services.store.models import Attempt, Job

__all__ = ["QueuePlace", "attempt_view", "input_wait_view", "job_view", "waiting_view"]


@dataclass(frozen=True)
class QueuePlace:
    """Of a queued job. `expected_start_s`: None where it cannot be told. `waiting`: None: for its turn."""

    position: int | None
    expected_start_s: float | None
    waiting: Waiting | None


def job_view(job: Job, owner: str, tries: Tries | None, place: QueuePlace | None = None) -> dict[str, Any]:
    """`place`: of a queued job."""
    waiting = place.waiting if place else None
    running = job.state == State.RUNNING
    here = f"/v1/jobs/{job.id}"
    results: Mapping[str, Any] = job.results or {}
    return {
        "id": job.id,
        "name": job.name,
        "notes": job.notes,
        "owner": owner,
        "state": str(job.state),
        "reason": waiting.sentence if waiting else job.reason,
        "waiting_for": waiting_view(waiting) if waiting else None,
        "stopping": job.stop,
        "priority": job.priority,
        "queue_position": place.position if place else None,
        "expected_start_s": place.expected_start_s if place else None,
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
        **{name: results.get(name) for name in ("best", "stopped_early", "exported_checkpoint")},
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
        "advice": None,  # of single jobs only: `queries.show_job`
        "version": job.version,
        "links": {
            "self": here,
            **{name: f"{here}/{name}" for name in ("attempts", "metrics", "logs", "events", "artifacts")},
        },
    }


def waiting_view(waiting: Waiting) -> dict[str, Any]:
    """Every field, null where the kind has no use for it, and the sentence for people."""
    return {
        **dataclasses.asdict(waiting),
        "since": stamp(waiting.since),
        "until": stamp(waiting.until),
        "sentence": waiting.sentence,
        "short": waiting.short,
    }


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
        "free_bytes": attempt.free_bytes,
        "versions": attempt.versions,
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
        "input_wait": input_wait_view(attempt),
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


def input_wait_view(attempt: Attempt | Running) -> dict[str, Any] | None:
    if attempt.input_wait is None:
        return None
    host = HostCores(attempt.host_cores, attempt.host_devices or 1) if attempt.host_cores else None
    sentence = input_wait.sentence(attempt.input_wait, device_kind(attempt), host)
    return {"share": round(attempt.input_wait, 3), "sentence": sentence}


def _evaluation_peak(attempt: Attempt) -> int | None:
    return ((attempt.outcome or {}).get("allocator") or {}).get("evaluation_peak")


def _prediction_error(attempt: Attempt) -> float | None:
    """None while it runs, and where memory ran out before the peak was reached."""
    if attempt.reason not in (Reason.COMPLETED, Reason.STOPPED) or attempt.step_s is None:
        return None
    predicted = ((attempt.planned or {}).get("prediction") or {}).get("bytes")
    error = prediction_error(predicted, attempt.peak_bytes, _evaluation_peak(attempt))
    return None if error is None else round(error, 4)
