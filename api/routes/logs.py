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

Attempt = Annotated[int | None, Query(ge=1, le=1000, description="An attempt's number. Default: the newest.")]
_MATCHES = 1000  # lines, if a search does not say how many


@router.get("/logs", response_class=PlainTextResponse, responses=PARTIAL)
def read_log(
    job_id: JobId,
    context: Context,
    caller: Caller,
    request: Request,
    attempt: Attempt = None,
    tail: Annotated[int | None, Query(ge=1, le=10_000, description="Only this many of the last lines.")] = None,
    q: Annotated[
        str | None,
        Query(min_length=1, max_length=200, description="Only lines that contain this text, in any case."),
    ] = None,
) -> Response:
    """The trainer's log. Without `tail` and `q`: all of it, as a file to download.

    The header `Downshift-Cut: true` says that the log is too long and that its beginning was not read.
    """
    if q is not None:
        with read.open_log(context.store, context.settings, caller, job_id, attempt) as log:
            return _excerpt(read.search_log(log, q, tail or _MATCHES))
    if tail is not None:
        with read.open_log(context.store, context.settings, caller, job_id, attempt) as log:
            return _excerpt(read.tail_log(log, tail))
    log = read.open_log(context.store, context.settings, caller, job_id, attempt)
    if log.file is None:
        return _excerpt(Excerpt(log.attempt, "", False))
    size = log.file.seek(0, 2)
    log.file.seek(0)
    headers = {"Downshift-Attempt": str(log.attempt), **attachment(f"job-{job_id}-attempt-{log.attempt}.log")}
    return file_response(request, log.file, size, TEXT, headers)


@router.get("/logs/lines", response_model=LogLines)
def read_log_lines(
    job_id: JobId,
    context: Context,
    caller: Caller,
    attempt: Attempt = None,
    first: Annotated[
        int | None,
        Query(alias="from", ge=1, le=LARGEST_ID, description="Number of the first line. Default: the last lines."),
    ] = None,
    lines: Annotated[int, Query(ge=1, le=5000, description="Number of lines.")] = 500,
    noise: Annotated[bool, Query(description="Also return the blocks of TensorFlow's routine messages.")] = False,
) -> Any:
    """Lines of a log by number. A line is cut after 10,000 bytes. Fewer lines are returned if they are very long."""
    with read.open_log(context.store, context.settings, caller, job_id, attempt) as log:
        return read.read_lines(log, first, lines, noise=noise)


@router.get("/logs/search", response_model=LogMatches)
def search_log(
    job_id: JobId,
    context: Context,
    caller: Caller,
    q: Annotated[str, Query(min_length=1, max_length=200, description="The text to find, in any case.")],
    attempt: Attempt = None,
    after: Annotated[
        int | None,
        Query(ge=0, le=LARGEST_ID, description="The first matches after this line. Takes precedence over `before`."),
    ] = None,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_ID, description="The last matches before this line.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Any:
    """Lines that contain a text, with their numbers, in log order. Without `after` and `before`: the last matches."""
    with read.open_log(context.store, context.settings, caller, job_id, attempt) as log:
        return read.find_lines(log, q, after, before, limit)


@router.get("/logs/error", response_model=LogTrouble)
def show_trouble(job_id: JobId, context: Context, caller: Caller, attempt: Attempt = None) -> Any:
    """The diagnosis of an attempt, and the log lines that show why it ended."""
    return read.find_trouble(context.store, context.settings, caller, job_id, attempt)


def _excerpt(excerpt: Excerpt) -> PlainTextResponse:
    headers = {"Downshift-Attempt": str(excerpt.attempt)}
    if excerpt.is_cut:
        headers["Downshift-Cut"] = "true"
    return PlainTextResponse(excerpt.text, headers=headers)
