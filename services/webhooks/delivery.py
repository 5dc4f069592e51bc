"""Messages to webhooks, from the outbox to their end: taken by one worker, sent, and tried again where that failed."""

import datetime
import random
from collections.abc import Mapping
from dataclasses import dataclass

from services import sanitize
from services.clock import utc_now
from services.domain.webhooks.signing import RETRIES_S
from services.store import webhooks
from services.store.engine import Store
from services.store.models import Delivery, Webhook

__all__ = ["Answer", "Parcel", "note", "take_due"]

_TAKEN = datetime.timedelta(minutes=2)  # a worker that dies with a parcel in hand delays it by so much
_PATIENCE = datetime.timedelta(days=5)  # with a webhook that never answers well
_KEPT = datetime.timedelta(days=30)
_FORGOTTEN_AT_ONCE = 500
_LOOKED_AT = 100
_GONE = 410
_LONGEST_ERROR = 500
NONE_IN_HAND: Mapping[int, int] = {}


@dataclass(frozen=True)
class Parcel:
    delivery_id: int
    webhook_id: int
    user_id: int  # whose webhook it is
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


def take_due(store: Store, limit: int, of_one_user: int, left: Mapping[int, int] = NONE_IN_HAND) -> list[Parcel]:
    """What is to be sent now; nobody else takes it for the next minutes.

    Of each user's messages so many at most; of those in `left`, as many as it says.
    """
    now = utc_now()
    with store.reading() as session:  # without the write lock: mostly there is nothing
        if not webhooks.any_due(session, now):
            return []
    room = dict(left)
    taken: list[Parcel] = []
    with store.transaction() as session:
        busy = [user_id for user_id, more in left.items() if more <= 0]
        for delivery, webhook, is_owner_disabled in webhooks.due(session, now, _LOOKED_AT, besides=busy):
            if webhook.disabled_at is not None or is_owner_disabled:
                what = "account of its owner" if is_owner_disabled else "webhook"
                delivery.next_at, delivery.error = None, f"the {what} was disabled"
                continue
            room[webhook.user_id] = room.get(webhook.user_id, of_one_user) - 1
            if room[webhook.user_id] >= 0 and len(taken) < limit:
                delivery.next_at = now + _TAKEN
                taken.append(_parcel(delivery, webhook))
        webhooks.forget_before(session, now - _KEPT, _FORGOTTEN_AT_ONCE)
    return taken


def _parcel(delivery: Delivery, webhook: Webhook) -> Parcel:
    return Parcel(
        delivery.id,
        webhook.id,
        webhook.user_id,
        webhook.url,
        webhook.secret,
        delivery.message_id,
        delivery.body.encode(),
    )


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
        delivery.error = sanitize.text(answer.error or f"it answered {answer.status}")[:_LONGEST_ERROR]
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
        reason = "it answered 410 (gone)"
    elif webhook.failing_since is not None and webhook.failing_since < now - _PATIENCE:
        reason = f"nothing could be delivered for {_PATIENCE.days} days"
    else:
        return
    webhook.disabled_at, webhook.disabled_reason = now, reason
    webhook.version += 1
