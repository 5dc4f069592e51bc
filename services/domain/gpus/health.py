"""What a GPU's health figures mean. The driver's figures are a dictionary, kept with the device as they are."""

from collections.abc import Mapping
from typing import Any

__all__ = ["needs_check", "problem_of", "xid_meaning"]

# NVIDIA's list of Xid errors, the ones that people meet. Those of a program say nothing against the card.
_BY_A_PROGRAM = {
    13: "a program used an invalid address or instruction",
    31: "a program used an invalid address",
    43: "a program's work was stopped after an error of its own",
    45: "a program's work was removed, as when it is killed",
}
_BY_THE_CARD = {
    48: "an uncorrectable memory error",
    61: "its micro-controller had an internal error",
    62: "its micro-controller stopped",
    63: "broken memory was taken out of use",
    64: "broken memory could not be taken out of use",
    74: "an NVLink error",
    79: "it fell off the bus",
    92: "many correctable memory errors",
    94: "an uncorrectable memory error that hit one program",
    95: "an uncorrectable memory error that may have hit any program",
    119: "its system processor (GSP) did not answer",
    120: "its system processor (GSP) had an error",
    140: "an uncorrectable memory error that was not repaired",
}


def xid_meaning(code: int) -> str:
    """An Xid in a few words."""
    return {**_BY_A_PROGRAM, **_BY_THE_CARD}.get(code, "see NVIDIA's list of Xid errors")


def needs_check(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> bool:
    """Whether the driver has reported an Xid since `before` that a program alone does not explain."""
    xid, earlier = (now or {}).get("xid"), (before or {}).get("xid")
    return xid is not None and xid != earlier and xid["code"] not in _BY_A_PROGRAM


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
