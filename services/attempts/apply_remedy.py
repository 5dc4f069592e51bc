"""What follows the end of an attempt: the remedy is chosen and becomes the job's next state, plan and adjustments."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from services.devices.holders import neighbours
from services.domain import pipeline_config
from services.domain.contract import Reason
from services.domain.diagnosis import leaks
from services.domain.diagnosis.ending import Diagnosis, Ending
from services.domain.diagnosis.remedies import Next, Scene, remedy_for
from services.domain.jobs.states import FINAL, State, Stop, Verb, advance
from services.domain.pipeline_config import ConfigError, InputSizes
from services.domain.planner.planner import Decision
from services.planning import adopt, past_attempts, plan_job
from services.planning.plan_json import change_values, policy_of_job
from services.store import attempts, devices, training_series
from services.store.models import Attempt, Job

__all__ = ["follow"]

_VERBS = {
    Next.SUCCEED: Verb.SUCCEED,
    Next.SMALLER: Verb.REQUEUE,
    Next.AGAIN: Verb.REQUEUE,
    Next.HOLD: Verb.REQUEUE,
    Next.FAIL: Verb.FAIL,
    Next.CANCEL: Verb.CANCEL,
    Next.PAUSE: Verb.PAUSE,
}
_GOES_ON = (Next.AGAIN, Next.HOLD, Next.PAUSE)
_POINTS = 200  # of a series, for its slope


def follow(
    session: Session,
    job: Job,
    attempt: Attempt,
    ending: Ending,
    now: datetime.datetime,
    others: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Carry out what the end of `attempt`, which is noted in it, comes to; returns it in words.

    `others`: who else was seen on the device at the end; where nobody was, its host's last report counts.
    """
    all_attempts = attempts.of_job(session, job.id)
    stop = Stop(job.stop) if job.stop else None
    saved = past_attempts.saved_step(all_attempts)
    remedy = remedy_for(
        past_attempts.tried(all_attempts),
        _scene(session, attempt, ending, others, saved),
        policy_of_job(job).max_attempts,
        stop,
    )
    job.adjustments = remedy.adjustments.to_dict()
    if remedy.next is Next.SMALLER:
        return _smaller(session, job, all_attempts, stop, now)
    if remedy.next in _GOES_ON:
        job.step = saved  # steps after it are made again
        job.planned = {**job.planned, "summary": remedy.said, "changes": change_values(remedy.changes)}
    if remedy.next is Next.HOLD:
        job.not_before = now + datetime.timedelta(seconds=remedy.wait_s)
    _move(job, _VERBS[remedy.next], remedy.reason, now)
    if ending.reason is Reason.COMPLETED and job.state == State.SUCCEEDED:
        job.step = job.steps
    return remedy.said


def _smaller(
    session: Session, job: Job, all_attempts: Sequence[Attempt], stop: Stop | None, now: datetime.datetime
) -> str:
    decision, capacity = plan_job.plan_after(session, job, all_attempts, now)
    if not isinstance(decision, Decision):
        _move(job, Verb.FAIL, decision.reason, now)
        return f"Not retried. {decision.reason}"
    job.step = past_attempts.saved_step(all_attempts)  # counted in smaller batches next
    adopt.adopt(job, decision, capacity)
    _move(job, Verb.PAUSE if stop is Stop.PAUSE else Verb.REQUEUE, None, now)
    return decision.summary


def _move(job: Job, verb: Verb, reason: str | None, now: datetime.datetime) -> None:
    job.state = advance(State(job.state), verb)
    job.reason, job.stop = reason, None
    job.version += 1
    if job.state in FINAL:
        job.finished_at = now
    elif job.state == State.QUEUED:
        job.queued_at = now


def _scene(
    session: Session, attempt: Attempt, ending: Ending, others: Sequence[Mapping[str, Any]], saved: int
) -> Scene:
    """Only what this diagnosis asks for is looked up."""
    outcome = attempt.outcome or {}
    return Scene(
        message=ending.message,
        host=attempt.host,
        neighbours=_neighbours(session, attempt, others) if ending.diagnosis is Diagnosis.NEIGHBOUR else "",
        growth=_growth(session, attempt) if ending.diagnosis is Diagnosis.LEAK else "",
        input=_input_sizes(attempt) if ending.diagnosis in (Diagnosis.HOST, Diagnosis.SPIKE) else None,
        host_peak_bytes=outcome.get("host_peak_bytes"),
        saved_step=saved,
    )


def _neighbours(session: Session, attempt: Attempt, others: Sequence[Mapping[str, Any]]) -> str:
    device = devices.get(session, attempt.device_id)
    return neighbours(others or (device.processes if device else ()), attempt.device_name)


def _growth(session: Session, attempt: Attempt) -> str:
    words = []
    for name, what in (("device_memory", "device memory"), ("host_memory", "host memory")):
        buckets = training_series.series_of_attempt(session, attempt.job_id, attempt.number, name, _POINTS)
        slope = leaks.fit([(bucket.step, bucket.mean) for bucket in buckets])
        if slope is not None:
            words.append(leaks.in_words(what, slope))
    return ", ".join(words)


def _input_sizes(attempt: Attempt) -> InputSizes | None:
    """As it ran; None where it never had a configuration."""
    if not attempt.config:
        return None
    try:
        return pipeline_config.input_sizes(pipeline_config.parse(attempt.config))
    except ConfigError:
        return None
