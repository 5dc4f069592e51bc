"""What a process would otherwise load when the first person waits for it."""

from services.domain import catalogue
from services.domain.pipeline_config import build_config

__all__ = ["warm_up"]


def warm_up() -> None:
    """The Object Detection API's messages and all that builds a configuration; a third of a second."""
    build_config(next(iter(catalogue.MODELS.values())), num_classes=1)
