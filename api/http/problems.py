"""Answer every error with problem+json (RFC 9457), or with a page if a browser asked for one.

The only place that maps error codes to HTTP statuses.
"""

import copy
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import Scope

from api.dashboard import pages
from api.http.field_errors import faults_of
from services.domain.jobs.states import WrongState
from services.domain.sizes import counted
from services.errors import Busy, DownshiftError, Fault, Invalid, TooFast, Unauthenticated
from services.jobs.check_request import steps_per_epoch
from services.readiness import DATABASE_UNREACHABLE

__all__ = ["add_handlers", "documented", "problem", "problem_of", "schemas"]

_MEDIA_TYPE = "application/problem+json"
_REFERENCE = "#/components/schemas/{model}"
_log = logging.getLogger(__name__)

# code: status, title
_CODES: Mapping[str, tuple[int, str]] = {
    "bad_request": (400, "The request cannot be read"),
    "bad_json": (400, "The body is not JSON"),
    "unauthenticated": (401, "A valid token is needed"),
    "forbidden": (403, "Not allowed"),
    "csrf_failed": (403, "Request from another site"),
    "not_found": (404, "Not found"),
    "method_not_allowed": (405, "Method not allowed"),
    "conflict": (409, "Conflict"),
    "wrong_state": (409, "Not possible in the job's state"),
    "files_missing": (409, "Files that the job needs are gone"),
    "key_reused": (409, "Idempotency-Key already used for another request"),
    "name_taken": (409, "The name is taken"),
    "last_admin": (409, "The last admin must remain"),
    "version_mismatch": (412, "It has changed since it was read"),
    "too_large": (413, "The body is too large"),
    "unsupported_media_type": (415, "Unsupported content type"),
    "range_not_satisfiable": (416, "No such range"),
    "invalid": (422, "Invalid request"),
    "too_many": (429, "A limit is reached"),
    "limit_reached": (429, "Your limit is reached"),
    "rate_limited": (429, "Too many requests"),
    "internal": (500, "Internal error"),
    "not_ready": (503, "The service is not ready"),
    "busy": (503, "The service is busy"),
    "database_away": (503, "The database does not answer"),
    "no_space": (507, "The disk is full"),
}
_BY_STATUS = {status: code for code, (status, _) in reversed(list(_CODES.items()))}  # the first code of each status


class FieldFault(BaseModel):
    field: str = Field(examples=["dataset"])
    message: str = Field(examples=["there is no dataset called 'shaps'; did you mean shapes?"])


class Problem(BaseModel):
    """The body of every error."""

    type: str = Field(examples=["urn:downshift:problem:invalid"])
    title: str = Field(description="The kind of error, for people.")
    status: int
    detail: str = Field(description="What is wrong, and what to do about it.")
    instance: str = Field(description="The requested path.")
    code: str = Field(
        description="The kind of error, for programs. It stays the same when texts change.", examples=["invalid"]
    )
    request_id: str = Field(description="The id of the request, also in the service's log.")
    errors: list[FieldFault] | None = Field(default=None, description="Each wrong field, if any.")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """FastAPI's `responses` for these errors of a route. They refer to `schemas()`."""
    content = {_MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model="Problem")}}}
    return {
        status: {"description": _CODES[_BY_STATUS[status]][1], "content": copy.deepcopy(content)} for status in statuses
    }


def schemas() -> dict[str, Any]:
    """The types that `documented` refers to: FastAPI's `model` would document them under the wrong media type."""
    schema = Problem.model_json_schema(ref_template=_REFERENCE)
    return {**schema.pop("$defs"), "Problem": schema}


def problem(
    scope: Scope,
    code: str,
    detail: str,
    *,
    faults: Sequence[Fault] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer for a code of this module's table."""
    status, title = _CODES[code]
    request_id = scope.get("state", {}).get("request_id", "")
    if pages.wants_page(scope):
        return pages.error_page(status, title, detail, request_id, headers)
    body: dict[str, Any] = {
        "type": f"urn:downshift:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": scope.get("path", ""),
        "code": code,
        "request_id": request_id,
    }
    if faults is not None:
        body["errors"] = [{"field": fault.field, "message": fault.message} for fault in faults]
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=_MEDIA_TYPE)


def problem_of(scope: Scope, error: DownshiftError | WrongState) -> Response:
    """The answer for an error of a use case. Its code must be in this module's table."""
    faults = error.faults if isinstance(error, Invalid) else None
    headers = {"WWW-Authenticate": 'Bearer realm="downshift"'} if isinstance(error, Unauthenticated) else {}
    if isinstance(error, TooFast | Busy):
        headers["Retry-After"] = str(math.ceil(error.retry_after_s))
    return problem(scope, error.code, str(error), faults=faults, headers=headers)


def add_handlers(app: FastAPI) -> None:
    """Answer the errors of `app` with problems. The outermost middleware answers unexpected exceptions."""
    app.add_exception_handler(DownshiftError, _domain_error)
    app.add_exception_handler(WrongState, _domain_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    for kind in DATABASE_UNREACHABLE:
        app.add_exception_handler(kind, _database_away)


def _domain_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, DownshiftError | WrongState)
    return problem_of(request.scope, error)


def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(item["type"] == "json_invalid" for item in found):
        return problem(request.scope, "bad_json", f"the body is not valid JSON: {found[0]['ctx']['error']}")
    body = getattr(request.scope.get("route"), "body_field", None)
    expected = body.field_info.annotation if body else None
    faults = faults_of(found, expected, lambda: _epoch_length(request, error.body))
    detail = "; ".join(f"{fault.field}: {fault.message}" for fault in faults[:3])
    return problem(request.scope, "invalid", detail, faults=faults)


def _epoch_length(request: Request, body: Any) -> str:
    """The length of an epoch of the body's dataset, as a clause; "" if it is not known."""
    if not isinstance(body, dict):
        return ""
    steps = steps_per_epoch(request.app.state.context.settings, body)
    return f" (one epoch of {body['dataset']} is {counted(steps, 'step')})" if steps else ""


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _BY_STATUS.get(error.status_code, "bad_request" if error.status_code < 500 else "internal")
    headers = dict(error.headers or {})
    detail = str(error.detail)
    if code == "not_found":
        detail = f"there is nothing at {request.url.path}"
    if code == "method_not_allowed":
        headers["Allow"] = ", ".join(_allowed_methods(request))
        detail = f"{request.method} is not allowed at {request.url.path}, only {headers['Allow']}"
    return problem(request.scope, code, detail, headers=headers)


def _allowed_methods(request: Request) -> list[str]:
    """All methods of a path. Starlette names those of one route only."""
    found: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        pattern = getattr(route, "path_regex", None)
        if pattern is not None and pattern.match(request.url.path):
            found |= route.methods or set()
    return sorted(found)


def _database_away(request: Request, error: Exception) -> Response:
    _log.error("the database does not answer: %s", error)
    detail = "the database did not answer; nothing was changed, try again in a moment"
    return problem(request.scope, "database_away", detail, headers={"Retry-After": "5"})
