"""Write messages about a job for its owner's webhooks, in the transaction that changes the job.

A worker sends them later (`services.webhooks.delivery`), so that a receiver cannot affect the job.
"""

import datetime
import enum
import json
from typing import Any

from sqlalchemy.orm import Session

from services.clock import stamp
from services.domain.jobs.states import State
from services.domain.webhooks.signing import new_message_id
from services.store import webhooks
from services.store.models import Delivery, Job, Webhook
from services.store.users import accounts

__all__ = ["Kind", "notify_owner", "notify_owner_of_end", "write_message"]


class Kind(enum.StrEnum):
    SUCCEEDED = "job.succeeded"
    FAILED = "job.failed"
    REPLANNED = "job.replanned"
    TEST = "webhook.test"  # sent when the owner asks for a test


_ENDS = {State.SUCCEEDED: Kind.SUCCEEDED, State.FAILED: Kind.FAILED}


def notify_owner_of_end(session: Session, job: Job, now: datetime.datetime, **data: Any) -> None:
    """As `notify_owner`, if the job succeeded or failed."""
    kind = _ENDS.get(State(job.state))
    if kind is not None:
        notify_owner(session, job, kind, now, **data)


def notify_owner(session: Session, job: Job, kind: Kind, now: datetime.datetime, **data: Any) -> None:
    wanted = [
        webhook
        for webhook in webhooks.of_user(session, job.owner_id)
        if webhook.disabled_at is None and kind in webhook.kinds
    ]
    if not wanted:
        return
    owner = accounts.names_of(session, {job.owner_id})[job.owner_id]
    about = {
        "id": job.id,
        "name": job.name,
        "owner": owner,
        "state": str(job.state),
        "reason": job.reason,
        "model": job.model,
        "dataset": job.dataset,
        "step": job.step,
        "steps": job.steps,
        "attempts": job.attempts,
        "link": f"/v1/jobs/{job.id}",
    }
    for webhook in wanted:
        write_message(session, webhook, kind, now, {"job": about, **data}, job.id)


def write_message(
    session: Session,
    webhook: Webhook,
    kind: Kind,
    now: datetime.datetime,
    data: dict[str, Any],
    job_id: int | None = None,
) -> Delivery:
    body = json.dumps({"type": kind, "timestamp": stamp(now), "data": data}, separators=(",", ":"))
    return webhooks.add_delivery(
        session,
        Delivery(
            webhook_id=webhook.id,
            message_id=new_message_id(),
            kind=kind,
            job_id=job_id,
            body=body,
            created_at=now,
            next_at=now,
        ),
    )
