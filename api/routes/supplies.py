"""What a job can name, and where it can run."""

import hashlib
import pathlib
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import contextmanager_in_threadpool
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from api.dependencies import Caller, Here, IdempotencyKey
from api.http.created import CREATED, created
from api.http.problems import documented
from api.middleware.body_limit import ARCHIVES
from api.schemas import patterns
from api.schemas.requests import Name
from api.schemas.responses import Checkpoint, Checkpoints, Dataset, Datasets, DeviceHistory, Devices, Models, Queue
from services.devices import history
from services.devices import listing as device_listing
from services.idempotency import Done
from services.jobs import queries
from services.library import listing, uploads
from services.library.uploads import Desk, Upload

router = APIRouter(tags=["supplies"])

NewName = Annotated[Name, Query(description="what jobs will call it")]
_PIECE = 2**20
_UPLOAD: dict[str, Any] = {
    "status_code": 201,
    "responses": {**CREATED, **documented(409, 507)},
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ARCHIVES},
        }
    },
}


@router.get("/models", response_model=Models)
def list_models(caller: Caller) -> Any:
    """The models that can be trained, each with the settings it starts from."""
    return {"items": listing.list_models()}


@router.get("/datasets", response_model=Datasets)
def list_datasets(here: Here, caller: Caller) -> Any:
    return {"items": listing.list_datasets(here.settings)}


@router.post("/datasets", response_model=Dataset, **_UPLOAD)
async def add_dataset(
    name: NewName,
    request: Request,
    response: Response,
    here: Here,
    caller: Caller,
    validation_share: Annotated[float | None, Query(gt=0, lt=1, description="of the training images")] = None,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Add a dataset: the body is a tar, gzipped or not, of TFRecord files and one label map (`*.pbtxt`).

    Files whose names begin with `val` are for validation; without them, `validation_share` holds back a part of the
    others. Every record is checked first.
    """

    def add(desk: Desk, upload: Upload) -> Done:
        return uploads.add_dataset(desk, caller, name, upload, validation_share, idempotency_key)

    done = await _taken_in(request, here, caller, add)
    return created(done, response)


async def _taken_in(request: Request, here: Here, caller: Caller, add: Callable[[Desk, Upload], Done]) -> Done:
    queue = here.upload_queue
    queue.require_place(caller.user_id)
    desk = Desk(here.store, here.settings, queue.processes)
    # Removing what was unpacked takes a while too.
    async with contextmanager_in_threadpool(uploads.place_for(here.settings)) as place:
        upload = await _received(request, here, place)
        return await queue.run(caller.user_id, lambda: add(desk, upload))


async def _received(request: Request, here: Here, place: pathlib.Path) -> Upload:
    """The body, on disk. How large it may be is checked on its way here."""
    announced = request.headers.get("content-length", "0")
    uploads.require_space(here.settings, int(announced) if announced.isdecimal() else 0)
    digest, waiting = hashlib.sha256(), bytearray()
    with place.open("xb") as file:

        def write() -> None:
            digest.update(waiting)
            file.write(waiting)
            waiting.clear()

        try:
            async for piece in request.stream():
                waiting += piece
                if len(waiting) >= _PIECE:
                    await run_in_threadpool(write)
                    await run_in_threadpool(uploads.require_space, here.settings, 0)
        except ClientDisconnect:
            raise HTTPException(400, "the upload was cut off") from None
        await run_in_threadpool(write)
    return Upload(place, digest.hexdigest())


@router.get("/datasets/{name}", response_model=Dataset, responses=documented(404))
def show_dataset(name: Annotated[str, Path(max_length=64, examples=["shapes"])], here: Here, caller: Caller) -> Any:
    return listing.show_dataset(here.settings, name)


@router.get("/checkpoints", response_model=Checkpoints)
def list_checkpoints(here: Here, caller: Caller) -> Any:
    """The checkpoints that training can start from."""
    return {"items": listing.list_checkpoints(here.settings)}


@router.post("/checkpoints", response_model=Checkpoint, **_UPLOAD)
async def add_checkpoint(
    name: NewName,
    request: Request,
    response: Response,
    here: Here,
    caller: Caller,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Add a checkpoint to start training from: a tar, gzipped or not, with one TensorFlow checkpoint (`ckpt-….index`
    and its data) somewhere in it. The archives of the Object Detection API's model zoo can be sent as they are."""

    def add(desk: Desk, upload: Upload) -> Done:
        return uploads.add_checkpoint(desk, caller, name, upload, idempotency_key)

    done = await _taken_in(request, here, caller, add)
    return created(done, response)


@router.get("/checkpoints/{name}", response_model=Checkpoint, responses=documented(404))
def show_checkpoint(name: Annotated[str, Path(max_length=64, examples=["coco17"])], here: Here, caller: Caller) -> Any:
    return listing.show_checkpoint(here.settings, name)


@router.get("/devices", response_model=Devices)
def list_devices(here: Here, caller: Caller) -> Any:
    """GPUs and CPU slots, as their hosts saw them last."""
    return {"items": device_listing.list_devices(here.store, caller)}


@router.get("/devices/{host}/{key}/history", response_model=DeviceHistory, responses=documented(404))
def show_history(
    host: Annotated[str, Path(max_length=64, pattern=patterns.NO_NUL, examples=["box"])],
    key: Annotated[str, Path(max_length=32, pattern=patterns.NO_NUL, examples=["gpu-0"])],
    here: Here,
    caller: Caller,
    hours: Annotated[int, Query(ge=1, le=history.KEPT_HOURS)] = 6,
    max_points: Annotated[int, Query(ge=10, le=5000)] = 500,
) -> Any:
    """The use of a device in the last hours; its id is `host/key`. One day is kept: a sample every 20 seconds,
    and the peak of each attempt at its end."""
    return history.show(here.store, caller, f"{host}/{key}", hours, max_points)


@router.get("/queue", response_model=Queue)
def show_queue(here: Here, caller: Caller, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> Any:
    """The jobs that wait, in the order in which they will start."""
    return queries.list_queue(here.store, here.settings, caller, limit)
