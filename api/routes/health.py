"""Health and readiness of the service."""

from typing import Any

from fastapi import APIRouter, Request

from api.dependencies import Context
from api.http.problems import documented, problem
from api.schemas.health import Health, Ready
from services.devices import listing
from services.readiness import readiness

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health)
async def is_alive() -> Any:  # async: the thread pool may be busy
    """The process is alive."""
    return {"status": "ok"}


@router.get("/readyz", response_model=Ready, responses=documented(503))
def is_ready(request: Request, context: Context) -> Any:
    """The database answers and its tables are up to date. Broker and devices are only reported."""
    found = readiness(context.store, context.settings)
    if found.is_ready:
        return {
            "status": "ready",
            "broker": "answers" if found.broker else "away",
            "devices": listing.count_problems(context.store),
        }
    if not found.database:
        return problem(request.scope, "database_away", "the database does not answer")
    return problem(request.scope, "not_ready", "the tables are not up to date: run python -m services.setup")
