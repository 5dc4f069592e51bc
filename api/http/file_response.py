"""Send a file, or a range of it, in pieces that are read on the thread pool."""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.datastructures import Headers

from api.http.problems import documented, problem
from services.safe_files import read_exactly

__all__ = ["PARTIAL", "TEXT", "WHOLE", "attachment", "file_response", "media_type_of"]

TEXT = "text/plain; charset=utf-8"
# No type that a browser would execute. Everything else is downloaded, not shown.
_MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "log": TEXT,
    "config": TEXT,
    "json": TEXT,
    "jsonl": TEXT,
    "gz": "application/gzip",
}
_OTHER = "application/octet-stream"
_CONTENT = {
    kind: {"schema": {"type": "string", "format": "binary"}}
    for kind in (_OTHER, "image/png", "image/jpeg", "application/gzip", "text/plain")
}
# What FastAPI's `responses` needs to describe a route that answers with `file_response`.
WHOLE: dict[int | str, dict[str, Any]] = {200: {"description": "The file", "content": _CONTENT}}
PARTIAL: dict[int | str, dict[str, Any]] = {
    206: {"description": "The range that was requested", "content": _CONTENT},
    **documented(416),
}
_ONE_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def media_type_of(name: str) -> str:
    return _MEDIA_TYPES.get(name.rpartition(".")[2], _OTHER)


def attachment(name: str) -> dict[str, str]:
    """The header that makes a browser save the file under the last part of `name`; unsafe characters become `_`."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name.rpartition("/")[2])
    return {"Content-Disposition": f'attachment; filename="{plain}"'}


def file_response(request: Request, file: BinaryIO, size: int, media_type: str, headers: dict[str, str]) -> Response:
    """The first `size` bytes of `file`, or the requested range of them. Closes the file.

    A log that grows meanwhile is sent up to `size`, which was announced in Content-Length.
    """
    wanted = _range(request.headers, size)
    if wanted is None:
        file.close()
        detail = f"the file has {size} bytes"
        return problem(request.scope, "range_not_satisfiable", detail, headers={"Content-Range": f"bytes */{size}"})
    start, end = wanted
    file.seek(start)

    def pieces() -> Iterator[bytes]:
        with file:
            yield from read_exactly(file, end - start)

    all_headers = {"Content-Length": str(end - start), "Accept-Ranges": "bytes", **headers}
    if (start, end) != (0, size):
        all_headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    status = 206 if "Content-Range" in all_headers else 200
    return StreamingResponse(pieces(), status, media_type=media_type, headers=all_headers)


def _range(headers: Headers, size: int) -> tuple[int, int] | None:
    """Start and end of the requested range; the whole file if the header is not supported; None if it is empty."""
    match = _ONE_RANGE.fullmatch(headers.get("range", ""))
    # If-Range would need a validator of the file, which we do not have: send all of it.
    if match is None or "if-range" in headers or match.groups() == ("", ""):
        return 0, size
    first, last = match.groups()
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return 0, size
    return (start, end) if start < end else None
