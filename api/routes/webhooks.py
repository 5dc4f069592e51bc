"""Webhooks and their deliveries."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from api.dependencies import Caller, Context, IdempotencyKey
from api.http import etags
from api.http.created import CREATED, created
from api.http.etags import IfMatch
from api.http.problems import documented
from api.schemas.base import LARGEST_ID
from api.schemas.webhooks import Deliveries, Delivery, NewWebhook, Webhook, WebhookBody, WebhookEditBody, Webhooks
from services.webhooks import subscriptions

router = APIRouter(tags=["webhooks"])
WebhookId = Annotated[int, Path(ge=1, le=LARGEST_ID)]


@router.get("/webhooks", response_model=Webhooks)
def list_webhooks(context: Context, caller: Caller) -> Any:
    """Your own webhooks."""
    return {"items": subscriptions.list_webhooks(context.store, caller)}


@router.post("/webhooks", status_code=201, response_model=NewWebhook, responses={**CREATED, **documented(409, 429)})
def create_webhook(
    body: WebhookBody, response: Response, context: Context, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Any:
    """Create a webhook. Messages are signed as Standard Webhooks specifies. The secret is shown only once."""
    made = subscriptions.create(context.store, context.settings, caller, body.url, body.kinds, idempotency_key)
    response.headers["ETag"] = etags.write(made.body["version"])
    return {**created(made, response), "secret": made.secret}


@router.get("/webhooks/{webhook_id}", response_model=Webhook, responses=documented(404))
def show_webhook(webhook_id: WebhookId, response: Response, context: Context, caller: Caller) -> Any:
    """One webhook, without its secret."""
    shown = subscriptions.show(context.store, caller, webhook_id)
    response.headers["ETag"] = etags.write(shown["version"])
    return shown


@router.patch("/webhooks/{webhook_id}", response_model=Webhook, responses=documented(404, 412))
def edit_webhook(
    webhook_id: WebhookId,
    body: WebhookEditBody,
    response: Response,
    context: Context,
    caller: Caller,
    if_match: IfMatch = None,
) -> Any:
    """Change the address or the events of a webhook, or disable or enable it.

    With `If-Match`, only if it has not changed since you read it.
    """
    subscriptions.update(context.store, context.settings, caller, webhook_id, body.as_request(), etags.read(if_match))
    return show_webhook(webhook_id, response, context, caller)


@router.delete("/webhooks/{webhook_id}", status_code=204, responses=documented(404, 412))
def delete_webhook(webhook_id: WebhookId, context: Context, caller: Caller, if_match: IfMatch = None) -> None:
    """Delete a webhook and its unsent messages. With `If-Match`, only if it has not changed since you read it."""
    subscriptions.remove(context.store, caller, webhook_id, etags.read(if_match))


@router.post("/webhooks/{webhook_id}/test", status_code=202, response_model=Delivery, responses=documented(404, 409))
def test_webhook(
    webhook_id: WebhookId, response: Response, context: Context, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Any:
    """Send a test message. Its result is in the deliveries."""
    return created(subscriptions.send_test(context.store, caller, webhook_id, idempotency_key), response)


@router.get("/webhooks/{webhook_id}/deliveries", response_model=Deliveries, responses=documented(404))
def list_deliveries(
    webhook_id: WebhookId, context: Context, caller: Caller, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Any:
    """Messages and their results, newest first. They are kept for 30 days."""
    return {"items": subscriptions.list_deliveries(context.store, caller, webhook_id, limit)}
