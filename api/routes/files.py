"""Logs and artifacts."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import PlainTextResponse, Response, StreamingResponse

from api.answers import Artifacts
from api.context import Caller, Here, JobId
from api.problems import documented
from api.streams import OTHER, TEXT, attachment, file_response, media_type_of
from services import artifacts, logs
from services.logs import Excerpt

router = APIRouter(prefix="/jobs/{job_id}", tags=["files"], responses=documented(404))

_MATCHES = 1000  # lines, where a search does not say how many
_KINDS = (OTHER, "image/png", "image/jpeg", "application/gzip", "text/plain")
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file",
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in _KINDS},
    }
}


@router.get("/logs", response_class=PlainTextResponse)
def read_log(
    job_id: JobId,
    here: Here,
    caller: Caller,
    attempt: Annotated[int | None, Query(ge=1, le=1000, description="none: the newest")] = None,
    tail: Annotated[int | None, Query(ge=1, le=10_000, description="only the last lines")] = None,
    q: Annotated[
        str | None, Query(min_length=1, max_length=200, description="only lines that hold this, in any case")
    ] = None,
) -> Response:
    """What the trainer printed. Without `tail` and `q`: all of it, as a file to be saved.

    `Downshift-Cut: true` says that the beginning was not looked at, because the log is too long.
    """
    if q is not None:
        return _excerpt(logs.search_log(here.store, here.settings, caller, job_id, attempt, q, tail or _MATCHES))
    if tail is not None:
        return _excerpt(logs.tail_log(here.store, here.settings, caller, job_id, attempt, tail))
    number, file = logs.open_log(here.store, here.settings, caller, job_id, attempt)
    if file is None:
        return _excerpt(Excerpt(number, "", False))
    size = file.seek(0, 2)
    file.seek(0)
    return file_response(
        file, size, TEXT, {"Downshift-Attempt": str(number), **attachment(f"job-{job_id}-attempt-{number}.log")}
    )


def _excerpt(excerpt: Excerpt) -> PlainTextResponse:
    headers = {"Downshift-Attempt": str(excerpt.attempt)}
    if excerpt.is_cut:
        headers["Downshift-Cut"] = "true"
    return PlainTextResponse(excerpt.text, headers=headers)


@router.get("/artifacts", response_model=Artifacts)
def list_artifacts(job_id: JobId, here: Here, caller: Caller) -> Any:
    """The files that the job gives away. `export.tar.gz` is the exported model in one piece."""
    return artifacts.list_artifacts(here.store, here.settings, caller, job_id)


@router.get("/artifacts/{name:path}", response_class=Response, responses=_FILE)
def read_artifact(
    job_id: JobId,
    name: Annotated[str, Path(max_length=1024, examples=[artifacts.EXPORT_ARCHIVE])],
    here: Here,
    caller: Caller,
) -> StreamingResponse:
    if name == artifacts.EXPORT_ARCHIVE:
        pieces = artifacts.stream_export(here.store, here.settings, caller, job_id)
        return StreamingResponse(
            pieces, media_type=media_type_of(name), headers=attachment(f"job-{job_id}-{artifacts.EXPORT_ARCHIVE}")
        )
    found = artifacts.open_artifact(here.store, here.settings, caller, job_id, name)
    kind = media_type_of(name)
    return file_response(found.file, found.bytes, kind, {} if kind.startswith("image/") else attachment(name))
