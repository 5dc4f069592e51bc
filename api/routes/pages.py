"""The dashboard's pages, and their scripts and styles."""

import mimetypes
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from api.dashboard import pages, static_files
from api.dependencies import Caller, Context, JobId
from services.errors import NotFound
from services.jobs import queries
from services.library import listing

router = APIRouter(include_in_schema=False)
_ONE_YEAR = "private, max-age=31536000, immutable"


def _serve(path: str, template: str, *, charts: bool = False) -> None:
    def page() -> HTMLResponse:
        return pages.render(template, path, charts=charts)

    router.add_api_route(path, page, methods=["GET"], name=template)


_serve("/login", "login.html")
_serve("/", "jobs.html")
_serve("/jobs/new", "new.html")
_serve("/devices", "devices.html")
_serve("/compare", "compare.html", charts=True)
_serve("/datasets", "datasets.html")
_serve("/models", "models.html")
_serve("/settings", "settings.html")


@router.get("/jobs/{job_id:int}")
def job(job_id: JobId, context: Context, caller: Caller) -> HTMLResponse:
    """Raises NotFound for a job that the caller may not see."""
    queries.show_job(context.store, context.settings, caller, job_id)
    return pages.render("job.html", "/jobs/", charts=True, job_id=job_id)


@router.get("/datasets/{name}")
def dataset(name: Annotated[str, Path(max_length=64)], context: Context, caller: Caller) -> HTMLResponse:
    """Raises NotFound."""
    listing.show_dataset(context.settings, name)
    return pages.render("dataset.html", "/datasets/", name=name)


@router.get("/jobs")
def jobs(request: Request) -> RedirectResponse:
    """Redirect to the front page, which lists the jobs."""
    return RedirectResponse(f"/?{request.url.query}" if request.url.query else "/", 308)


@router.get(static_files.PREFIX + "{version}/{name:path}")
def static_file(version: str, name: str) -> Response:
    """Browsers may keep it for a year: a changed file has another address."""
    path = static_files.static_files().get(name)
    if path is None:
        raise NotFound(f"there is no file {name}")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return FileResponse(path, media_type=kind, headers={"Cache-Control": _ONE_YEAR})
