"""Answers that are sent as they are read. A sync iterator runs on the thread pool, one piece at a time."""

from collections.abc import Iterator
from typing import BinaryIO

from fastapi.responses import StreamingResponse

from services.files import read_exactly

__all__ = ["TEXT", "attachment", "file_response", "media_type_of"]

TEXT = "text/plain; charset=utf-8"
# Nothing that a browser would run: everything else is saved, not shown.
_MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "log": TEXT,
    "config": TEXT,
    "json": TEXT,
    "jsonl": TEXT,
    "gz": "application/gzip",
}
OTHER = "application/octet-stream"


def media_type_of(name: str) -> str:
    return _MEDIA_TYPES.get(name.rpartition(".")[2], OTHER)


def attachment(name: str) -> dict[str, str]:
    """The header that has `name`'s last part saved; whatever a header cannot hold becomes an underscore."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name.rpartition("/")[2])
    return {"Content-Disposition": f'attachment; filename="{plain}"'}


def file_response(file: BinaryIO, size: int, media_type: str, headers: dict[str, str]) -> StreamingResponse:
    """The first `size` bytes of `file`, which is closed afterwards: a log that grows meanwhile stays as announced."""

    def pieces() -> Iterator[bytes]:
        with file:
            yield from read_exactly(file, size)

    return StreamingResponse(pieces(), media_type=media_type, headers={"Content-Length": str(size), **headers})
