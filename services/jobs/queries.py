"""What the service answers when asked. A list of n jobs costs a constant number of queries."""

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import usage
from services.clock import utc_now
from services.domain.jobs.states import FINAL, State
from services.domain.jobs.waiting import Waiting, WaitKind
from services.errors import NotFound
from services.jobs import advice, expected_start, views
from services.jobs.views import QueuePlace
from services.page import Page
from services.settings import Settings
from services.store import attempts, events, jobs, listing, queue_order, training_series
from services.store.engine import Store
from services.store.models import Attempt, Event, Job
from services.store.queue_order import Place
from services.store.users import accounts
from services.usage import UserUsage
from services.users.principal import Principal, Scope

__all__ = [
    "EventPage",
    "attempt_config",
    "job_view",
    "job_views",
    "list_attempts",
    "list_events",
    "list_jobs",
    "list_queue",
    "show_attempt",
    "show_job",
    "show_metrics",
    "show_request",
    "views_of",
    "visible_attempt",
    "visible_job",
]


def job_view(session: Session, settings: Settings, job: Job) -> dict[str, Any]:
    return job_views(session, settings, [job])[0]


def job_views(session: Session, settings: Settings, found: Sequence[Job]) -> list[dict[str, Any]]:
    queued = [job.id for job in found if job.state == State.QUEUED]
    if not queued:
        return _views(session, found, {}, {})
    now = utc_now()
    usages = usage.of_everybody(session, settings, now)
    shares = usage.shares(usages)
    head = queue_order.head(session, shares, now, expected_start.HEAD, queued)
    positions = {place.job_id: place.position for place in head}
    return _views(session, found, usages, _places(session, found, usages, positions, head, now))


def _places(
    session: Session,
    found: Sequence[Job],
    usages: Mapping[int, UserUsage],
    positions: Mapping[int, int],
    head: Sequence[Place],
    now: datetime.datetime,
) -> dict[int, QueuePlace]:
    """The place of each queued job. What keeps all jobs of its owner from starting comes before what keeps this one."""
    starts = expected_start.starts_in(session, head, now)
    places = {}
    for job in found:
        if job.state == State.QUEUED:
            own = Waiting.from_dict(job.waiting_for) if job.waiting_for else None
            if own is None and job.reason:  # written by a supervisor of version 0.1.0
                own = Waiting(WaitKind.FREE_DEVICE, detail=job.reason)
            waiting = usages[job.owner_id].blocked_by or own
            places[job.id] = QueuePlace(positions.get(job.id), starts.get(job.id), waiting)
    return places


def _views(
    session: Session, found: Sequence[Job], usages: Mapping[int, UserUsage], places: Mapping[int, QueuePlace]
) -> list[dict[str, Any]]:
    """`usages`: of everybody, needed where a job waits."""
    owners = {user_id: owner.name for user_id, owner in usages.items()}
    owners = owners or accounts.names_of(session, {job.owner_id for job in found})
    tried = [job.id for job in found if job.attempts]
    tries = listing.tries(session, tried) if tried else {}
    return [views.job_view(job, owners[job.owner_id], tries.get(job.id), places.get(job.id)) for job in found]


def views_of(session: Session, settings: Settings, job_ids: Collection[int]) -> list[tuple[Job, dict[str, Any]]]:
    """Those of these jobs that there are, each as it is shown."""
    found = listing.by_numbers(session, job_ids) if job_ids else []
    return list(zip(found, job_views(session, settings, found) if found else [], strict=True))


def visible_job(session: Session, principal: Principal, job_id: int) -> Job:
    """The job, if this one may see it; raises NotFound, which does not say whether there is one."""
    principal.require(Scope.READ)
    job = jobs.get(session, job_id)
    if job is None or not principal.sees(job.owner_id):
        raise NotFound(f"there is no job {job_id}")
    return job


def visible_attempt(session: Session, principal: Principal, job_id: int, number: int | None) -> Attempt:
    """The attempt, or the job's newest one (None). Raises NotFound."""
    job = visible_job(session, principal, job_id)
    if number is None and not job.attempts:
        raise NotFound(f"job {job_id} has no attempts yet")
    attempt = attempts.get(session, job_id, job.attempts if number is None else number)
    if attempt is None:
        raise NotFound(f"job {job_id} has no attempt {number}; it has {job.attempts} so far")
    return attempt


def list_jobs(
    store: Store,
    settings: Settings,
    principal: Principal,
    *,
    limit: int,
    before: int | None = None,
    states: Collection[State] = (),
    owner: str | None = None,
    text: str | None = None,
) -> Page:
    """Newest first. A page is found by the number it follows, so jobs that arrive meanwhile shift nothing."""
    principal.require(Scope.READ)
    with store.reading() as session:
        found = listing.page(
            session,
            limit=limit + 1,
            before=before,
            states=states,
            owner=owner,
            text=text,
            only_of=principal.sees_only,
        )
        here = found[:limit]
        return Page(job_views(session, settings, here), here[-1].id if len(found) > limit else None)


def show_job(store: Store, settings: Settings, principal: Principal, job_id: int) -> dict[str, Any]:
    """With the doctor's advice, which lists of jobs do not have."""
    with store.reading() as session:
        job = visible_job(session, principal, job_id)
        found = [one.to_values() for one in advice.of_job(session, settings, job)] if job.attempts else None
        return {**job_view(session, settings, job), "advice": found}


def show_request(store: Store, principal: Principal, job_id: int) -> dict[str, Any]:
    """As it was submitted; not in `show_job`, as it may hold a whole configuration."""
    with store.reading() as session:
        return visible_job(session, principal, job_id).request


def list_attempts(store: Store, principal: Principal, job_id: int) -> list[dict[str, Any]]:
    with store.reading() as session:
        visible_job(session, principal, job_id)
        return [views.attempt_view(attempt) for attempt in attempts.of_job(session, job_id)]


def show_attempt(store: Store, principal: Principal, job_id: int, number: int) -> dict[str, Any]:
    with store.reading() as session:
        return views.attempt_view(visible_attempt(session, principal, job_id, number))


def attempt_config(store: Store, principal: Principal, job_id: int, number: int) -> str:
    """The pipeline.config as run."""
    with store.reading() as session:
        return visible_attempt(session, principal, job_id, number).config


def show_metrics(
    store: Store,
    principal: Principal,
    job_id: int,
    names: Sequence[str],
    max_points: int,
    from_step: int | None = None,
    to_step: int | None = None,
) -> dict[str, Any]:
    """The series of these metrics (none named: of all) over a range of steps, and the names that there are."""
    with store.reading() as session:
        visible_job(session, principal, job_id)
        known = list(training_series.names_of_job(session, job_id))
        wanted = [name for name in known if name in names or not names]
        return {
            "names": known,
            "series": _columns(training_series.series(session, job_id, wanted, max_points, from_step, to_step)),
        }


def _columns(buckets: Sequence[training_series.Bucket]) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for bucket in buckets:
        series = found.setdefault(
            (bucket.name, bucket.attempt),
            {"name": bucket.name, "attempt": bucket.attempt, "steps": [], "min": [], "max": [], "mean": []},
        )
        for column, value in (
            ("steps", bucket.step),
            ("min", bucket.low),
            ("max", bucket.high),
            ("mean", bucket.mean),
        ):
            series[column].append(value)
    return list(found.values())


@dataclass(frozen=True)
class EventPage:
    items: list[Event]
    owner_id: int
    has_ended: bool  # the job
    is_over: bool  # it has ended, and nothing will follow these


def list_events(
    store: Store, principal: Principal, job_id: int, after: int, limit: int, until: int | None = None
) -> EventPage:
    """What happened to a job after the event numbered `after`, oldest first."""
    with store.reading() as session:
        job = visible_job(session, principal, job_id)
        found = events.of_job_after(session, job_id, after, limit, until)
        # The state was read before the events: a job that was over then has nothing to add to them.
        has_ended = job.state in FINAL
        return EventPage(list(found), job.owner_id, has_ended, has_ended and len(found) < limit)


def list_queue(store: Store, settings: Settings, principal: Principal, limit: int) -> dict[str, Any]:
    """The jobs that wait, the next one first, and how many there are of each state.

    Where jobs are private, only one's own are named; their positions are those in the whole queue.
    """
    principal.require(Scope.READ)
    now = utc_now()
    with store.reading() as session:
        counts = listing.count_active(session)
        usages = usage.of_everybody(session, settings, now)
        shares = usage.shares(usages)
        found, positions = queue_order.first(session, shares, now, limit, principal.sees_only)
        head = queue_order.head(session, shares, now, expected_start.HEAD)
        waiting = _views(session, found, usages, _places(session, found, usages, positions, head, now))
    return {
        "queued": counts.get(State.QUEUED, 0),
        "running": counts.get(State.RUNNING, 0),
        "paused": counts.get(State.PAUSED, 0),
        "items": waiting,
    }
