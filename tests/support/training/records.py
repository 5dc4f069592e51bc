"""Write rows and files of jobs as if they had run."""

from pathlib import Path
from typing import Any

from services.clock import utc_now
from services.datasets import library
from services.domain import pipeline_config
from services.domain.jobs.states import State
from services.domain.plan.plan import Plan
from services.jobs import submit
from services.planning import attempt_config
from services.settings import Settings
from services.store import events, jobs, training_series
from services.store.engine import Store
from services.store.models import Attempt, Job
from services.users.principal import Principal

__all__ = ["DEVICE", "Records"]

DEVICE = "box/cpu-0"


class Records:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def job(self, owner: Principal, state: State, attempts: int, request: dict[str, Any]) -> int:
        job_id = submit.submit(self._store, self._settings, owner, request).job_id
        for number in range(1, attempts + 1):
            self.attempt(job_id, number, runs=state is State.RUNNING and number == attempts)
        with self._store.transaction() as session:
            job = self._job(session, job_id)
            job.state, job.attempts = state, attempts
            if state is not State.QUEUED:
                job.waiting_for = None
            if attempts:
                job.started_at, job.step = utc_now(), 40
            if state in (State.SUCCEEDED, State.FAILED, State.CANCELLED):
                job.finished_at = utc_now()
        return job_id

    def _job(self, session: Any, job_id: int) -> Job:
        job = jobs.get(session, job_id)
        assert job is not None
        return job

    def attempt(self, job_id: int, number: int, runs: bool = False) -> Path:
        """Each attempt has half the micro-batch of the previous one. Its directory contains a trainer's files."""
        now = utc_now()
        with self._store.transaction() as session:
            job = self._job(session, job_id)
            plan = Plan(**job.asked)
            plan = Plan(**{**plan.to_dict(), "micro_batch": max(1, plan.batch_size >> (number - 1))})
            if number > 2:
                plan = Plan(**{**plan.to_dict(), "precision": "bfloat16"})
            config = attempt_config.compose(
                pipeline_config.parse(job.base_config),
                plan,
                library.find(self._settings.datasets_dir, job.dataset),
                host_memory_mb=4096,
                is_own=bool(job.request.get("pipeline_config")),
            )
            session.add(
                Attempt(
                    job_id=job_id,
                    number=number,
                    plan=plan.to_dict(),
                    planned=_planned(number),
                    config=pipeline_config.to_text(config),
                    device_id=DEVICE,
                    device_name="CPU slot of 1000 MB",
                    limit_bytes=1000 * 2**20,
                    host="box",
                    token="t",
                    phase="training",
                    step=40,
                    step_s=0.5,
                    peak_bytes=900 * 2**20,
                    outcome=None if runs else {"reason": "device_memory", "step": 40},
                    reason=None if runs else "device_memory",
                    diagnosis=None if runs else "too_large",
                    message=None if runs else "the allocator ran out",
                    exit_status=None if runs else 20,
                    started_at=now,
                    ended_at=None if runs else now,
                )
            )
            session.flush()
            values = [training_series.Value("Loss/total_loss", step, 100.0 / step, now) for step in range(1, 41)]
            training_series.record(
                session, job_id, number, [*values, training_series.Value("learning_rate", 40, 0.01, now)]
            )
            events.add(session, job_id, "phase", now, number, phase="training")
        return self._directory(job_id, number)

    def _directory(self, job_id: int, number: int) -> Path:
        folder = self._settings.jobs_dir / str(job_id) / f"attempt-{number}"
        (folder / "samples").mkdir(parents=True)
        (folder / "train.log").write_text("".join(f"line {n}\n" for n in range(1, 1001)) + "Ran OUT of memory\n")
        (folder / "events.jsonl").write_text('{"kind": "phase"}\n')
        (folder / "pipeline.config").write_text("model { }\n")
        (folder / "attempt.json").write_text("{}")
        (folder / "samples" / "step-1.png").write_bytes(b"\x89PNG")
        export = folder.parent / "export" / "saved_model"
        export.mkdir(parents=True, exist_ok=True)
        (export / "saved_model.pb").write_bytes(bytes(range(256)) * 5000)
        return folder


def _planned(number: int) -> dict[str, Any]:
    prediction = {"bytes": 950 * 2**20, "low_bytes": 900 * 2**20, "high_bytes": 990 * 2**20, "source": "scaled"}
    changes = []
    if number > 1:
        before, after = 8 >> (number - 2), 8 >> (number - 1)
        why = f"the batch is computed in pieces of {after}: attempt {number - 1} ran out"
        changes.append(
            {"lever": "micro_batch", "field": "micro_batch", "before": str(before), "after": str(after), "reason": why}
        )
    if number == 3:
        why = "activations are kept in bfloat16: it was not enough"
        changes.append(
            {"lever": "precision", "field": "precision", "before": "float32", "after": "bfloat16", "reason": why}
        )
    return {"summary": "as asked" if number == 1 else "smaller", "changes": changes, "prediction": prediction}
