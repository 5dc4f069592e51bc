"""What a process would otherwise load when the first person waits for it."""

from services.domain import catalogue

__all__ = ["warm_up"]


def warm_up() -> None:
    """The Object Detection API's messages and all that builds a configuration; a third of a second."""
    next(iter(catalogue.MODELS.values())).pipeline_config(num_classes=1)
