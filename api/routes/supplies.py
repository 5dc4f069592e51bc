"""What a job can name, and where it can run."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from api.answers import Checkpoints, Dataset, Datasets, DeviceHistory, Devices, Models, Queue
from api.context import Caller, Here
from api.problems import documented
from services import device_history, materials, queries

router = APIRouter(tags=["supplies"])


@router.get("/models", response_model=Models)
def list_models(caller: Caller) -> Any:
    """The models that can be trained, each with the settings it starts from."""
    return {"items": queries.list_models()}


@router.get("/datasets", response_model=Datasets)
def list_datasets(here: Here, caller: Caller) -> Any:
    return {"items": materials.list_datasets(here.settings)}


@router.get("/datasets/{name}", response_model=Dataset, responses=documented(404))
def show_dataset(name: Annotated[str, Path(max_length=64, examples=["shapes"])], here: Here, caller: Caller) -> Any:
    return materials.show_dataset(here.settings, name)


@router.get("/checkpoints", response_model=Checkpoints)
def list_checkpoints(here: Here, caller: Caller) -> Any:
    """What training can start from."""
    return {"items": materials.list_checkpoints(here.settings)}


@router.get("/devices", response_model=Devices)
def list_devices(here: Here, caller: Caller) -> Any:
    """GPUs and CPU slots, as their hosts saw them last."""
    return {"items": queries.list_devices(here.store, caller)}


@router.get("/devices/{host}/{key}/history", response_model=DeviceHistory, responses=documented(404))
def show_history(
    host: Annotated[str, Path(max_length=64, examples=["box"])],
    key: Annotated[str, Path(max_length=32, examples=["gpu-0"])],
    here: Here,
    caller: Caller,
    hours: Annotated[int, Query(ge=1, le=device_history.KEPT_HOURS)] = 6,
    max_points: Annotated[int, Query(ge=10, le=5000)] = 500,
) -> Any:
    """What a device was like in the last hours; its id is `host/key`. A day is kept, a moment every 20 seconds."""
    return device_history.show(here.store, caller, f"{host}/{key}", hours, max_points)


@router.get("/queue", response_model=Queue)
def show_queue(here: Here, caller: Caller, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> Any:
    """The jobs that wait, in the order in which they will start."""
    return queries.list_queue(here.store, here.settings, caller, limit)
