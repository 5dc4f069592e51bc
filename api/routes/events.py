"""A job's events as they happen, for EventSource and for curl."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from api.context import LARGEST_ID, Caller, Context, Here, JobId
from api.problems import documented
from services import queries
from services.accounts import Principal
from services.errors import TooMany
from services.queries import EventPage

router = APIRouter(tags=["events"])

_BATCH = 200
_MOST_STREAMS = 200  # each asks the database once a second
LOOK_EVERY_S = 1.0
KEEP_ALIVE_S = 15.0
LONGEST_S = 600.0  # then the client comes again, with the last number it has seen, and its token is checked anew
_open = 0
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events; each has a number, a kind and JSON",
        "content": {
            "text/event-stream": {
                "itemSchema": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "event": {"type": "string"},
                        "data": {"type": "string", "contentMediaType": "application/json"},
                    },
                    "required": ["id", "event", "data"],
                }
            }
        },
    }
}


class EventStream(StreamingResponse):
    media_type = "text/event-stream"


@router.get("/jobs/{job_id}/events", response_class=Response, responses={**_STREAM, **documented(404, 429)})
async def follow(
    job_id: JobId,
    here: Here,
    caller: Caller,
    last_event_id: Annotated[
        int, Header(ge=0, le=LARGEST_ID, description="the last one seen: those after it are sent")
    ] = 0,
) -> EventStream:
    """What has happened, then what happens, until the job has ended. Reconnecting with Last-Event-ID misses nothing."""
    if _open >= _MOST_STREAMS:
        raise TooMany(f"{_MOST_STREAMS} event streams are open, which is the limit; try again later")
    first = await run_in_threadpool(queries.list_events, here.store, caller, job_id, last_event_id, _BATCH)
    return EventStream(_stream(here, caller, job_id, last_event_id, first))


async def _stream(here: Context, caller: Principal, job_id: int, after: int, page: EventPage) -> AsyncIterator[str]:
    global _open
    _open += 1
    try:
        ends = time.monotonic() + LONGEST_S
        heard = time.monotonic()
        yield "retry: 2000\n\n"
        while True:
            for event in page.items:
                after = event["id"]
                heard = time.monotonic()
                yield _write(event)
            if page.is_over or time.monotonic() >= ends:
                return
            if len(page.items) < _BATCH:
                await asyncio.sleep(LOOK_EVERY_S)
            if time.monotonic() - heard >= KEEP_ALIVE_S:
                heard = time.monotonic()
                yield ": still here\n\n"
            page = await run_in_threadpool(queries.list_events, here.store, caller, job_id, after, _BATCH)
    finally:
        _open -= 1


def _write(event: dict[str, Any]) -> str:
    return f"id: {event['id']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n"
