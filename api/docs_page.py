"""The page /docs: all operations of the API, without scripts and without other hosts."""

import base64
import hashlib
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 3rem auto; padding: 0 1rem; color: #1c2024; }
code, pre { font: 14px/1.5 ui-monospace, monospace; background: #f1f3f5; padding: .1rem .3rem; overflow-x: auto; }
pre { padding: .8rem; }
dt { margin-top: 1rem; }
dd { margin-left: 1.5rem; color: #495057; }
@media (prefers-color-scheme: dark) {
  body { background: #151718; color: #ecedee; }
  a { color: #70b8ff; }
  code, pre { background: #26292b; }
  dd { color: #b0b4ba; }
}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def _page(title: str, content: str) -> HTMLResponse:
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body>{content}</body></html>"
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})


@router.get("/docs")
def docs(request: Request) -> HTMLResponse:
    app: FastAPI = request.app
    schema = app.openapi()
    operations = [
        _operation(method.upper(), path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return _page(
        "API · Downshift",
        f"<h1>API</h1><p>{escape(schema['info']['description'])}</p>"
        f'<p>Types and examples: <a href="/openapi.json">openapi.json</a>.</p><dl>{"".join(operations)}</dl>',
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = ", ".join(item["name"] for item in operation.get("parameters", []) if item["in"] != "path")
    text = operation.get("description") or operation.get("summary", "")
    return (
        f"<dt><code>{escape(method)} {escape(path)}</code></dt>"
        f"<dd>{escape(text)}{f' <br>Parameters: {escape(parameters)}.' if parameters else ''}</dd>"
    )
