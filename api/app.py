"""The application: its routes, middleware, error handlers and OpenAPI document."""

from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi

from api import docs_page
from api.dependencies import AppContext, reject_unknown_query
from api.http import cookies, problems
from api.middleware.authentication import Authentication, is_public
from api.middleware.body_limit import BodyLimit
from api.middleware.request_counts import RequestCounts
from api.middleware.request_log import RequestLog
from api.routes import (
    artifacts,
    attempts,
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
    samples,
    webhooks,
)
from api.routes.users import audit, sessions, tokens, users
from api.sse.hub import EventHub
from services.settings import Settings
from services.store.engine import Store

__all__ = ["create_app"]

_DESCRIPTION = (
    "Submit object-detection training jobs, watch them and download the results. "
    "Requests need a token (Authorization: Bearer …) or the cookie of a log-in. "
    "Every error is application/problem+json (RFC 9457)."
)
_VERSION = "1"


def create_app(settings: Settings, store: Store) -> FastAPI:
    """The tables of `store` must exist: `python -m services.setup`."""
    # No docs_url: FastAPI's own pages load scripts from another host.
    app = FastAPI(
        title="Downshift",
        version=_VERSION,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=problems.documented(422, 500, 503),
    )
    app.state.context = AppContext(settings, store)
    app.state.event_hub = EventHub(store, settings)
    app.state.request_counts = RequestCounts()
    app.include_router(pages.router)
    app.include_router(docs_page.router)
    app.include_router(health.router)
    app.include_router(metrics.router)
    # The prefix is given here: without one, FastAPI would resolve all these routes first, to look for empty paths.
    app.include_router(_v1(), prefix="/v1")
    problems.add_handlers(app)
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, max_kb=settings.max_body_kb, max_upload_mb=settings.max_upload_mb)
    app.add_middleware(Authentication, settings=settings, store=store)
    app.add_middleware(RequestLog, request_counts=app.state.request_counts)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _v1() -> APIRouter:
    router = APIRouter(
        dependencies=[Depends(reject_unknown_query)],
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
        samples,
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
    """FastAPI's document, with the security schemes and the problem type added."""
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
