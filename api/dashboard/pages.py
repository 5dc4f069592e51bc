"""Render the dashboard's templates.

A template is a page without data, the same for everyone. Its scripts load the data from /v1 with the log-in of the
person who reads the page.
"""

import functools
from collections.abc import Mapping
from pathlib import Path

import jinja2
from fastapi.responses import HTMLResponse
from starlette.datastructures import Headers
from starlette.types import Scope

from api.dashboard import static_files

__all__ = ["error_page", "render", "wants_page"]

_NAVIGATION = (
    ("/", "Jobs"),
    ("/devices", "Devices"),
    ("/datasets", "Datasets"),
    ("/models", "Models"),
    ("/compare", "Compare"),
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
# Plotly adds two style elements: an empty one that it fills rule by rule, and its map library's.
_PLOTLY_STYLES = (
    " 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' 'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='"
)


def wants_page(scope: Scope) -> bool:
    """Does a browser ask for a page? Answers of /v1, and answers to a token, are for programs."""
    headers = Headers(scope=scope)
    accepts_html = "text/html" in headers.get("accept", "") and "authorization" not in headers
    return bool(scope["method"] == "GET" and accepts_html and not scope["path"].startswith("/v1/"))


def error_page(
    status: int, title: str, detail: str, request_id: str, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """The error as a page with a link to the list of jobs."""
    page = render("error.html", "", status=status, title=title, detail=detail, request_id=request_id)
    page.status_code = status
    page.headers.update(headers or {})
    return page


def render(template: str, path: str, *, charts: bool = False, **values: object) -> HTMLResponse:
    """`path` marks the current page in the navigation. `charts`: the page may use Plotly's styles."""
    text = _templates().get_template(template).render(pages=_NAVIGATION, current=path, **values)
    policy = _POLICY.format(styles=_PLOTLY_STYLES if charts else "")
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals["static"] = static_files.address_of
    return environment
