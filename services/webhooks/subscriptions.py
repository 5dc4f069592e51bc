"""Create, list and change webhooks: URLs that are notified of events of their owner's jobs."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from services import idempotency
from services.clock import stamp, utc_now
from services.domain.webhooks.public_addresses import is_public
from services.domain.webhooks.signing import new_secret
from services.errors import Conflict, Fault, Invalid, NotFound, TooMany, require_version
from services.idempotency import RequestKey, Result
from services.settings import Settings
from services.store import webhooks
from services.store.devices.use import lock_user
from services.store.engine import Store
from services.store.models import Delivery, Webhook
from services.store.users import audit
from services.users.principal import Principal, Scope
from services.webhooks import outbox
from services.webhooks.outbox import Kind

__all__ = ["create", "list_deliveries", "list_webhooks", "remove", "send_test", "show", "update"]

_MOST = 20  # per user


def list_webhooks(store: Store, principal: Principal) -> list[dict[str, Any]]:
    """The caller's webhooks."""
    principal.require(Scope.READ)
    with store.reading() as session:
        return [_view(webhook) for webhook in webhooks.of_user(session, principal.user_id)]


def show(store: Store, principal: Principal, webhook_id: int) -> dict[str, Any]:
    with store.reading() as session:
        return _view(_own(webhooks.get(session, webhook_id), principal, webhook_id))


def create(
    store: Store,
    settings: Settings,
    principal: Principal,
    url: str,
    kinds: Sequence[str],
    idempotency_key: str | None = None,
) -> Result:
    """Create a webhook. Its secret, which signs the messages, is shown this once. Raises Invalid, TooMany."""
    principal.require(Scope.SUBMIT)
    _check_url(settings, url)
    key = RequestKey.of(principal.user_id, idempotency_key, "webhook", {"url": url, "kinds": sorted(set(kinds))})
    return idempotency.do_once(store, key, lambda session: _create(session, principal, url, kinds))


def _create(session: Session, principal: Principal, url: str, kinds: Sequence[str]) -> Result:
    now, secret = utc_now(), new_secret()
    lock_user(session, principal.user_id)
    if webhooks.count(session, principal.user_id) >= _MOST:
        raise TooMany(f"you already have {_MOST} of {_MOST} webhooks: delete one first")
    webhook = webhooks.add(
        session,
        Webhook(user_id=principal.user_id, url=url, kinds=sorted(set(kinds)), secret=secret, created_at=now),
    )
    audit.add(session, principal.user_id, "webhook.create", f"webhook {webhook.id}", now, host=_host(url))
    return Result(_view(webhook), f"/v1/webhooks/{webhook.id}", secret)


def update(
    store: Store,
    settings: Settings,
    principal: Principal,
    webhook_id: int,
    changes: Mapping[str, Any],
    version: int | None,
) -> None:
    """Change `url`, `kinds` or `disabled`. Raises NotFound, Invalid, Conflict("version_mismatch")."""
    principal.require(Scope.SUBMIT)
    if "url" in changes:
        _check_url(settings, changes["url"])
    now = utc_now()
    with store.transaction() as session:
        webhook = _own(webhooks.lock(session, webhook_id), principal, webhook_id)
        require_version("webhook", webhook.version, version)
        if "url" in changes:
            webhook.url = changes["url"]
        if "kinds" in changes:
            webhook.kinds = sorted(set(changes["kinds"]))
        if "disabled" in changes:
            webhook.disabled_at = now if changes["disabled"] else None
            webhook.disabled_reason = "by its owner" if changes["disabled"] else None
        if not changes.get("disabled"):
            webhook.failing_since = None
        webhook.version += 1
        logged = {name: value for name, value in changes.items() if name != "url"}
        if "url" in changes:
            logged["host"] = _host(changes["url"])
        audit.add(session, principal.user_id, "webhook.edit", f"webhook {webhook.id}", now, **logged)


def remove(store: Store, principal: Principal, webhook_id: int, version: int | None = None) -> None:
    """Delete a webhook and its unsent messages. Raises NotFound, Conflict("version_mismatch")."""
    principal.require(Scope.SUBMIT)
    with store.transaction() as session:
        webhook = _own(webhooks.lock(session, webhook_id), principal, webhook_id)
        require_version("webhook", webhook.version, version)
        webhooks.remove(session, webhook)
        audit.add(session, principal.user_id, "webhook.delete", f"webhook {webhook_id}", utc_now())


def send_test(store: Store, principal: Principal, webhook_id: int, idempotency_key: str | None = None) -> Result:
    """Queue a test message."""
    principal.require(Scope.SUBMIT)
    key = RequestKey.of(principal.user_id, idempotency_key, "webhook test", {"webhook": webhook_id})
    return idempotency.do_once(store, key, lambda session: _send_test(session, principal, webhook_id))


def _send_test(session: Session, principal: Principal, webhook_id: int) -> Result:
    webhook = _own(webhooks.lock(session, webhook_id), principal, webhook_id)
    if webhook.disabled_at is not None:
        raise Conflict("wrong_state", "the webhook is disabled: nothing is sent to it")
    now, data = utc_now(), {"message": f"a test, asked for by {principal.name}"}
    delivery = outbox.write_message(session, webhook, Kind.TEST, now, data)
    audit.add(session, principal.user_id, "webhook.test", f"webhook {webhook_id}", now)
    return Result(_delivery_view(delivery), f"/v1/webhooks/{webhook_id}/deliveries")


def list_deliveries(store: Store, principal: Principal, webhook_id: int, limit: int) -> list[dict[str, Any]]:
    with store.reading() as session:
        webhook = _own(webhooks.get(session, webhook_id), principal, webhook_id)
        return [_delivery_view(delivery) for delivery in webhooks.deliveries(session, webhook.id, limit)]


def _own(webhook: Webhook | None, principal: Principal, webhook_id: int) -> Webhook:
    if webhook is None or not (webhook.user_id == principal.user_id or principal.is_admin):
        raise NotFound(f"there is no webhook {webhook_id}")
    return webhook


def _check_url(settings: Settings, url: str) -> None:
    """A host name is resolved and checked each time a message is sent; an IP address can be refused now."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise Invalid([Fault("url", "is not a valid address")]) from None
    if parts.scheme not in ("http", "https") or not host:
        raise Invalid([Fault("url", "must begin with https:// or http://")])
    if parts.username is not None or parts.password is not None:
        raise Invalid([Fault("url", "must not contain a user or password: messages are signed instead")])
    if not settings.webhook_private and _is_ip_address(host) and not is_public(host):
        raise Invalid([Fault("url", "is a private address; DOWNSHIFT_WEBHOOK_PRIVATE=on allows them")])


def _host(url: str) -> str:
    """The part of a URL that the audit log may hold: with many receivers, the rest is a secret."""
    return urlsplit(url).netloc


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _view(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "url": webhook.url,
        "kinds": webhook.kinds,
        "created_at": stamp(webhook.created_at),
        "failing_since": stamp(webhook.failing_since),
        "disabled_at": stamp(webhook.disabled_at),
        "disabled_reason": webhook.disabled_reason,
        "version": webhook.version,
    }


def _delivery_view(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "message_id": delivery.message_id,
        "kind": delivery.kind,
        "job": delivery.job_id,
        "created_at": stamp(delivery.created_at),
        "tries": delivery.tries,
        "next_at": stamp(delivery.next_at),
        "sent_at": stamp(delivery.sent_at),
        "status": delivery.status,
        "error": delivery.error,
    }
