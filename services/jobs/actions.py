"""Actions of users on submitted jobs: cancel, pause, resume, clone, edit."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from services import idempotency, usage
from services.broker import wake_workers
from services.clock import utc_now
from services.datasets import library
from services.domain.diagnosis.ending import Diagnosis
from services.domain.jobs.states import FINAL, State, Stop, Verb
from services.domain.tfrecord import DatasetError
from services.errors import Conflict, NotFound, require_version
from services.idempotency import RequestKey, Result
from services.jobs import queries, quota, submit, transitions
from services.jobs.submit import Submitted
from services.library.checkpoint_files import checkpoint_path
from services.planning import past_attempts
from services.planning.warm_start import warm_start
from services.settings import Settings
from services.store import attempts, events, jobs
from services.store.devices import leases
from services.store.engine import Store
from services.store.models import Attempt, Job
from services.store.users import audit
from services.users.principal import Principal

__all__ = ["cancel", "clone", "edit", "pause", "resume"]

_HOST_DEAD = datetime.timedelta(minutes=10)  # after a lease expired; a slow host renews it sooner
_EDITABLE = frozenset({"name", "notes", "priority"})
_LENGTHS = ("steps", "epochs")  # in `train`; a request has one of them


def cancel(store: Store, principal: Principal, job_id: int, idempotency_key: str | None = None) -> Result:
    """Cancel a waiting job now, or a running one as soon as its supervisor has stopped it.

    Cancelling a job twice changes nothing. If the host has not reported for long, the job is cancelled without it.
    Should the host return, its supervisor finds the lease gone and ends the training.
    """

    def work(session: Session, job: Job) -> None:
        if job.state == State.RUNNING and not _release_dead_lease(session, job):
            _request_stop(session, principal, job, Stop.CANCEL)
        else:
            _move(session, principal, job, Verb.CANCEL)

    return _act_once(store, principal, job_id, Verb.CANCEL, idempotency_key, work)


def pause(store: Store, principal: Principal, job_id: int, idempotency_key: str | None = None) -> Result:
    """As `cancel`, but the job can be resumed from its checkpoint."""

    def work(session: Session, job: Job) -> None:
        if job.state == State.RUNNING:
            if job.stop == Stop.CANCEL:
                raise Conflict("wrong_state", "the job is being cancelled; it can no longer be paused")
            _request_stop(session, principal, job, Stop.PAUSE)
        else:
            _move(session, principal, job, Verb.PAUSE)

    return _act_once(store, principal, job_id, Verb.PAUSE, idempotency_key, work)


def resume(
    store: Store, settings: Settings, principal: Principal, job_id: int, idempotency_key: str | None = None
) -> Result:
    """Queue a paused job again. It continues from its last checkpoint.

    Raises LimitReached, and Conflict if files that it needs are missing.
    """
    problem = _files_problem(store, settings, job_id)

    def work(session: Session, job: Job) -> None:
        if job.state == State.PAUSED:
            if problem:
                raise problem
            quota.require_queue_quota(session, settings, job.owner_id, is_new=False)
        _move(session, principal, job, Verb.RESUME)
        job.not_before = None

    result = _act_once(store, principal, job_id, Verb.RESUME, idempotency_key, work)
    wake_workers(settings)
    return result


def _files_problem(store: Store, settings: Settings, job_id: int) -> Conflict | None:
    """Checked before the transaction, because the disk may be slow."""
    with store.reading() as session:
        job = jobs.get(session, job_id)
        earlier = attempts.of_job(session, job_id)
    if job is None or job.state != State.PAUSED:
        return None
    try:
        _require_files(settings, job, earlier)
    except Conflict as error:
        return error
    return None


def _require_files(settings: Settings, job: Job, earlier: Sequence[Attempt]) -> None:
    """Raises Conflict if the dataset or the weights that the job starts from are missing."""
    name = job.request["dataset"]
    if name not in library.names(settings.datasets_dir):
        advice = "add it again under this name, then resume the job"
        raise Conflict("files_missing", f"the dataset {name!r} is gone: {advice}")
    try:
        library.find(settings.datasets_dir, name)
    except DatasetError as error:
        raise Conflict("files_missing", f"the job's dataset cannot be used: {error}") from None
    if earlier and past_attempts.saved_step(earlier):
        return  # it continues from its own checkpoint
    checkpoint = warm_start(settings, job, earlier).checkpoint
    if checkpoint and not checkpoint_path(settings.checkpoints_dir, checkpoint):
        advice = "upload it again under this name with POST /v1/checkpoints, then resume the job"
        raise Conflict("files_missing", f"the checkpoint {checkpoint!r} is gone: {advice}")


def _act_once(
    store: Store,
    principal: Principal,
    job_id: int,
    verb: Verb,
    idempotency_key: str | None,
    work: Callable[[Session, Job], None],
) -> Result:
    """Call `work` on the locked job, or return the stored result for the key, whatever the job's state is now."""

    def on_job(session: Session) -> Result:
        work(session, _lock_own(session, principal, job_id))
        return Result({}, f"/v1/jobs/{job_id}")

    return idempotency.do_once(
        store, RequestKey.of(principal.user_id, idempotency_key, f"job.{verb}", {"job": job_id}), on_job
    )


def clone(
    store: Store,
    settings: Settings,
    principal: Principal,
    job_id: int,
    changes: Mapping[str, Any],
    idempotency_key: str | None = None,
) -> Submitted:
    """Submit a new job with the same request, with `changes` merged into it one level deep.

    A priority that the caller may not give becomes the default. The same key gives the same clone, even if the original
    job was renamed meanwhile.
    """

    def request() -> dict[str, Any]:
        with store.reading() as session:
            job = queries.visible_job(session, principal, job_id)
            copy = {**job.request, "name": f"{job.name} (copy)"[:128]}
        if not principal.is_admin and (copy.get("priority") or 0) > quota.DEFAULT_PRIORITY:
            copy["priority"] = quota.DEFAULT_PRIORITY
        for name, value in changes.items():
            inner = copy.get(name)
            copy[name] = _merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
        return copy

    key = RequestKey.of(principal.user_id, idempotency_key, "job.clone", {"job": job_id, "changes": changes})
    return submit.submit_once(store, settings, principal, key, request)


def _merged(inner: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A new length replaces the old one, whether it is given in steps or in epochs."""
    given = [name for name in _LENGTHS if changes.get(name) is not None]
    return {**{name: value for name, value in inner.items() if not given or name not in _LENGTHS}, **changes}


def edit(
    store: Store, principal: Principal, job_id: int, changes: Mapping[str, Any], if_match: int | None = None
) -> None:
    """Change name, notes or priority. Raises Conflict if the job's version is not `if_match`.

    Raises Invalid for a priority that the caller may not give.
    """
    with store.transaction() as session:
        job = _lock_own(session, principal, job_id)
        require_version("job", job.version, if_match)
        wanted = {name: value for name, value in changes.items() if name in _EDITABLE}
        if "priority" in wanted and job.state in FINAL:
            raise Conflict("wrong_state", f"the job is {job.state}: its priority can no longer be changed")
        quota.check_priority(principal, wanted.get("priority", quota.DEFAULT_PRIORITY), job.priority)
        for name, value in wanted.items():
            setattr(job, name, value)
        job.version += 1
        now = utc_now()
        events.add(session, job.id, "edited", now, by=principal.name, **wanted)
        audit.add(session, principal.user_id, "job.edit", f"job {job.id}", now, **wanted)


def _lock_own(session: Session, principal: Principal, job_id: int) -> Job:
    job = jobs.lock(session, job_id)
    if job is None or not principal.sees(job.owner_id):
        raise NotFound(f"there is no job {job_id}")
    principal.require_change(job.owner_id)
    return job


def _release_dead_lease(session: Session, job: Job) -> bool:
    """Release the job's lease if its host is dead. False if the host may be alive."""
    now, lease = utc_now(), leases.of_job(session, job.id)
    if lease is None or lease.expires_at > now - _HOST_DEAD:
        return False
    attempt = attempts.get(session, job.id, lease.attempt)
    if attempt is not None:
        attempt.ended_at, attempt.diagnosis = now, Diagnosis.UNKNOWN_KILL
        attempt.message = f"its host {lease.host} has not reported since {lease.expires_at:%Y-%m-%d %H:%M} UTC"
        attempt.followed_by = "cancelled by its owner"
    usage.charge(session, job.owner_id, lease, lease.expires_at)  # not beyond the last report
    leases.release(session, job.id, lease.token)
    job.stop = None
    return True


def _request_stop(session: Session, principal: Principal, job: Job, stop: Stop) -> None:
    if job.stop == stop:
        return
    now = utc_now()
    job.stop = stop
    job.version += 1
    events.add(session, job.id, "stop_requested", now, job.attempts, stop=stop, by=principal.name)
    audit.add(session, principal.user_id, f"job.{stop}", f"job {job.id}", now)


def _move(session: Session, principal: Principal, job: Job, verb: Verb) -> None:
    now = utc_now()
    transitions.move(session, job, verb, now, by=principal.name)
    audit.add(session, principal.user_id, f"job.{verb}", f"job {job.id}", now)
