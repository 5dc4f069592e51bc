"""The application: routes, and around them who may ask, how much may be sent and what is always answered."""

from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi

from api import docs_page
from api.dependencies import Context, known_query_only
from api.http import cookies, problems
from api.middleware.authentication import Gate, is_public
from api.middleware.body_limit import BodyLimit
from api.middleware.request_counts import Traffic
from api.middleware.request_log import Edge
from api.routes import (
    artifacts,
    attempts,
    audit,
    checkpoints,
    datasets,
    devices,
    events,
    health,
    jobs,
    logs,
    metrics,
    models,
    pages,
    queue,
    sessions,
    tokens,
    users,
    webhooks,
)
from api.sse.hub import Broadcaster
from services.settings import Settings
from services.store.engine import Store

__all__ = ["create_app"]

_DESCRIPTION = (
    "Submit object-detection training jobs, watch them and download the results. "
    "Every request needs a token (Authorization: Bearer …) or the cookie of a log-in. "
    "Every error is problem+json."
)
_VERSION = "1"


def create_app(settings: Settings, store: Store | None = None) -> FastAPI:
    """`store` is opened from the settings where none is given. Its tables must be there: `python -m services.setup`."""
    store = store or Store.open(settings.database_url)
    # FastAPI's own pages load scripts from another host.
    app = FastAPI(
        title="Downshift",
        version=_VERSION,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=problems.documented(422, 500, 503),
    )
    app.state.context = Context(settings, store)
    app.state.broadcaster = Broadcaster(store, settings)
    app.state.traffic = Traffic()
    app.include_router(pages.router)
    app.include_router(docs_page.router)
    app.include_router(health.router)
    app.include_router(metrics.router)
    # The prefix is given here: without one FastAPI would first work all these routes out, to look for empty paths.
    app.include_router(_v1(), prefix="/v1")
    problems.handle_all(app)
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, max_kb=settings.max_body_kb, max_upload_mb=settings.max_upload_mb)
    app.add_middleware(Gate, settings=settings, store=store)
    app.add_middleware(Edge, traffic=app.state.traffic)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _v1() -> APIRouter:
    router = APIRouter(
        dependencies=[Depends(known_query_only)],
        responses=problems.documented(400, 401, 403, 413, 415, 429),
    )
    for module in (
        jobs,
        attempts,
        logs,
        artifacts,
        events,
        models,
        datasets,
        checkpoints,
        devices,
        queue,
        tokens,
        sessions,
        users,
        audit,
        webhooks,
    ):
        router.include_router(module.router)
    return router


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's, with what it cannot know: that tokens are needed, and what a problem looks like."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schema["components"]["schemas"] |= problems.schemas()
        schema["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": cookies.NAME},
        }
        schema["security"] = [{"token": []}, {"session": []}]
        for path, operations in schema["paths"].items():
            for method, operation in operations.items():
                if is_public(method.upper(), path):
                    operation["security"] = []
        app.openapi_schema = schema
    return app.openapi_schema
