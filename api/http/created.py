"""Headers of answers to requests with an Idempotency-Key: the location, and whether the answer is a replay."""

from typing import Any

from fastapi import Response

from services.idempotency import Result

__all__ = ["ACCEPTED", "CREATED", "REPLAYED", "created", "set_replayed_header"]

_REPLAYED = {
    "Idempotency-Replayed": {
        "description": "`true` if the same key and request were sent before.",
        "schema": {"type": "string"},
    },
}
_HEADERS = {"Location": {"description": "Path of what was created.", "schema": {"type": "string"}}, **_REPLAYED}
REPLAYED: dict[int | str, dict[str, Any]] = {200: {"description": "Done", "headers": _REPLAYED}}
CREATED: dict[int | str, dict[str, Any]] = {201: {"description": "Created", "headers": _HEADERS}}
ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"description": "Accepted: the job succeeds, or fails with a reason", "headers": _HEADERS}
}


def created(result: Result, response: Response) -> dict[str, Any]:
    """Set the headers and return the body."""
    response.headers["Location"] = result.location
    set_replayed_header(result, response)
    return result.body


def set_replayed_header(result: Result, response: Response) -> None:
    if result.replayed:
        response.headers["Idempotency-Replayed"] = "true"
