"""The trainer's log of an attempt: whole, by line, by search."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response

from api.dependencies import Caller, Context, JobId
from api.http.file_response import PARTIAL, TEXT, attachment, file_response
from api.http.problems import documented
from api.schemas.base import LARGEST_ID
from api.schemas.logs import LogLines, LogMatches, LogTrouble
from services.logs import read
from services.logs.read import Excerpt

router = APIRouter(prefix="/jobs/{job_id}", tags=["logs"], responses=documented(404))

Attempt = Annotated[int | None, Query(ge=1, le=1000, description="none: the newest")]
_MATCHES = 1000  # lines, if a search does not say how many


@router.get("/logs", response_class=PlainTextResponse, responses=PARTIAL)
def read_log(
    job_id: JobId,
    context: Context,
    caller: Caller,
    request: Request,
    attempt: Attempt = None,
    tail: Annotated[int | None, Query(ge=1, le=10_000, description="only the last lines")] = None,
    q: Annotated[
        str | None,
        Query(min_length=1, max_length=200, description="only lines that contain this; case does not matter"),
    ] = None,
) -> Response:
    """The output of the trainer. Without `tail` and `q`: all of it, as a file to download.

    `Downshift-Cut: true`: the log is too long, and its beginning was not searched.
    """
    if q is not None:
        return _excerpt(read.search_log(context.store, context.settings, caller, job_id, attempt, q, tail or _MATCHES))
    if tail is not None:
        return _excerpt(read.tail_log(context.store, context.settings, caller, job_id, attempt, tail))
    number, file = read.open_log(context.store, context.settings, caller, job_id, attempt)
    if file is None:
        return _excerpt(Excerpt(number, "", False))
    size = file.seek(0, 2)
    file.seek(0)
    return file_response(
        request,
        file,
        size,
        TEXT,
        {"Downshift-Attempt": str(number), **attachment(f"job-{job_id}-attempt-{number}.log")},
    )


@router.get("/logs/lines", response_model=LogLines)
def read_log_lines(
    job_id: JobId,
    context: Context,
    caller: Caller,
    attempt: Attempt = None,
    first: Annotated[
        int | None, Query(alias="from", ge=1, le=LARGEST_ID, description="a line's number; none: the last lines")
    ] = None,
    lines: Annotated[int, Query(ge=1, le=5000, description="how many")] = 500,
    noise: Annotated[bool, Query(description="name the blocks of TensorFlow's routine messages too")] = False,
) -> Any:
    """Lines of a log by their numbers. Each is shown up to 10,000 bytes; very many long ones are cut off together."""
    return read.read_lines(context.store, context.settings, caller, job_id, attempt, first, lines, noise=noise)


@router.get("/logs/search", response_model=LogMatches)
def search_log(
    job_id: JobId,
    context: Context,
    caller: Caller,
    q: Annotated[str, Query(min_length=1, max_length=200, description="a text; case does not matter")],
    attempt: Attempt = None,
    after: Annotated[
        int | None,
        Query(ge=0, le=LARGEST_ID, description="the next matches after this line; takes precedence over `before`"),
    ] = None,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_ID, description="the last matches before this line")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Any:
    """Lines that contain a text, with their numbers, in log order. Without `after` and `before`: the last ones."""
    return read.find_lines(context.store, context.settings, caller, job_id, attempt, q, after, before, limit)


@router.get("/logs/error", response_model=LogTrouble)
def show_trouble(job_id: JobId, context: Context, caller: Caller, attempt: Attempt = None) -> Any:
    """The lines that tell why the attempt ended."""
    return read.find_trouble(context.store, context.settings, caller, job_id, attempt)


def _excerpt(excerpt: Excerpt) -> PlainTextResponse:
    headers = {"Downshift-Attempt": str(excerpt.attempt)}
    if excerpt.is_cut:
        headers["Downshift-Cut"] = "true"
    return PlainTextResponse(excerpt.text, headers=headers)
