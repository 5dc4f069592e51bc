"""Samples of a dataset: list them with their boxes, and read their images."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from api.dependencies import Caller, Context
from api.http import cursors
from api.http.file_response import WHOLE
from api.http.problems import documented
from api.schemas import patterns
from api.schemas.samples import Samples
from services.library import samples

router = APIRouter(prefix="/datasets/{name}/samples", tags=["datasets"], responses=documented(404))

_DatasetName = Annotated[str, Path(max_length=64, examples=["shapes"])]
# A dataset never changes, but one that was removed may be followed by another one of its name.
_FIVE_MINUTES = "private, max-age=300"


@router.get("", response_model=Samples)
def list_samples(
    name: _DatasetName,
    context: Context,
    caller: Caller,
    split: Literal["train", "validation"] = "train",
    label: Annotated[
        str | None, Query(alias="class", max_length=256, description="Only images with an object of this class.")
    ] = None,
    sort: Annotated[
        Literal["stored", "smallest", "most_boxes"],
        Query(description="In the order of the files, by the smallest box in pixels, or by the number of boxes."),
    ] = "stored",
    limit: Annotated[int, Query(ge=1, le=48)] = 24,
    cursor: Annotated[str | None, Query(max_length=256, description="`next` of the previous page.")] = None,
) -> Any:
    """Images of a dataset with their boxes. The answer may hold fewer than `limit` where records are large."""
    choice = samples.Choice(split, label, sort, cursors.read(cursor) or 0, limit)
    found = samples.list_samples(context.settings, name, choice)
    return {**found, "next": cursors.write(found["next"])}


@router.get("/{sample_id}/image", response_class=Response, responses=WHOLE)
def read_image(
    name: _DatasetName,
    sample_id: Annotated[str, Path(pattern=patterns.SAMPLE, examples=["train-0"])],
    context: Context,
    caller: Caller,
) -> Response:
    """The image of a sample as it is stored: JPEG or PNG, in its own size."""
    picture = samples.read_picture(context.settings, name, sample_id)
    return Response(picture.content, media_type=picture.media_type, headers={"Cache-Control": _FIVE_MINUTES})
