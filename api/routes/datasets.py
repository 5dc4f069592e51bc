"""Datasets: list them, show one, upload one."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from api.dependencies import Caller, Context, IdempotencyKey
from api.http.created import created
from api.http.problems import documented
from api.schemas.dataset_details import DatasetDetails
from api.schemas.datasets import Dataset, Datasets
from api.upload_receiver import UPLOAD, NewName, receive_upload
from services.idempotency import Result
from services.library import dataset_details, listing, uploads
from services.library.uploads import Upload, UploadContext

router = APIRouter(tags=["datasets"])


@router.get("/datasets", response_model=Datasets)
def list_datasets(context: Context, caller: Caller) -> Any:
    """The datasets that jobs can use."""
    return {"items": listing.list_datasets(context.settings)}


@router.post("/datasets", response_model=Dataset, **UPLOAD)
async def add_dataset(
    name: NewName,
    request: Request,
    response: Response,
    context: Context,
    caller: Caller,
    validation_share: Annotated[
        float | None, Query(gt=0, lt=1, description="Share of the training images to use for validation.")
    ] = None,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Upload a dataset. The body is a tar archive, gzipped or not, of TFRecord files and one label map (`*.pbtxt`).

    Files whose names begin with `val` are used for validation. Without such files, `validation_share` takes a part of
    the training images. Every record is checked before the dataset is added.
    """

    def add(upload_context: UploadContext, upload: Upload) -> Result:
        return uploads.add_dataset(upload_context, caller, name, upload, validation_share, idempotency_key)

    result = await receive_upload(request, context, caller, add)
    return created(result, response)


@router.get("/datasets/{name}", response_model=DatasetDetails, responses=documented(404))
def show_dataset(
    name: Annotated[str, Path(max_length=64, examples=["shapes"])], context: Context, caller: Caller
) -> Any:
    """One dataset: its classes, images and boxes, the warnings of its checks and its statistics."""
    return dataset_details.describe_dataset(context.settings, name)
