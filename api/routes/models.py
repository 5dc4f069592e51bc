"""The model catalogue."""

from typing import Any

from fastapi import APIRouter

from api.dependencies import Caller
from api.schemas.models import Models
from services.library import listing

router = APIRouter(tags=["models"])


@router.get("/models", response_model=Models)
def list_models(caller: Caller) -> Any:
    """The models that can be trained, with their default settings."""
    return {"items": listing.list_models()}
