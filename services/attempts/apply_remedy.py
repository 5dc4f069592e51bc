"""Choose the remedy for a finished attempt and apply it to the job: its next state, plan and adjustments."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services.domain import pipeline_config
from services.domain.contract import Reason
from services.domain.diagnosis.ending import Diagnosis, Ending
from services.domain.diagnosis.growth import Sample, growth_of, in_words
from services.domain.diagnosis.remedies import Next, Remedy, Scene, remedy_for
from services.domain.holders import held_by
from services.domain.jobs.states import State, Stop, Verb
from services.domain.jobs.waiting import Holder, WaitedDevice, Waiting, WaitKind
from services.domain.pipeline_config import ConfigError
from services.domain.plan.input_sizes import InputSizes
from services.domain.planner.decision import Decision
from services.jobs import transitions
from services.planning import adopt, past_attempts, plan_job
from services.planning.plan_json import policy_of_job
from services.store import attempts, training_series
from services.store.devices import devices
from services.store.models import Attempt, Device, Job

__all__ = ["apply", "choose"]

_VERBS = {
    Next.SUCCEED: Verb.SUCCEED,
    Next.SMALLER: Verb.REQUEUE,
    Next.AGAIN: Verb.REQUEUE,
    Next.FAIL: Verb.FAIL,
    Next.CANCEL: Verb.CANCEL,
    Next.PAUSE: Verb.PAUSE,
}
_KEEPS_PLAN = (Next.AGAIN, Next.RETRY_LATER, Next.PAUSE)
_POINTS = 200  # of a series, to fit its slope


@dataclass(frozen=True)
class Choice:
    """What follows an attempt. `decision` and `capacity`: the smaller plan, if there is one.

    `reason`: why the job fails. `waiting`: what it waits for before the next attempt, other than its turn.
    """

    remedy: Remedy
    verb: Verb
    summary: str
    reason: str | None
    saved_step: int  # of the newest checkpoint
    decision: Decision | None = None
    capacity: int = 0
    waiting: Waiting | None = None


def choose(
    session: Session,
    job: Job,
    attempt: Attempt,
    ending: Ending,
    now: datetime.datetime,
    others: Sequence[Mapping[str, Any]] = (),
) -> Choice:
    """Choose without writing. The attempt's ending and its measurement must be stored already.

    `others`: other processes on the device at the end; if empty, those of the host's last report are used.
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
    if remedy.next is Next.RETRY_LATER:
        waiting = _waiting(session, attempt, ending, remedy, others, now)
        return Choice(remedy, Verb.REQUEUE, remedy.said, None, saved, waiting=waiting)
    if remedy.next is not Next.SMALLER:
        return Choice(remedy, _VERBS[remedy.next], remedy.said, remedy.reason, saved)
    decision, capacity = plan_job.plan_after(session, job, all_attempts, now)
    if not isinstance(decision, Decision):
        return Choice(remedy, Verb.FAIL, f"Not retried. {decision.reason}", decision.reason, saved)
    verb = Verb.PAUSE if stop is Stop.PAUSE else Verb.REQUEUE
    return Choice(remedy, verb, decision.summary, None, saved, decision, capacity)


def apply(
    session: Session, job: Job, attempt: Attempt, choice: Choice, now: datetime.datetime, end: Mapping[str, Any]
) -> None:
    """Write the choice to the job. `end`: how the attempt ended, for webhooks."""
    remedy = choice.remedy
    job.adjustments = remedy.adjustments.to_dict()
    if remedy.next in _KEEPS_PLAN:
        adopt.record_remedy(job, remedy.said, remedy.changes)
    if remedy.next in _KEEPS_PLAN or choice.decision is not None:
        job.step = choice.saved_step  # later steps are trained again
    if choice.waiting is not None:
        job.not_before = choice.waiting.until
    transitions.move(
        session, job, choice.verb, now, reason=choice.reason, waiting=choice.waiting, attempt=attempt.number, end=end
    )
    if choice.decision is not None:
        adopt.plan_after_oom(session, job, attempt.number, choice.decision, choice.capacity, now, end)
    if attempt.reason == Reason.COMPLETED and job.state == State.SUCCEEDED:
        job.step = job.steps


def _scene(
    session: Session, attempt: Attempt, ending: Ending, others: Sequence[Mapping[str, Any]], saved: int
) -> Scene:
    """Read only what this diagnosis needs."""
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
    return held_by(others or _reported(devices.get(session, attempt.device_id)), attempt.device_name)


def _reported(device: Device | None) -> Sequence[Mapping[str, Any]]:
    """The other processes in the last report of the device's host."""
    return device.processes if device else ()


def _waiting(
    session: Session,
    attempt: Attempt,
    ending: Ending,
    remedy: Remedy,
    others: Sequence[Mapping[str, Any]],
    now: datetime.datetime,
) -> Waiting:
    until = now + datetime.timedelta(seconds=remedy.wait_s)
    if ending.diagnosis is Diagnosis.DISK:
        return Waiting(WaitKind.DISK_SPACE, detail=remedy.reason, until=until)
    device = devices.get(session, attempt.device_id)
    waited = WaitedDevice(attempt.device_id, attempt.device_name, device.total_bytes if device else 0)
    holder = Holder(processes=tuple(others or _reported(device)))
    return Waiting(WaitKind.FREE_MEMORY, waited, holder, detail=remedy.reason, until=until)


def _growth(session: Session, attempt: Attempt) -> str:
    sentences = []
    for name, memory in (("device_memory", "device memory"), ("host_memory", "host memory")):
        buckets = training_series.series_of_attempt(session, attempt.job_id, attempt.number, name, _POINTS)
        growth = growth_of(Sample(bucket.step, round(bucket.mean)) for bucket in buckets)
        if growth is not None and growth.is_clear:
            sentences.append(in_words(memory, growth))
    return ", ".join(sentences)


def _input_sizes(attempt: Attempt) -> InputSizes | None:
    """The input sizes that the attempt ran with; None if it has no readable configuration."""
    if not attempt.config:
        return None
    try:
        return pipeline_config.input_sizes(pipeline_config.parse(attempt.config))
    except ConfigError:
        return None
