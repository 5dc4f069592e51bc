"""What a GPU's health figures mean. The driver's figures are a dictionary, kept with the device as they are."""

from collections.abc import Mapping
from typing import Any

__all__ = ["problem_of"]


def problem_of(health: Mapping[str, Any] | None) -> str | None:
    """Why no job may start on the GPU; None if it is healthy, or reports nothing."""
    if not health:
        return None
    if health.get("remap_failed"):
        return (
            "the driver could not replace broken memory of the GPU (a row remapping failed): replace the card; "
            "nvidia-smi -q -d ROW_REMAPPER shows it"
        )
    errors = health.get("uncorrected_errors") or 0
    if errors:
        return (
            f"its memory had {errors} uncorrectable errors since the driver was loaded: end what runs on it, then "
            "nvidia-smi --gpu-reset, or reboot the host; if they come back, replace the card"
        )
    return None
