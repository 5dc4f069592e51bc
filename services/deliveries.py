"""Messages to webhooks, from the outbox to their end: taken by one worker, sent, and tried again where that failed."""

import datetime
import random
from dataclasses import dataclass

from services import storable
from services.clock import utc_now
from services.domain.standard_webhooks import RETRIES_S
from services.store import webhooks
from services.store.engine import Store
from services.store.models import Webhook

__all__ = ["Answer", "Parcel", "note", "take_due"]

_TAKEN = datetime.timedelta(minutes=2)  # a worker that dies with a parcel in hand delays it by so much
_PATIENCE = datetime.timedelta(days=5)  # with a webhook that never answers well
_KEPT = datetime.timedelta(days=30)
_FORGOTTEN_AT_ONCE = 500
_GONE = 410
_LONGEST_ERROR = 500


@dataclass(frozen=True)
class Parcel:
    delivery_id: int
    webhook_id: int
    url: str
    secret: str
    message_id: str
    body: bytes


@dataclass(frozen=True)
class Answer:
    """`status`: what the receiver said; None: it could not be asked, or said nothing in time."""

    status: int | None
    error: str | None = None

    @property
    def is_good(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def take_due(store: Store, limit: int) -> list[Parcel]:
    """What is to be sent now; nobody else takes it for the next minutes."""
    now = utc_now()
    with store.reading() as session:  # without the write lock: mostly there is nothing
        if not webhooks.any_due(session, now):
            return []
    taken = []
    with store.transaction() as session:
        for delivery, webhook in webhooks.due(session, now, limit):
            if webhook.disabled_at is not None:
                delivery.next_at, delivery.error = None, "the webhook was disabled"
                continue
            delivery.next_at = now + _TAKEN
            taken.append(
                Parcel(
                    delivery.id, webhook.id, webhook.url, webhook.secret, delivery.message_id, delivery.body.encode()
                )
            )
        webhooks.forget_before(session, now - _KEPT, _FORGOTTEN_AT_ONCE)
    return taken


def note(store: Store, parcel: Parcel, answer: Answer) -> None:
    """What came of sending it."""
    now = utc_now()
    with store.transaction() as session:
        webhook = webhooks.lock(session, parcel.webhook_id)
        delivery = webhooks.lock_delivery(session, parcel.delivery_id)
        if webhook is None or delivery is None:  # removed meanwhile
            return
        delivery.tries += 1
        delivery.status, delivery.error = answer.status, None
        if answer.is_good:
            delivery.sent_at, delivery.next_at, webhook.failing_since = now, None, None
            return
        delivery.error = storable.text(answer.error or f"it answered {answer.status}")[:_LONGEST_ERROR]
        delivery.next_at = _next(delivery.tries, now)
        webhook.failing_since = webhook.failing_since or now
        _give_up(webhook, answer, now)


def _next(tries: int, now: datetime.datetime) -> datetime.datetime | None:
    if tries > len(RETRIES_S):
        return None
    return now + datetime.timedelta(seconds=RETRIES_S[tries - 1] * random.uniform(1.0, 1.1))


def _give_up(webhook: Webhook, answer: Answer, now: datetime.datetime) -> None:
    if webhook.disabled_at is not None:
        return
    if answer.status == _GONE:
        reason = "it answered 410: it is gone for good"
    elif webhook.failing_since is not None and webhook.failing_since < now - _PATIENCE:
        reason = f"nothing could be delivered for {_PATIENCE.days} days"
    else:
        return
    webhook.disabled_at, webhook.disabled_reason = now, reason
    webhook.version += 1
