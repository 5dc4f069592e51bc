"""Devices and their recent use."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from api.dependencies import Caller, Context, IdempotencyKey
from api.http.created import REPLAYED, set_replayed_header
from api.http.problems import documented
from api.schemas import patterns
from api.schemas.devices import Device, DeviceHistory, Devices
from services.devices import history, listing, qualification

router = APIRouter(tags=["devices"])
Host = Annotated[str, Path(max_length=64, pattern=patterns.NO_NUL, examples=["box"])]
Key = Annotated[str, Path(max_length=32, pattern=patterns.NO_NUL, examples=["gpu-0"])]


@router.get("/devices", response_model=Devices)
def list_devices(context: Context, caller: Caller) -> Any:
    """GPUs and CPU slots, as their hosts last reported them."""
    return {"items": listing.list_devices(context.store, caller)}


@router.get("/devices/{host}/{key}/history", response_model=DeviceHistory, responses=documented(404))
def show_history(
    host: Host,
    key: Key,
    context: Context,
    caller: Caller,
    hours: Annotated[int, Query(ge=1, le=history.KEPT_HOURS, description="How far back.")] = 6,
    max_points: Annotated[int, Query(ge=10, le=5000, description="Most points to return.")] = 500,
) -> Any:
    """The use of the device `host/key` in the last hours.

    One day is kept: a sample every 20 seconds, and the peak of each attempt at its end.
    """
    return history.show(context.store, caller, f"{host}/{key}", hours, max_points)


@router.post(
    "/devices/{host}/{key}/qualify", response_model=Device, responses={**REPLAYED, **documented(403, 404, 409)}
)
def qualify_device(
    host: Host,
    key: Key,
    response: Response,
    context: Context,
    caller: Caller,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Check a GPU again, also one in quarantine. For admins.

    A running job goes on; then no job starts on the GPU until the check has passed.
    """
    set_replayed_header(qualification.ask(context.store, caller, f"{host}/{key}", idempotency_key), response)
    return listing.show_device(context.store, caller, f"{host}/{key}")
