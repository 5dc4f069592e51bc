"""What the driver reports about a GPU's health: memory errors, worn memory, and why it is slowed down."""

from collections.abc import Callable
from typing import Any

import pynvml  # type: ignore[import-untyped]

__all__ = ["read"]

# Of the reasons for a lower clock, those that are no choice of the driver or of a person.
_SLOWDOWNS = {
    pynvml.nvmlClocksThrottleReasonHwSlowdown: "hardware",
    pynvml.nvmlClocksThrottleReasonSwThermalSlowdown: "heat",
    pynvml.nvmlClocksThrottleReasonHwThermalSlowdown: "heat (hardware)",
    pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown: "power brake",
}
_RETIREMENTS = (
    pynvml.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS,
    pynvml.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
)
_UNCORRECTED = (pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC)


def read(handle: Any, optional: Callable[..., Any]) -> dict[str, Any]:
    """`optional(query, …)` returns None for what the card does not report. See `services.domain.gpus.health`."""
    rows = optional(pynvml.nvmlDeviceGetRemappedRows, handle)
    retired = [optional(pynvml.nvmlDeviceGetRetiredPages, handle, cause) for cause in _RETIREMENTS]
    pending = optional(pynvml.nvmlDeviceGetRetiredPagesPendingStatus, handle)
    slowed = optional(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0
    return {
        "uncorrected_errors": optional(pynvml.nvmlDeviceGetTotalEccErrors, handle, *_UNCORRECTED),
        "remapped_rows": None if rows is None else rows[0] + rows[1],
        "retired_pages": None if None in retired else sum(len(pages) for pages in retired),
        "repair_pending": bool((rows and rows[2]) or pending),
        "remap_failed": bool(rows and rows[3]),
        "slowed_by": [name for bit, name in _SLOWDOWNS.items() if slowed & bit],
    }
