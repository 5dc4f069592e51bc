"""Checkpoints that training can start from: list them, show one, upload one."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from api.dependencies import Caller, Context, IdempotencyKey
from api.http.created import created
from api.http.problems import documented
from api.schemas.checkpoints import Checkpoint, Checkpoints
from api.upload_receiver import UPLOAD, NewName, receive_upload
from services.idempotency import Result
from services.library import listing, uploads
from services.library.uploads import Upload, UploadContext

router = APIRouter(tags=["checkpoints"])


@router.get("/checkpoints", response_model=Checkpoints)
def list_checkpoints(context: Context, caller: Caller) -> Any:
    """The checkpoints that training can start from."""
    return {"items": listing.list_checkpoints(context.settings)}


@router.post("/checkpoints", response_model=Checkpoint, **UPLOAD)
async def add_checkpoint(
    name: NewName,
    request: Request,
    response: Response,
    context: Context,
    caller: Caller,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Upload a checkpoint that training can start from.

    The body is a tar archive, gzipped or not, with one TensorFlow checkpoint (`ckpt-….index` and its data) anywhere in
    it. Archives of the Object Detection API's model zoo can be sent as they are.
    """

    def add(upload_context: UploadContext, upload: Upload) -> Result:
        return uploads.add_checkpoint(upload_context, caller, name, upload, idempotency_key)

    result = await receive_upload(request, context, caller, add)
    return created(result, response)


@router.get("/checkpoints/{name}", response_model=Checkpoint, responses=documented(404))
def show_checkpoint(
    name: Annotated[str, Path(max_length=64, examples=["coco17"])], context: Context, caller: Caller
) -> Any:
    """One checkpoint, with the models that can start from it."""
    return listing.show_checkpoint(context.settings, name)
