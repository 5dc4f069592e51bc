"""Jobs: submit, estimate, list, show, edit, cancel, pause, resume and clone them."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.dependencies import Caller, Context, IdempotencyKey, JobId
from api.http import cursors, etags
from api.http.created import ACCEPTED, REPLAYED, created, set_replayed_header
from api.http.etags import IfMatch
from api.http.problems import documented
from api.schemas import patterns
from api.schemas.estimates import Estimate
from api.schemas.jobs import CloneBody, EditBody, Job, Jobs, SubmitBody, SubmittedJob
from services.domain.jobs.states import State
from services.jobs import actions, estimate, queries
from services.jobs import submit as submission

router = APIRouter(tags=["jobs"])
_CHANGES: dict[int | str, dict[str, Any]] = {**REPLAYED, **documented(404, 409)}


@router.post("/jobs", status_code=202, response_model=SubmittedJob, responses={**ACCEPTED, **documented(409, 429)})
def submit(
    body: SubmitBody, response: Response, context: Context, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Any:
    """Submit a job. It is checked and planned at once, and refused if it cannot run.

    A job that no known device can hold is refused too, unless it has `"device": {"wait": true}`.
    """
    submitted = submission.submit(context.store, context.settings, caller, body.as_request(), idempotency_key)
    return created(submitted.result, response)


@router.post("/estimate", response_model=Estimate)
def estimate_job(body: SubmitBody, context: Context, caller: Caller) -> Any:
    """Estimate a job without creating it: its plan, its predicted memory, and the plans to fall back to."""
    return estimate.estimate(context.store, context.settings, caller, body.as_request())


@router.get("/jobs", response_model=Jobs)
def list_jobs(
    context: Context,
    caller: Caller,
    state: Annotated[
        list[State] | None, Query(max_length=len(State), description="Only jobs in this state. Repeat it for several.")
    ] = None,
    owner: Annotated[str | None, Query(max_length=64, pattern=patterns.NO_NUL, description="A user's name.")] = None,
    q: Annotated[
        str | None, Query(max_length=128, pattern=patterns.NO_NUL, description="A part of the job's name.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=256, description="`next` of the previous page.")] = None,
) -> Any:
    """Jobs that you can see, newest first. New jobs do not shift the pages that follow."""
    page = queries.list_jobs(
        context.store,
        context.settings,
        caller,
        limit=limit,
        before=cursors.read(cursor),
        states=state or (),
        owner=owner,
        text=q,
    )
    return {"items": page.items, "next": cursors.write(page.before)}


@router.get("/jobs/{job_id}", response_model=Job, responses=documented(404))
def show_job(job_id: JobId, response: Response, context: Context, caller: Caller) -> Any:
    """One job: its state, progress and plan."""
    return _shown(context, caller, job_id, response)


def _shown(context: Context, caller: Caller, job_id: int, response: Response) -> dict[str, Any]:
    job = queries.show_job(context.store, context.settings, caller, job_id)
    response.headers["ETag"] = etags.write(job["version"])
    return job


@router.get("/jobs/{job_id}/request", response_model=dict[str, Any], responses=documented(404))
def show_request(job_id: JobId, context: Context, caller: Caller) -> Any:
    """The body that was submitted. It can be submitted again, changed or not."""
    return queries.show_request(context.store, caller, job_id)


@router.patch("/jobs/{job_id}", response_model=Job, responses=documented(404, 409, 412))
def edit_job(
    job_id: JobId,
    body: EditBody,
    response: Response,
    context: Context,
    caller: Caller,
    if_match: IfMatch = None,
) -> Any:
    """Change the name, notes or priority of a job. With `If-Match`, only if it has not changed since you read it."""
    actions.edit(context.store, caller, job_id, body.as_request(), etags.read(if_match))
    return _shown(context, caller, job_id, response)


@router.post("/jobs/{job_id}/cancel", response_model=Job, responses=_CHANGES)
def cancel_job(
    job_id: JobId, response: Response, context: Context, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Any:
    """Cancel a job. A waiting job is cancelled at once, a running one when its trainer has stopped."""
    set_replayed_header(actions.cancel(context.store, caller, job_id, idempotency_key), response)
    return _shown(context, caller, job_id, response)


@router.post("/jobs/{job_id}/pause", response_model=Job, responses=_CHANGES)
def pause_job(
    job_id: JobId, response: Response, context: Context, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Any:
    """Pause a job. It keeps its checkpoint and frees its device."""
    set_replayed_header(actions.pause(context.store, caller, job_id, idempotency_key), response)
    return _shown(context, caller, job_id, response)


@router.post("/jobs/{job_id}/resume", response_model=Job, responses={**_CHANGES, **documented(429)})
def resume_job(
    job_id: JobId, response: Response, context: Context, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Any:
    """Queue a paused job again. It continues from its checkpoint.

    Refused (409) if its dataset, or the checkpoint that it starts from, was removed.
    """
    set_replayed_header(actions.resume(context.store, context.settings, caller, job_id, idempotency_key), response)
    return _shown(context, caller, job_id, response)


@router.post(
    "/jobs/{job_id}/clone",
    status_code=202,
    response_model=SubmittedJob,
    responses={**ACCEPTED, **documented(404, 409, 429)},
)
def clone_job(
    job_id: JobId,
    response: Response,
    context: Context,
    caller: Caller,
    body: CloneBody | None = None,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Submit the same request as a new job, with the changes in the body.

    A priority above 0 is copied only for admins.
    """
    changes = body.as_request() if body else {}
    submitted = actions.clone(context.store, context.settings, caller, job_id, changes, idempotency_key)
    return created(submitted.result, response)
