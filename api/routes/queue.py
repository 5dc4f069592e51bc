"""The queue of waiting jobs."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from api.dependencies import Caller, Context
from api.schemas.queue import Queue
from services.jobs import queries

router = APIRouter(tags=["queue"])


@router.get("/queue", response_model=Queue)
def show_queue(context: Context, caller: Caller, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> Any:
    """The waiting jobs, in the order in which they will start."""
    return queries.list_queue(context.store, context.settings, caller, limit)
