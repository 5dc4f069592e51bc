"""The only writer of a job's state, of why it failed and of what it waits for.

With each change it writes the version, the times, an event and, at the end, messages for webhooks. The caller must have
locked the job's row (`store.jobs.lock`), or have just created it.
"""

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from services.domain.jobs.states import FINAL, State, Verb, advance
from services.domain.jobs.waiting import Waiting
from services.store import events, jobs
from services.store.models import Job
from services.webhooks import outbox

__all__ = ["move", "note_waiting", "put_in_queue"]


def put_in_queue(session: Session, job: Job, now: datetime.datetime, by: str, waiting: Waiting | None) -> None:
    """Store a new job, which must have its plan already."""
    job.state, job.created_at, job.queued_at = State.QUEUED, now, now
    note_waiting(job, waiting, now)
    jobs.add(session, job)
    events.add(session, job.id, "submitted", now, by=by, summary=job.planned["summary"])


def move(
    session: Session,
    job: Job,
    verb: Verb,
    now: datetime.datetime,
    *,
    reason: str | None = None,
    waiting: Waiting | None = None,
    attempt: int | None = None,
    end: Mapping[str, Any] | None = None,
    **data: Any,
) -> None:
    """Change the state by `verb`. Raises WrongState if the table does not allow it.

    `reason`: why it failed. `waiting`: what it waits for, other than its turn. `end`: added to the message for
    webhooks, should the job end by this. `data`: added to the event. `Verb.CLAIM` starts the next attempt and gives the
    event its number.
    """
    job.state = advance(State(job.state), verb)
    job.reason, job.stop = reason, None
    note_waiting(job, waiting, now)
    job.version += 1
    if job.state in FINAL:
        job.finished_at = now
    elif job.state == State.QUEUED:
        job.queued_at = now
    elif job.state == State.RUNNING:
        job.attempts += 1
        job.started_at, job.not_before = job.started_at or now, None
        attempt = job.attempts
    words = waiting.sentence if waiting else reason
    events.add(
        session, job.id, "state", now, attempt, state=job.state, reason=words, waiting_for=job.waiting_for, **data
    )
    outbox.notify_owner_of_end(session, job, now, **(end or {}))


def note_waiting(job: Job, waiting: Waiting | None, now: datetime.datetime) -> None:
    """Keep what a queued job waits for, and since when; None: its turn. Nothing is written where nothing changed."""
    before = Waiting.from_dict(job.waiting_for) if job.waiting_for else None
    if waiting is None:
        if before is not None:
            job.waiting_for = None
        return
    since = before.since if before is not None and waiting.is_same(before) else now
    waiting = dataclasses.replace(waiting, since=since)
    if waiting != before:
        job.waiting_for = waiting.to_dict()
