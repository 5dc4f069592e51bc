"""Datasets: list them, show one, upload one."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from api.dependencies import Caller, Context, IdempotencyKey
from api.http.created import created
from api.http.problems import documented
from api.schemas.datasets import Dataset, Datasets
from api.upload_receiver import UPLOAD, NewName, receive_upload
from services.idempotency import Done
from services.library import listing, uploads
from services.library.uploads import Desk, Upload

router = APIRouter(tags=["datasets"])


@router.get("/datasets", response_model=Datasets)
def list_datasets(context: Context, caller: Caller) -> Any:
    return {"items": listing.list_datasets(context.settings)}


@router.post("/datasets", response_model=Dataset, **UPLOAD)
async def add_dataset(
    name: NewName,
    request: Request,
    response: Response,
    context: Context,
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

    done = await receive_upload(request, context, caller, add)
    return created(done, response)


@router.get("/datasets/{name}", response_model=Dataset, responses=documented(404))
def show_dataset(
    name: Annotated[str, Path(max_length=64, examples=["shapes"])], context: Context, caller: Caller
) -> Any:
    return listing.show_dataset(context.settings, name)
