"""Receive an archive in a request's body, and have it checked and stored."""

import hashlib
import pathlib
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.concurrency import contextmanager_in_threadpool
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from api.dependencies import AppContext
from api.http.created import CREATED
from api.http.problems import documented
from api.middleware.body_limit import ARCHIVES
from api.schemas.base import Name
from services.idempotency import Result
from services.library import uploads
from services.library.uploads import Upload, UploadContext
from services.users.principal import Principal

__all__ = ["UPLOAD", "NewName", "receive_upload"]

NewName = Annotated[Name, Query(description="The name that jobs use for it.")]
# What FastAPI needs to describe a route that takes an archive.
UPLOAD: dict[str, Any] = {
    "status_code": 201,
    "responses": {**CREATED, **documented(409, 507)},
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ARCHIVES},
        }
    },
}
_CHUNK = 2**20  # bytes


async def receive_upload(
    request: Request, context: AppContext, caller: Principal, add: Callable[[UploadContext, Upload], Result]
) -> Result:
    """Store the body in a temporary file, then run `add` on it in the upload queue; the file is removed afterwards."""
    queue = context.upload_queue
    queue.require_capacity(caller.user_id)
    upload_context = UploadContext(context.store, context.settings, queue.processes)
    # On the thread pool: removing the unpacked files takes a while too.
    async with contextmanager_in_threadpool(uploads.temporary_archive(context.settings)) as path:
        upload = await _receive(request, context, path)
        return await queue.run(caller.user_id, lambda: add(upload_context, upload))


async def _receive(request: Request, context: AppContext, path: pathlib.Path) -> Upload:
    """Write the body to `path`. The middleware limits its size."""
    announced = request.headers.get("content-length", "0")
    uploads.require_space(context.settings, int(announced) if announced.isdecimal() else 0)
    digest, buffered = hashlib.sha256(), bytearray()
    with path.open("xb") as file:

        def write() -> None:
            digest.update(buffered)
            file.write(buffered)
            buffered.clear()

        try:
            async for piece in request.stream():
                buffered += piece
                if len(buffered) >= _CHUNK:
                    await run_in_threadpool(write)
                    await run_in_threadpool(uploads.require_space, context.settings, 0)
        except ClientDisconnect:
            raise HTTPException(400, "the upload was cut off") from None
        await run_in_threadpool(write)
    return Upload(path, digest.hexdigest())
