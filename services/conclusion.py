"""The end of an attempt: what is left on disk is read, and the job finishes or is queued again, in one transaction.

The supervisor calls `conclude`; where it is gone, the reaper does. Both hold the lease's token or change nothing.
"""

import datetime
import itertools
import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy.orm import Session

from services import planning, storable
from services.clock import utc_now
from services.domain.contract import LOG_FILE, OUTCOME_FILE, ContractError, Outcome, Reason
from services.domain.endings import Diagnosis, Ending, Next, read_ending, what_next
from services.domain.findings import Case
from services.domain.planner import Decision
from services.domain.states import FINAL, State, Stop, Verb, advance
from services.files import CHUNK
from services.store import attempts, events, jobs, leases, measurements
from services.store.engine import Store
from services.store.models import Attempt, Job

__all__ = ["Concluded", "Left", "conclude", "read_left"]

_MOST_OF_LOG = 2**30  # bytes, from the end: seconds
_IDLE_ATTEMPTS = 5  # something is wrong with the host or the start, and will be wrong again
_HOLD_S = {Diagnosis.DISK: 60.0, Diagnosis.NEIGHBOUR: 30.0}
_log = logging.getLogger(__name__)

_VERBS = {
    Next.SUCCEED: Verb.SUCCEED,
    Next.SMALLER: Verb.REQUEUE,
    Next.AGAIN: Verb.REQUEUE,
    Next.HOLD: Verb.REQUEUE,
    Next.FAIL: Verb.FAIL,
    Next.CANCEL: Verb.CANCEL,
    Next.PAUSE: Verb.PAUSE,
}


@dataclass(frozen=True)
class Left:
    """What an attempt left behind."""

    exit_status: int | None
    outcome: Outcome | None
    ending: Ending
    killed: bool = False  # by us


@dataclass(frozen=True)
class Concluded:
    state: State
    followed_by: str


def read_left(
    attempt_dir: Path, exit_status: int | None, killed_because: str | None = None, known: Case | None = None
) -> Left:
    """`killed_because`: why we killed the trainer ourselves, where we did. `known`: what was measured meanwhile."""
    outcome = None
    try:
        outcome = Outcome.from_json((attempt_dir / OUTCOME_FILE).read_text())
    except FileNotFoundError:
        pass
    except (OSError, ContractError, UnicodeDecodeError) as error:
        _log.warning("%s of %s cannot be read: %s", OUTCOME_FILE, attempt_dir, error)
    ending = read_ending(exit_status, outcome, _printed(attempt_dir / LOG_FILE), known)
    if killed_because and ending.reason is None:
        ending = replace(ending, message=killed_because)
    return Left(exit_status, outcome, ending, killed=killed_because is not None)


def conclude(store: Store, job_id: int, number: int, token: str, left: Left) -> Concluded | None:
    """Carry out what follows from `left`. None, with nothing changed, where `token` no longer holds the lease."""
    now = utc_now()
    with store.transaction() as session:
        lease = leases.held(session, job_id, token)
        job = jobs.lock(session, job_id)
        attempt = attempts.get(session, job_id, number)
        if lease is None or lease.attempt != number or job is None or attempt is None or job.state in FINAL:
            return None
        ending = _ending(job, left)
        _note(session, attempt, left.outcome, left.exit_status, ending, now)
        concluded = _follow(session, job, attempt, ending, now)
        attempt.followed_by = concluded.followed_by
        leases.release(session, job_id, token)
        events.add(
            session,
            job_id,
            "ended",
            now,
            number,
            diagnosis=attempt.diagnosis,
            message=attempt.message,
            followed_by=attempt.followed_by,
        )
        events.add(session, job_id, "state", now, number, state=job.state, reason=job.reason)
    _log.info("job %s, attempt %s: %s, %s", job_id, number, ending.diagnosis, concluded.followed_by)
    return concluded


def _ending(job: Job, left: Left) -> Ending:
    """A trainer that was killed because its owner wanted it to stop, and it did not, is no mystery."""
    message = storable.text(left.ending.message)
    if left.killed and job.stop and left.ending.diagnosis is Diagnosis.UNKNOWN_KILL:
        return replace(left.ending, diagnosis=Diagnosis.INTERRUPTED, message=message)
    return replace(left.ending, message=message)


def _note(
    session: Session,
    attempt: Attempt,
    outcome: Outcome | None,
    exit_status: int | None,
    ending: Ending,
    now: datetime.datetime,
) -> None:
    attempt.ended_at, attempt.exit_status = now, exit_status
    attempt.diagnosis, attempt.message = ending.diagnosis, ending.message
    attempt.reason = ending.reason
    if outcome is not None:
        attempt.outcome = storable.storable(json.loads(outcome.to_json()))
        attempt.step = max(attempt.step, storable.count(outcome.step) or 0)
        saved = storable.count(outcome.saved_step)
        attempt.saved_step = saved if saved is not None else attempt.saved_step
        attempt.peak_bytes = max(attempt.peak_bytes or 0, storable.count(outcome.allocator.peak) or 0) or None
    measurement = planning.measured(attempt, outcome, now)
    if measurement is not None:
        measurements.add(session, measurement)


def _follow(session: Session, job: Job, attempt: Attempt, ending: Ending, now: datetime.datetime) -> Concluded:
    before = attempts.of_job(session, job.id)
    earlier = [Diagnosis(one.diagnosis) for one in before if one.diagnosis and one.number < attempt.number]
    stop = Stop(job.stop) if job.stop else None
    step = what_next(ending.diagnosis, stop, earlier)
    verb, reason, said = _VERBS[step], None, _SAID.get(step, "")
    if step is Next.SMALLER:
        decision, capacity = planning.plan_after(session, job, before, now)
        if isinstance(decision, Decision):
            verb = Verb.PAUSE if stop is Stop.PAUSE else Verb.REQUEUE
            job.plan, job.planned = decision.plan.to_dict(), planning.as_planned(decision, capacity)
            job.steps, said = decision.plan.steps, decision.summary
        else:
            verb, reason, said = Verb.FAIL, decision.reason, f"given up: {decision.reason}"
    elif step is Next.FAIL:
        reason = ending.message
        if ending.diagnosis in earlier:
            reason = f"{reason} (for the second time)"
        said = "given up: another try of the same would end the same"
    elif verb is Verb.REQUEUE and (enough := _enough(job, before, ending)):
        verb, reason = Verb.FAIL, f"{ending.message} ({enough})"
        said = f"given up: {enough}"
    elif step is not Next.SUCCEED:
        job.planned = {**job.planned, "summary": said, "changes": []}
    if step is Next.HOLD and verb is Verb.REQUEUE:
        job.not_before = now + datetime.timedelta(seconds=_HOLD_S.get(ending.diagnosis, 30.0))
        reason = reason or ending.message
    _move(job, verb, reason, now)
    if ending.reason is Reason.COMPLETED and job.state == State.SUCCEEDED:
        job.step = job.steps
    return Concluded(State(job.state), said)


def _enough(job: Job, attempts: Sequence[Attempt], ending: Ending) -> str | None:
    """Why the same plan is not tried again, though it might do. The last of `attempts` is the one that just ended.

    What the host did to an attempt is not held against the job, unless it never gets anywhere.
    """
    if ending.diagnosis is Diagnosis.INTERRUPTED:
        idle = list(itertools.takewhile(_is_idle, reversed(attempts)))
        return f"{len(idle)} times in a row before a first step" if len(idle) >= _IDLE_ATTEMPTS else None
    used = [one for one in attempts if one.diagnosis != Diagnosis.INTERRUPTED]
    if len(used) < planning.policy_of_job(job).max_attempts:
        return None
    return f"{len(used)} attempts, which is all the policy allows"


def _is_idle(attempt: Attempt) -> bool:
    return attempt.diagnosis == Diagnosis.INTERRUPTED and attempt.step_s is None


_SAID = {
    Next.SUCCEED: "finished",
    Next.AGAIN: "the same plan again, from the last checkpoint",
    Next.HOLD: "the same plan again after a while, from the last checkpoint",
    Next.CANCEL: "cancelled by its owner",
    Next.PAUSE: "paused by its owner; the last checkpoint is kept",
}


def _move(job: Job, verb: Verb, reason: str | None, now: datetime.datetime) -> None:
    job.state = advance(State(job.state), verb)
    job.reason, job.stop = reason, None
    job.version += 1
    if job.state in FINAL:
        job.finished_at = now
    elif job.state == State.QUEUED:
        job.queued_at = now


def _printed(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_OF_LOG))
            while piece := file.read(CHUNK):
                yield piece
    except OSError as error:
        _log.warning("%s cannot be read: %s", path, error)
