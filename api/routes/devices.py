"""Devices and their recent use."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from api.dependencies import Caller, Context
from api.http.problems import documented
from api.schemas import patterns
from api.schemas.devices import DeviceHistory, Devices
from services.devices import history, listing

router = APIRouter(tags=["devices"])


@router.get("/devices", response_model=Devices)
def list_devices(context: Context, caller: Caller) -> Any:
    """GPUs and CPU slots, as their hosts last reported them."""
    return {"items": listing.list_devices(context.store, caller)}


@router.get("/devices/{host}/{key}/history", response_model=DeviceHistory, responses=documented(404))
def show_history(
    host: Annotated[str, Path(max_length=64, pattern=patterns.NO_NUL, examples=["box"])],
    key: Annotated[str, Path(max_length=32, pattern=patterns.NO_NUL, examples=["gpu-0"])],
    context: Context,
    caller: Caller,
    hours: Annotated[int, Query(ge=1, le=history.KEPT_HOURS, description="How far back.")] = 6,
    max_points: Annotated[int, Query(ge=10, le=5000, description="Most points to return.")] = 500,
) -> Any:
    """The use of the device `host/key` in the last hours.

    One day is kept: a sample every 20 seconds, and the peak of each attempt at its end.
    """
    return history.show(context.store, caller, f"{host}/{key}", hours, max_points)
