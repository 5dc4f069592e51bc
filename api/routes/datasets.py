"""Datasets: list them, show one, upload one."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from api.dependencies import Caller, Context, IdempotencyKey
from api.http.created import created
from api.http.problems import documented
from api.schemas.base import LARGEST_COUNT
from api.schemas.dataset_details import DatasetDetails
from api.schemas.datasets import AddedDataset, Datasets
from api.upload_receiver import UPLOAD, NewName, receive_upload
from services.idempotency import Result
from services.library import dataset_details, listing, uploads
from services.library.dataset_archive import ARCHIVE_FORMATS, LONGEST_GROUP, ImportOptions
from services.library.uploads import Upload, UploadContext

router = APIRouter(tags=["datasets"])

_Format = Annotated[
    Literal[ARCHIVE_FORMATS],  # type: ignore[valid-type]
    Query(description="What to import, where the archive holds more than one format."),
]
_Share = Annotated[float, Query(gt=0, lt=1, description="Share of the training images to use for validation.")]
_Seed = Annotated[int, Query(ge=0, le=LARGEST_COUNT, description="Another one holds other pictures back.")]
_Group = Annotated[
    str,
    Query(
        min_length=1,
        max_length=LONGEST_GROUP,
        description="A regular expression. Pictures whose paths match it alike, such as the frames of a video, are "
        "either all held back for validation, or all trained on.",
        examples=[r"video\d+"],
    ),
]


@router.get("/datasets", response_model=Datasets)
def list_datasets(context: Context, caller: Caller) -> Any:
    """The datasets that jobs can use."""
    return {"items": listing.list_datasets(context.settings)}


@router.post("/datasets", response_model=AddedDataset, **UPLOAD)
async def add_dataset(
    name: NewName,
    request: Request,
    response: Response,
    context: Context,
    caller: Caller,
    format: _Format | None = None,
    validation_share: _Share | None = None,
    seed: _Seed | None = None,
    group: _Group | None = None,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Upload a dataset. The body is a zip or a tar archive, gzipped or not. What it holds is recognised by content:

    - a folder with pictures in COCO, Pascal VOC, YOLO or CVAT format. Without pictures for validation, a tenth of the
      training pictures is held back;
    - TFRecord files and one label map (`*.pbtxt`). Files whose names begin with `val` are used for validation. Without
      such files, `validation_share` takes a part of the training images.

    Every picture or record is checked before the dataset is added. `warnings` may be mistakes in the data.
    """
    options = ImportOptions(format, validation_share, seed, group)
    await run_in_threadpool(uploads.check_options, options)  # compiles `group`

    def add(upload_context: UploadContext, upload: Upload) -> Result:
        return uploads.add_dataset(upload_context, caller, name, upload, options, idempotency_key)

    result = await receive_upload(request, context, caller, add)
    return created(result, response)


@router.get("/datasets/{name}", response_model=DatasetDetails, responses=documented(404))
def show_dataset(
    name: Annotated[str, Path(max_length=64, examples=["shapes"])], context: Context, caller: Caller
) -> Any:
    """One dataset: its classes, images and boxes, the warnings of its checks and its statistics."""
    return dataset_details.describe_dataset(context.settings, name)
