"""Event streams, for EventSource and curl."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from starlette.concurrency import run_in_threadpool

from api.dependencies import Caller, Context, JobId
from api.http.problems import documented
from api.schemas.base import LARGEST_ID
from api.sse.hub import PAGE, EventHub, Message, Subscription
from api.sse.response import EventStream
from services.clock import utc_now
from services.domain.jobs.states import FINAL
from services.events.live import LiveEvent, of_event
from services.jobs import queries
from services.jobs.queries import EventPage
from services.store.engine import Store
from services.users.principal import Principal

router = APIRouter(tags=["events"])

KEEP_ALIVE_S = 15.0
MAX_STREAM_S = 300.0  # then the client reconnects with the last event id that it has seen
MAX_REPLAYED = 20_000  # events of all jobs; a client that missed more must load everything again
_RETRY = b"retry: 2000\n\n"
_KEEP_ALIVE = b": keep-alive\n\n"
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events. Each has a kind and JSON data, and an id if it is stored",
        "content": {
            "text/event-stream": {
                "itemSchema": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "event": {"type": "string"},
                        "data": {"type": "string", "contentMediaType": "application/json"},
                    },
                    "required": ["event", "data"],
                }
            }
        },
    }
}
_NO_MORE: dict[int | str, dict[str, Any]] = {204: {"description": "The job has ended, and you have seen every event"}}
LastEventId = Annotated[
    Annotated[int, Field(ge=0, le=LARGEST_ID)] | SkipJsonSchema[None],
    Header(description="The id of the last event that you have seen. Later ones are sent."),
]


@router.get("/events", response_class=Response, responses={**_STREAM, **documented(429)})
async def follow_all(
    request: Request,
    caller: Caller,
    last_event_id: LastEventId = None,
    since: Annotated[
        int | None, Query(ge=0, le=LARGEST_ID, description="Same as Last-Event-ID, which takes precedence.")
    ] = None,
) -> EventStream:
    """Events of all jobs that you can see, the progress of running jobs, the queue and the devices.

    The stream starts with `hello` and then sends new events, or all events after the last one that you have seen.
    `reset` says that you have missed too many: load everything again.
    """
    hub: EventHub = request.app.state.event_hub
    subscription = await hub.subscribe(caller)
    after = since if last_event_id is None else last_event_id
    return _stream(hub, subscription, _all_jobs(hub, subscription, after))


def _stream(hub: EventHub, subscription: Subscription, messages: AsyncIterator[bytes]) -> EventStream:
    return EventStream(messages, subscription.aborted, lambda: hub.unsubscribe(subscription))


async def _all_jobs(hub: EventHub, subscription: Subscription, after: int | None) -> AsyncIterator[bytes]:
    position = subscription.position or 0
    yield _RETRY
    if after is not None and position < after <= await hub.newest():
        subscription.seen = after  # another process has sent the client more than this one has read so far
        yield _position_message("hello", position)
    elif after is None or after > position or position - after > MAX_REPLAYED:
        if after is not None:
            yield _position_message("reset", position, position)
        yield _position_message("hello", position, position)
    else:
        # Without an id: if the stream breaks now, the client must ask again for what it has missed.
        yield _position_message("hello", position)
        async for message in hub.replay(subscription, after):
            if text := subscription.text(message):
                yield text
    async for new in _new_messages(subscription):
        if text := _text(subscription, new):
            yield text


def _position_message(kind: str, position: int, event_id: int | None = None) -> bytes:
    return Message.of(LiveEvent(kind, {"newest": position}, utc_now(), event_id)).text


@router.get("/jobs/{job_id}/events", response_class=Response, responses={**_STREAM, **_NO_MORE, **documented(404, 429)})
async def follow(
    job_id: JobId,
    request: Request,
    context: Context,
    caller: Caller,
    last_event_id: LastEventId = None,
) -> Response:
    """Past events of a job, then new ones until it ends. Reconnect with Last-Event-ID to miss nothing.

    The answer is 204 if the job has ended and you have seen every event. EventSource then stops.
    """
    hub: EventHub = request.app.state.event_hub
    seen = last_event_id or 0
    if seen and seen > await hub.newest():
        seen = 0  # the id is from a database that was replaced: it says nothing about this one
        last_event_id = None
    page = await run_in_threadpool(queries.list_events, context.store, caller, job_id, seen, PAGE)
    if page.is_over and not page.items and last_event_id is not None:
        return Response(status_code=204)
    if page.has_ended:
        return EventStream(_past_events(context.store, caller, job_id, page))
    subscription = await hub.subscribe(caller, job_id)
    return _stream(hub, subscription, _one_job(hub, subscription, seen))


async def _past_events(store: Store, caller: Principal, job_id: int, page: EventPage) -> AsyncIterator[bytes]:
    """All events of a job that has ended, from `page` on."""
    yield _RETRY
    while True:
        for event in page.items:
            yield Message.of(of_event(event, page.owner_id)).text
        if page.is_over:
            return
        page = await run_in_threadpool(queries.list_events, store, caller, job_id, page.items[-1].id, PAGE)


async def _one_job(hub: EventHub, subscription: Subscription, seen: int) -> AsyncIterator[bytes]:
    subscription.seen = seen
    yield _RETRY
    async for message in hub.replay(subscription, seen):
        if text := subscription.text(message):
            yield text
        if _is_last(message):
            return
    async for new in _new_messages(subscription):
        if text := _text(subscription, new):
            yield text
        if new is not None and _is_last(new):
            return


def _is_last(message: Message) -> bool:
    return message.event.kind == "state" and message.event.data.get("state") in FINAL


def _text(subscription: Subscription, message: Message | None) -> bytes | None:
    return _KEEP_ALIVE if message is None else subscription.text(message)


async def _new_messages(subscription: Subscription) -> AsyncIterator[Message | None]:
    """Messages as they come, until the stream has been open for long enough; None after a while without any."""
    # Random: clients that connected at the same time must not reconnect at the same time.
    ends = time.monotonic() + MAX_STREAM_S * random.uniform(0.8, 1.0)
    while (left := ends - time.monotonic()) > 0:
        try:
            message = await asyncio.wait_for(subscription.queue.get(), min(KEEP_ALIVE_S, left))
        except TimeoutError:
            yield None
            continue
        if message is None:
            return
        yield message
