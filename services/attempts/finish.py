"""The end of an attempt: read what is left on disk; then finish the job or queue it again, in one transaction.

The supervisor calls `finish_attempt`; where it is gone, the reaper does. Without the lease's token nothing changes.
"""

import datetime
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from services import sanitize, usage
from services.attempts import apply_remedy, ingest
from services.attempts.completion import what_is_missing
from services.attempts.evidence import Facts, known
from services.clock import utc_now
from services.devices import history as device_history
from services.domain.contract import LOG_FILE, OUTCOME_FILE, ContractError, Outcome, Reason
from services.domain.diagnosis import remedies
from services.domain.diagnosis.case import Case
from services.domain.diagnosis.ending import Diagnosis, Ending, read_ending
from services.domain.jobs.states import FINAL, State
from services.planning import past_attempts
from services.planning.measurements import measured
from services.safe_files import CHUNK, open_regular
from services.store import attempts, events, jobs, leases, measurements
from services.store.engine import Store, StoreUnavailable
from services.store.models import Attempt, Job

__all__ = ["Concluded", "HeldAttempt", "Left", "TrainerEnd", "conclude", "finish_attempt", "read_left", "unreadable"]

_MOST_OF_LOG = 2**30  # bytes, from the end: seconds
_MOST_OF_OUTCOME = 64 * 2**20  # bytes: a trainer of ours writes some kilobytes
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HeldAttempt:
    """An attempt whose lease the caller holds by its token. `folder`: the attempt directory."""

    job_id: int
    number: int
    token: str
    folder: Path


@dataclass(frozen=True)
class TrainerEnd:
    """How a trainer ended, as its host knows it.

    `killed_because`: why we killed it, where we did. `rebooted`: its host was restarted, which explains an end that
    nothing else does.
    """

    exit_status: int | None
    killed_because: str | None = None
    facts: Facts = field(default_factory=Facts)
    rebooted: bool = False


@dataclass(frozen=True)
class Left:
    """What an attempt left behind."""

    exit_status: int | None
    outcome: Outcome | None
    ending: Ending
    killed: bool = False  # by us
    others: tuple[Mapping[str, Any], ...] = ()  # whom the host saw on the device


@dataclass(frozen=True)
class Concluded:
    state: State
    followed_by: str


def finish_attempt(store: Store, held: HeldAttempt, end: TrainerEnd) -> Concluded | None:
    """Read the last events, then conclude. Results that cannot be read whole are concluded by the exit status alone.

    Returns None, with nothing changed, where the lease is lost. Raises StoreUnavailable: call again later.
    """
    try:
        while ingest.ingest(store, held.job_id, held.number, held.token, held.folder):
            pass
        left = read_left(held.folder, end, known(store, held.job_id, held.number, end.facts))
        return conclude(store, held.job_id, held.number, held.token, left)
    except StoreUnavailable:
        raise
    except Exception as error:
        _log.exception("job %s, attempt %s: its results cannot be read completely", held.job_id, held.number)
        left = unreadable(end.exit_status, error)
        return conclude(store, held.job_id, held.number, held.token, left)


def read_left(attempt_dir: Path, end: TrainerEnd, case: Case | None = None) -> Left:
    """`case`: what was measured while it ran."""
    outcome = _outcome(attempt_dir / OUTCOME_FILE)
    completed = end.exit_status is None and outcome is not None and outcome.reason is Reason.COMPLETED
    missing = what_is_missing(attempt_dir, outcome) if completed and outcome else None
    printed = _printed(attempt_dir / LOG_FILE)
    ending = read_ending(end.exit_status, outcome, printed, case, is_whole=completed and missing is None)
    if end.rebooted and ending.reason in (None, Reason.STOPPED):
        ending = Ending(Diagnosis.INTERRUPTED, "the host was restarted", ending.reason)
    if end.killed_because and ending.reason is None:
        ending = replace(ending, message=end.killed_because)
    if missing:
        ending = replace(ending, message=f"{ending.message}; its outcome says completed, but {missing}")
    return Left(end.exit_status, outcome, ending, killed=end.killed_because is not None, others=end.facts.others)


def unreadable(exit_status: int | None, error: Exception) -> Left:
    """For an end that nobody can take in: its exit status must do."""
    ending = read_ending(exit_status, None)
    message = f"{ending.message} (its results cannot be read: {type(error).__name__}: {str(error)[:300]})"
    return Left(exit_status, None, replace(ending, message=message, finding=None))


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
        device_history.write_down_peak(session, attempt, now)
        chosen = apply_remedy.choose(session, job, attempt, ending, now, left.others)
        attempt.followed_by = chosen.summary
        usage.charge(session, job.owner_id, lease, now)
        leases.release(session, job_id, token)
        end = {"diagnosis": attempt.diagnosis, "message": attempt.message, "followed_by": attempt.followed_by}
        events.add(session, job_id, "ended", now, number, **end)
        apply_remedy.apply(session, job, attempt, chosen, now, {"attempt": number, **end})
        concluded = Concluded(State(job.state), chosen.summary)
    _log.info("job %s, attempt %s: %s, %s", job_id, number, ending.diagnosis, concluded.followed_by)
    return concluded


def _ending(job: Job, left: Left) -> Ending:
    """A trainer that was killed because its owner wanted it to stop, and it did not, is no mystery."""
    message = sanitize.text(left.ending.message)
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
    attempt.finding = sanitize.storable(ending.finding.to_dict()) if ending.finding else None
    if outcome is not None:
        attempt.outcome = sanitize.storable(json.loads(outcome.to_json()))
        attempt.step = max(attempt.step, sanitize.count(outcome.step) or 0)
        saved = sanitize.count(outcome.saved_step)
        attempt.saved_step = saved if saved is not None else attempt.saved_step
        attempt.peak_bytes = max(attempt.peak_bytes or 0, sanitize.count(outcome.allocator.peak) or 0) or None
    tries = past_attempts.tried(attempts.of_job(session, attempt.job_id))
    measurement = measured(attempt, outcome, now, ran_out=remedies.ran_out(tries)[-1])
    if measurement is not None:
        measurements.add(session, measurement)


def _outcome(path: Path) -> Outcome | None:
    try:
        with open_regular(path) as file:
            text = file.read(_MOST_OF_OUTCOME + 1)
        if len(text) > _MOST_OF_OUTCOME:
            raise ContractError(f"the document: more than {_MOST_OF_OUTCOME} bytes")
        return Outcome.from_json(text.decode(), passed_over=[])
    except FileNotFoundError:
        return None
    except (OSError, ContractError, UnicodeDecodeError) as error:
        _log.warning("%s cannot be read: %s", path, error)
        return None


def _printed(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_OF_LOG))
            while piece := file.read(CHUNK):
                yield piece
    except OSError as error:
        _log.warning("%s cannot be read: %s", path, error)
