"""Attempts of a job: their plans, configurations, differences and metrics."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse

from api.dependencies import AttemptNumber, Caller, Context, JobId
from api.http.problems import documented
from api.schemas.attempts import Attempt, Attempts, Diff, Metrics
from api.schemas.base import LARGEST_ID
from services.jobs import config_diff, queries

router = APIRouter(prefix="/jobs/{job_id}", tags=["attempts"], responses=documented(404))


@router.get("/attempts", response_model=Attempts)
def list_attempts(job_id: JobId, context: Context, caller: Caller) -> Any:
    """All attempts of a job, the first one first."""
    return {"items": queries.list_attempts(context.store, caller, job_id)}


@router.get("/attempts/{number}", response_model=Attempt)
def show_attempt(job_id: JobId, number: AttemptNumber, context: Context, caller: Caller) -> Any:
    """One attempt: its plan, memory, changes, and how it ended."""
    return queries.show_attempt(context.store, caller, job_id, number)


@router.get("/attempts/{number}/config", response_class=PlainTextResponse)
def show_config(job_id: JobId, number: AttemptNumber, context: Context, caller: Caller) -> PlainTextResponse:
    """The pipeline.config that the attempt ran with."""
    return PlainTextResponse(queries.attempt_config(context.store, caller, job_id, number))


@router.get("/attempts/{number}/diff", response_model=Diff)
def show_diff(
    job_id: JobId,
    number: AttemptNumber,
    context: Context,
    caller: Caller,
    against: Annotated[
        Literal["previous", "submitted"],
        Query(description="`submitted`: compare with the `pipeline_config` that was sent."),
    ] = "previous",
) -> Any:
    """The changes since the previous attempt, with reasons; for the first attempt, since the request."""
    if against == "submitted":
        return config_diff.show_diff_to_submitted(context.store, caller, job_id, number)
    return config_diff.show_diff(context.store, caller, job_id, number)


@router.get("/metrics", response_model=Metrics)
def show_metrics(
    job_id: JobId,
    context: Context,
    caller: Caller,
    names: Annotated[
        list[str] | None, Query(max_length=50, description="Name of a metric. Repeat it for several. Default: all.")
    ] = None,
    max_points: Annotated[int, Query(ge=1, le=5000, description="Most points of each series.")] = 500,
    from_step: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="The first step to include.")] = None,
    to_step: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="The last step to include.")] = None,
) -> Any:
    """Metrics over steps. A long series is thinned: each range of steps keeps its lowest, highest and mean value."""
    return queries.show_metrics(context.store, caller, job_id, names or [], max_points, from_step, to_step)
