"""Answers to what creates something: where it is, and whether it was there already."""

from typing import Any

from fastapi import Response

from services.once import Done

__all__ = ["ACCEPTED", "CREATED", "created"]

_HEADERS = {
    "Location": {"description": "what was made", "schema": {"type": "string"}},
    "Idempotency-Replayed": {
        "description": "`true` where the same key and request came before",
        "schema": {"type": "string"},
    },
}
CREATED: dict[int | str, dict[str, Any]] = {201: {"description": "Made", "headers": _HEADERS}}
ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"description": "Accepted: it will end well, or end with a reason", "headers": _HEADERS}
}


def created(done: Done, response: Response) -> dict[str, Any]:
    """The body of the answer; its headers are set."""
    response.headers["Location"] = done.location
    if done.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return done.body
