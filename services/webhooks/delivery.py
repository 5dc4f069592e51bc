"""Deliver messages to webhooks: claim those that are due, record each result, and plan the retries."""

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

__all__ = ["DueMessage", "SendResult", "claim_due", "record_result"]

_CLAIM = datetime.timedelta(minutes=2)  # a worker that dies while sending delays the message by this much
_DISABLED_AFTER = datetime.timedelta(days=5)  # of failures only
_RETENTION = datetime.timedelta(days=30)
_DELETED_AT_ONCE = 500
_READ_AT_ONCE = 100
_GONE = 410
_LONGEST_ERROR = 500


@dataclass(frozen=True)
class DueMessage:
    delivery_id: int
    webhook_id: int
    user_id: int  # the webhook's owner
    url: str
    secret: str
    message_id: str
    body: bytes


@dataclass(frozen=True)
class SendResult:
    """`status`: the HTTP status of the receiver; None if it could not be reached or did not answer in time."""

    status: int | None
    error: str | None = None

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def claim_due(store: Store, limit: int, per_user: int, remaining: Mapping[int, int] | None = None) -> list[DueMessage]:
    """Claim up to `limit` due messages for two minutes, so that no other worker sends them.

    At most `per_user` of one user; for the users in `remaining`, as many as it says.
    """
    now = utc_now()
    with store.reading() as session:  # without the write lock, as mostly nothing is due
        if not webhooks.any_due(session, now):
            return []
    left = dict(remaining or {})
    claimed: list[DueMessage] = []
    with store.transaction() as session:
        busy = [user_id for user_id, more in left.items() if more <= 0]
        for delivery, webhook, is_owner_disabled in webhooks.due(session, now, _READ_AT_ONCE, excluded_users=busy):
            if webhook.disabled_at is not None or is_owner_disabled:
                disabled = "account of its owner" if is_owner_disabled else "webhook"
                delivery.next_at, delivery.error = None, f"the {disabled} was disabled"
                continue
            left[webhook.user_id] = left.get(webhook.user_id, per_user) - 1
            if left[webhook.user_id] >= 0 and len(claimed) < limit:
                delivery.next_at = now + _CLAIM
                claimed.append(_message(delivery, webhook))
        webhooks.forget_before(session, now - _RETENTION, _DELETED_AT_ONCE)
    return claimed


def _message(delivery: Delivery, webhook: Webhook) -> DueMessage:
    return DueMessage(
        delivery.id,
        webhook.id,
        webhook.user_id,
        webhook.url,
        webhook.secret,
        delivery.message_id,
        delivery.body.encode(),
    )


def record_result(store: Store, message: DueMessage, result: SendResult) -> None:
    """Record the result of sending a message, plan its next try, and disable a webhook that keeps failing."""
    now = utc_now()
    with store.transaction() as session:
        webhook = webhooks.lock(session, message.webhook_id)
        delivery = webhooks.lock_delivery(session, message.delivery_id)
        if webhook is None or delivery is None:  # removed meanwhile
            return
        delivery.tries += 1
        delivery.status, delivery.error = result.status, None
        if result.is_success:
            delivery.sent_at, delivery.next_at, webhook.failing_since = now, None, None
            return
        delivery.error = sanitize.text(result.error or f"it answered {result.status}")[:_LONGEST_ERROR]
        delivery.next_at = _next_try(delivery.tries, now)
        webhook.failing_since = webhook.failing_since or now
        _disable_if_failing(webhook, result, now)


def _next_try(tries: int, now: datetime.datetime) -> datetime.datetime | None:
    if tries > len(RETRIES_S):
        return None
    return now + datetime.timedelta(seconds=RETRIES_S[tries - 1] * random.uniform(1.0, 1.1))


def _disable_if_failing(webhook: Webhook, result: SendResult, now: datetime.datetime) -> None:
    if webhook.disabled_at is not None:
        return
    if result.status == _GONE:
        reason = "it answered 410 (gone)"
    elif webhook.failing_since is not None and webhook.failing_since < now - _DISABLED_AFTER:
        reason = f"nothing could be delivered for {_DISABLED_AFTER.days} days"
    else:
        return
    webhook.disabled_at, webhook.disabled_reason = now, reason
    webhook.version += 1
