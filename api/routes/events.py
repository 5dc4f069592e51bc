"""What happens, as it happens, for EventSource and for curl."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from starlette.concurrency import run_in_threadpool

from api.dependencies import Caller, Here, JobId
from api.http.problems import documented
from api.schemas.base import LARGEST_ID
from api.sse.hub import PAGE, Broadcaster, Subscription, Told
from api.sse.response import EventStream
from services.clock import utc_now
from services.domain.jobs.states import FINAL
from services.events.live import News, of_event
from services.jobs import queries
from services.jobs.queries import EventPage
from services.store.engine import Store
from services.users.principal import Principal

router = APIRouter(tags=["events"])

KEEP_ALIVE_S = 15.0
LONGEST_S = 300.0  # then the client comes again, with the last number it has seen
MOST_REPLAYED = 20_000  # events of all jobs; who has missed more is told to read everything anew
_RETRY = b"retry: 2000\n\n"
_STILL_HERE = b": still here\n\n"
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events: each has a kind and JSON data, and a number if it is stored",
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
_SEEN: dict[int | str, dict[str, Any]] = {204: {"description": "The job has ended, and you have seen it all"}}
LastEventId = Annotated[
    Annotated[int, Field(ge=0, le=LARGEST_ID)] | SkipJsonSchema[None],
    Header(description="the last event you have seen; later ones are sent"),
]


@router.get("/events", response_class=Response, responses={**_STREAM, **documented(429)})
async def follow_all(
    request: Request,
    caller: Caller,
    last_event_id: LastEventId = None,
    since: Annotated[
        int | None, Query(ge=0, le=LARGEST_ID, description="same as Last-Event-ID, which takes precedence")
    ] = None,
) -> EventStream:
    """Events of all jobs that you can see, with their progress, the queue and the devices.

    It starts now, with `hello`, or after the last event you have seen.
    """
    broadcaster: Broadcaster = request.app.state.broadcaster
    member = await broadcaster.join(caller)
    after = since if last_event_id is None else last_event_id
    return EventStream(_all(broadcaster, member, after), member.cut, lambda: broadcaster.leave(member))


async def _all(broadcaster: Broadcaster, member: Subscription, after: int | None) -> AsyncIterator[bytes]:
    position = member.position or 0
    yield _RETRY
    if after is not None and position < after <= await broadcaster.newest():
        member.seen = after  # another process has told him more than this one has read so far
        yield _newest("hello", position)
    elif after is None or after > position or position - after > MOST_REPLAYED:
        if after is not None:
            yield _newest("reset", position, position)
        yield _newest("hello", position, position)
    else:
        # Without the number: cut off now, he must come back for what he has missed.
        yield _newest("hello", position)
        async for told in broadcaster.replay(member, after):
            if text := member.text(told):
                yield text
    async for come in _live(member):
        if text := _text(member, come):
            yield text


def _newest(kind: str, position: int, number: int | None = None) -> bytes:
    return Told.of(News(kind, {"newest": position}, utc_now(), number)).text


@router.get("/jobs/{job_id}/events", response_class=Response, responses={**_STREAM, **_SEEN, **documented(404, 429)})
async def follow(
    job_id: JobId,
    request: Request,
    here: Here,
    caller: Caller,
    last_event_id: LastEventId = None,
) -> Response:
    """Past events, then new ones until the job ends. Reconnect with Last-Event-ID to miss nothing.

    If the job has ended and you have seen every event, the answer is 204: EventSource then stops.
    """
    broadcaster: Broadcaster = request.app.state.broadcaster
    seen = last_event_id or 0
    if seen and seen > await broadcaster.newest():
        seen = 0  # of a database that is gone: none of its numbers says anything about this one's
        last_event_id = None
    page = await run_in_threadpool(queries.list_events, here.store, caller, job_id, seen, PAGE)
    if page.is_over and not page.items and last_event_id is not None:
        return Response(status_code=204)
    if page.has_ended:
        return EventStream(_past(here.store, caller, job_id, page))
    member = await broadcaster.join(caller, job_id)
    return EventStream(_job(broadcaster, member, seen), member.cut, lambda: broadcaster.leave(member))


async def _past(store: Store, caller: Principal, job_id: int, page: EventPage) -> AsyncIterator[bytes]:
    """All there is of a job that has ended."""
    yield _RETRY
    while True:
        for event in page.items:
            yield Told.of(of_event(event, page.owner_id)).text
        if page.is_over:
            return
        page = await run_in_threadpool(queries.list_events, store, caller, job_id, page.items[-1].id, PAGE)


async def _job(broadcaster: Broadcaster, member: Subscription, seen: int) -> AsyncIterator[bytes]:
    member.seen = seen
    yield _RETRY
    async for told in broadcaster.replay(member, seen):
        if text := member.text(told):
            yield text
        if _is_last(told):
            return
    async for come in _live(member):
        if text := _text(member, come):
            yield text
        if come is not None and _is_last(come):
            return


def _is_last(told: Told) -> bool:
    return told.news.kind == "state" and told.news.data.get("state") in FINAL


def _text(member: Subscription, told: Told | None) -> bytes | None:
    return _STILL_HERE if told is None else member.text(told)


async def _live(member: Subscription) -> AsyncIterator[Told | None]:
    """What comes, until the stream has been open for long enough; None where nothing came for a while."""
    ends = time.monotonic() + LONGEST_S * random.uniform(0.8, 1.0)  # all who came at once must not come back at once
    while (left := ends - time.monotonic()) > 0:
        try:
            told = await asyncio.wait_for(member.queue.get(), min(KEEP_ALIVE_S, left))
        except TimeoutError:
            yield None
            continue
        if told is None:
            return
        yield told
