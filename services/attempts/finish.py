"""Finish an attempt: read its results from disk, then end, pause or requeue the job in one transaction.

The supervisor calls `finish_attempt`, or the reaper if the supervisor is dead. Nothing changes without the lease's
token.
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
from services.attempts import apply_remedy, ingest, job_results
from services.attempts.completion import what_is_missing
from services.attempts.evidence import HostEvidence, known_case
from services.clock import utc_now
from services.devices import history as device_history
from services.devices import quarantine
from services.domain.contract import LOG_FILE, OUTCOME_FILE, ContractError, Outcome, Reason
from services.domain.diagnosis import remedies
from services.domain.diagnosis.case import Case
from services.domain.diagnosis.ending import Diagnosis, Ending, read_ending
from services.domain.jobs.states import FINAL, State
from services.jobs import advice
from services.planning import past_attempts
from services.planning.measurements import measurement_of_attempt
from services.safe_files import CHUNK, open_regular
from services.store import attempts, events, jobs, measurements
from services.store.devices import devices, leases
from services.store.engine import Store, StoreUnavailable
from services.store.models import Attempt, Job

__all__ = ["AttemptResults", "Finished", "HeldAttempt", "TrainerEnd", "finish_attempt", "read_results", "record_end"]

_MOST_OF_LOG = 2**30  # bytes from the end; reading them takes seconds
_MOST_OF_OUTCOME = 64 * 2**20  # bytes; our trainer writes some kilobytes
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

    `killed_because`: why we killed it, if we did. `rebooted`: the host restarted, which explains an end without other
    cause.
    """

    exit_status: int | None
    killed_because: str | None = None
    host: HostEvidence = field(default_factory=HostEvidence)
    rebooted: bool = False


@dataclass(frozen=True)
class AttemptResults:
    exit_status: int | None
    outcome: Outcome | None
    ending: Ending
    killed: bool = False  # by us
    others: tuple[Mapping[str, Any], ...] = ()  # other processes on the device


@dataclass(frozen=True)
class Finished:
    state: State
    followed_by: str


def finish_attempt(store: Store, held: HeldAttempt, end: TrainerEnd) -> Finished | None:
    """Ingest the last events, then record the end. If that raises, the exit status alone decides.

    Returns None, with nothing changed, if the lease is lost. Raises StoreUnavailable: call again later.
    """
    try:
        while ingest.ingest(store, held.job_id, held.number, held.token, held.folder):
            pass
        results = read_results(held.folder, end, known_case(store, held.job_id, held.number, end.host))
        results = _with_advice(store, held, results)
        return record_end(store, held.job_id, held.number, held.token, results)
    except StoreUnavailable:
        raise
    except Exception as error:
        _log.exception("job %s, attempt %s: its results cannot be read completely", held.job_id, held.number)
        results = _unreadable_results(end.exit_status, error)
        return record_end(store, held.job_id, held.number, held.token, results)


def read_results(attempt_dir: Path, end: TrainerEnd, case: Case | None = None) -> AttemptResults:
    """`case`: what was measured while the attempt ran."""
    outcome = _outcome(attempt_dir / OUTCOME_FILE)
    completed = end.exit_status is None and outcome is not None and outcome.reason is Reason.COMPLETED
    missing = what_is_missing(attempt_dir, outcome) if completed and outcome else None
    log = _end_of_log(attempt_dir / LOG_FILE)
    ending = read_ending(end.exit_status, outcome, log, case, is_whole=completed and missing is None)
    if end.rebooted and ending.reason in (None, Reason.STOPPED):
        ending = Ending(Diagnosis.INTERRUPTED, "the host was restarted", ending.reason)
    if end.killed_because and ending.reason is None:
        ending = replace(ending, message=end.killed_because)
    if missing:
        ending = replace(ending, message=f"{ending.message}; its outcome says completed, but {missing}")
    killed = end.killed_because is not None
    return AttemptResults(end.exit_status, outcome, ending, killed=killed, others=end.host.others)


def _with_advice(store: Store, held: HeldAttempt, results: AttemptResults) -> AttemptResults:
    """Add to the message what the doctor sees in a training whose loss is no number. It is not worth failing for."""
    if results.ending.reason is not Reason.NAN_LOSS:
        return results
    try:
        with store.reading() as session:
            said = advice.of_lost_numbers(session, held.job_id, held.number)
    except StoreUnavailable:
        raise
    except Exception:
        _log.exception("job %s, attempt %s: no advice", held.job_id, held.number)
        return results
    if said:
        message = f"{results.ending.message.rstrip('.')}. {said}"
        results = replace(results, ending=replace(results.ending, message=message))
    return results


def _unreadable_results(exit_status: int | None, error: Exception) -> AttemptResults:
    ending = read_ending(exit_status, None)
    message = f"{ending.message} (its results cannot be read: {type(error).__name__}: {str(error)[:300]})"
    return AttemptResults(exit_status, None, replace(ending, message=message, finding=None))


def record_end(store: Store, job_id: int, number: int, token: str, results: AttemptResults) -> Finished | None:
    """End, pause or requeue the job. None, with nothing changed, if `token` no longer holds the lease of a live job."""
    now = utc_now()
    with store.transaction() as session:
        lease = leases.held(session, job_id, token)
        job = jobs.lock(session, job_id)
        attempt = attempts.get(session, job_id, number)
        if lease is None or lease.attempt != number or job is None or attempt is None or job.state in FINAL:
            return None
        ending = _ending(job, results)
        _fill_in(attempt, results.outcome, results.exit_status, ending, now)
        _add_measurement(session, attempt, results.outcome, now)
        device_history.write_down_peak(session, attempt, now)
        _blame_device(session, attempt, ending, now)
        choice = apply_remedy.choose(session, job, attempt, ending, now, results.others)
        attempt.followed_by = choice.summary
        usage.charge(session, job.owner_id, lease, now)
        leases.release(session, job_id, token)
        end = {"diagnosis": attempt.diagnosis, "message": attempt.message, "followed_by": attempt.followed_by}
        events.add(session, job_id, "ended", now, number, **end)
        if results.outcome is not None and attempt.reason == Reason.COMPLETED:
            job_results.note_end(job, results.outcome)
        apply_remedy.apply(session, job, attempt, choice, now, {"attempt": number, **end})
        finished = Finished(State(job.state), choice.summary)
    _log.info("job %s, attempt %s: %s, %s", job_id, number, ending.diagnosis, finished.followed_by)
    return finished


def _blame_device(session: Session, attempt: Attempt, ending: Ending, now: datetime.datetime) -> None:
    device = devices.get(session, attempt.device_id) if ending.diagnosis is Diagnosis.DEVICE else None
    if device is not None:
        quarantine.blame(device, ending.message, now)


def _ending(job: Job, results: AttemptResults) -> Ending:
    """If we killed a trainer that did not stop when its owner asked, the cause of its death is known."""
    message = sanitize.text(results.ending.message)
    if results.killed and job.stop and results.ending.diagnosis is Diagnosis.UNKNOWN_KILL:
        return replace(results.ending, diagnosis=Diagnosis.INTERRUPTED, message=message)
    return replace(results.ending, message=message)


def _fill_in(
    attempt: Attempt, outcome: Outcome | None, exit_status: int | None, ending: Ending, now: datetime.datetime
) -> None:
    attempt.ended_at, attempt.exit_status = now, exit_status
    attempt.diagnosis, attempt.message = ending.diagnosis, ending.message
    attempt.reason = ending.reason
    attempt.finding = sanitize.clean(ending.finding.to_dict()) if ending.finding else None
    if outcome is not None:
        attempt.outcome = sanitize.clean(json.loads(outcome.to_json()))
        attempt.step = max(attempt.step, sanitize.count(outcome.step) or 0)
        saved = sanitize.count(outcome.saved_step)
        attempt.saved_step = saved if saved is not None else attempt.saved_step
        attempt.peak_bytes = max(attempt.peak_bytes or 0, sanitize.count(outcome.allocator.peak) or 0) or None


def _add_measurement(session: Session, attempt: Attempt, outcome: Outcome | None, now: datetime.datetime) -> None:
    tries = past_attempts.tried(attempts.of_job(session, attempt.job_id))
    measurement = measurement_of_attempt(attempt, outcome, now, ran_out=remedies.ran_out(tries)[-1])
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


def _end_of_log(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_OF_LOG))
            while chunk := file.read(CHUNK):
                yield chunk
    except OSError as error:
        _log.warning("%s cannot be read: %s", path, error)
