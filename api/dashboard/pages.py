"""The dashboard: page shells, and the scripts and styles that fill them from /v1. Nothing is rendered from data here.

A page holds nothing that anybody put into the service, so a shell is the same for everyone; what it shows, its scripts
ask for as the person who looks at it.
"""

import functools
import hashlib
import importlib.util
import mimetypes
from collections.abc import Mapping
from pathlib import Path

import jinja2
from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.datastructures import Headers
from starlette.types import Scope

from api.dependencies import Caller, Here, JobId
from services.errors import NotFound
from services.jobs import queries

__all__ = ["FOR_LOG_IN", "STATIC", "error_page", "is_for_log_in", "is_page", "router", "static_files"]

router = APIRouter(include_in_schema=False)

STATIC = "/static/"
# What the log-in page is made of; all other files are for those who are in.
FOR_LOG_IN = frozenset(
    {"icon.svg", "css/app.css", "js/pages/login.js", "js/shared/api.js", "js/shared/dom.js", "js/shared/theme.js"}
)
_HERE = Path(__file__).parent
_PAGES = (
    ("/", "Jobs"),
    ("/devices", "Devices"),
    ("/datasets", "Datasets"),
    ("/models", "Models"),
    ("/compare", "Compare"),
)
_ONE_YEAR = "private, max-age=31536000, immutable"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
# Plotly makes two style elements: an empty one that it fills rule by rule, and its map library's.
_PLOTLY_STYLES = (
    " 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' 'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='"
)


def _shell(path: str, template: str, *, charts: bool = False) -> None:
    """Serve `template` at `path`; with charts, where a page draws some."""

    def shell() -> HTMLResponse:
        return _page(template, path, charts=charts)

    router.add_api_route(path, shell, methods=["GET"], name=template)


_shell("/login", "login.html")
_shell("/", "jobs.html")
_shell("/jobs/new", "new.html")
_shell("/devices", "devices.html")
_shell("/compare", "compare.html", charts=True)
_shell("/datasets", "datasets.html")
_shell("/models", "models.html")
_shell("/settings", "settings.html")


@router.get("/jobs/{job_id:int}")
def job(job_id: JobId, here: Here, caller: Caller) -> HTMLResponse:
    """Only of a job that is there for this one to see; raises NotFound."""
    queries.show_job(here.store, here.settings, caller, job_id)
    return _page("job.html", "/jobs/", charts=True, job_id=job_id)


@router.get("/jobs")
def jobs(request: Request) -> RedirectResponse:
    """Where people look for the list of jobs; it is the front page."""
    return RedirectResponse(f"/?{request.url.query}" if request.url.query else "/", 308)


def is_page(scope: Scope) -> bool:
    """Does a person ask for this, with a browser? What /v1 answers is for programs, whoever asks."""
    headers = Headers(scope=scope)
    wants_page = "text/html" in headers.get("accept", "") and "authorization" not in headers
    return bool(scope["method"] == "GET" and wants_page and not scope["path"].startswith("/v1/"))


def is_for_log_in(path: str) -> bool:
    """Is this a file that the log-in page needs, whatever its version?"""
    _, _, name = path.removeprefix(STATIC).partition("/")
    return path.startswith(STATIC) and name in FOR_LOG_IN


def error_page(
    status: int, title: str, detail: str, number: str, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """What went wrong and the way back, where a person would get a problem."""
    page = _page("error.html", "", status=status, title=title, detail=detail, number=number)
    page.status_code = status
    page.headers.update(headers or {})
    return page


@router.get(STATIC + "{version}/{name:path}")
def static_file(version: str, name: str) -> Response:
    """Kept by browsers for as long as they like: the next version has another address."""
    path = static_files().get(name)
    if path is None:
        raise NotFound(f"there is no file {name}")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return FileResponse(path, media_type=kind, headers={"Cache-Control": _ONE_YEAR})


def _page(template: str, here: str, *, charts: bool = False, **values: object) -> HTMLResponse:
    text = _templates().get_template(template).render(pages=_PAGES, here=here, **values)
    policy = _POLICY.format(styles=_PLOTLY_STYLES if charts else "")
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.globals["static"] = lambda name: f"{STATIC}{_version()}/{name}"
    return environment


@functools.cache
def static_files() -> dict[str, Path]:
    """By the name that pages ask for: ours, and Plotly's script from where it is installed."""
    root = _HERE / "static"
    found = {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.is_file()}
    plotly = importlib.util.find_spec("plotly")  # which is not imported for one file of it
    assert plotly is not None
    assert plotly.submodule_search_locations
    return {**found, "plotly.min.js": Path(plotly.submodule_search_locations[0], "package_data", "plotly.min.js")}


@functools.cache
def _version() -> str:
    digest = hashlib.sha256()
    for name, path in static_files().items():
        digest.update(f"{name} {path.stat().st_size}\n".encode())
        if name != "plotly.min.js":
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
