"""The files of a job: list and download them."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response, StreamingResponse

from api.dependencies import Caller, Context, JobId
from api.http.file_response import PARTIAL, WHOLE, attachment, file_response, media_type_of
from api.http.problems import documented
from api.schemas.artifacts import Artifacts
from services.jobs import artifacts

router = APIRouter(prefix="/jobs/{job_id}", tags=["artifacts"], responses=documented(404))


@router.get("/artifacts", response_model=Artifacts)
def list_artifacts(job_id: JobId, context: Context, caller: Caller) -> Any:
    """The files of a job that can be downloaded. `export.tar.gz` is the whole exported model."""
    return artifacts.list_artifacts(context.store, context.settings, caller, job_id)


@router.get("/artifacts/{name:path}", response_class=Response, responses={**WHOLE, **PARTIAL})
def read_artifact(
    job_id: JobId,
    name: Annotated[str, Path(max_length=1024, examples=[artifacts.EXPORT_ARCHIVE])],
    request: Request,
    context: Context,
    caller: Caller,
) -> Response:
    """Download one file of a job. A `Range` header selects a part of it, except for `export.tar.gz`."""
    if name == artifacts.EXPORT_ARCHIVE:
        pieces = artifacts.stream_export(context.store, context.settings, caller, job_id)
        return StreamingResponse(
            pieces, media_type=media_type_of(name), headers=attachment(f"job-{job_id}-{artifacts.EXPORT_ARCHIVE}")
        )
    found = artifacts.open_artifact(context.store, context.settings, caller, job_id, name)
    kind = media_type_of(name)
    return file_response(request, found.file, found.bytes, kind, {} if kind.startswith("image/") else attachment(name))
