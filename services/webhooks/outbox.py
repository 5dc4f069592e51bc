"""What the owners of jobs are told: messages for their webhooks, written in the transaction that they tell of.

They are sent later, by a worker (`services.webhooks.delivery`): nothing that a receiver does reaches the job.
"""

import datetime
import enum
import json
from typing import Any

from sqlalchemy.orm import Session

from services.clock import stamp
from services.domain.jobs.states import State
from services.domain.webhooks.signing import new_message_id
from services.store import accounts, webhooks
from services.store.models import Delivery, Job, Webhook

__all__ = ["Kind", "tell", "tell_end", "write_message"]


class Kind(enum.StrEnum):
    SUCCEEDED = "job.succeeded"
    FAILED = "job.failed"
    REPLANNED = "job.replanned"
    TEST = "webhook.test"  # to a webhook whose owner asks for it


_ENDS = {State.SUCCEEDED: Kind.SUCCEEDED, State.FAILED: Kind.FAILED}


def tell_end(session: Session, job: Job, now: datetime.datetime, **data: Any) -> None:
    """As `tell`, where the job has ended in a way that is told."""
    kind = _ENDS.get(State(job.state))
    if kind is not None:
        tell(session, job, kind, now, **data)


def tell(session: Session, job: Job, kind: Kind, now: datetime.datetime, **data: Any) -> None:
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
