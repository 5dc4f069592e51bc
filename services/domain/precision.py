"""The number formats a step can compute in, and which of the short ones a GPU computes fast."""

import enum

__all__ = ["Capability", "Precision", "fast_precisions", "half_precision"]

Capability = tuple[int, int]  # NVIDIA's compute capability: major, minor

_FLOAT16_SINCE: Capability = (7, 0)
_BFLOAT16_SINCE: Capability = (8, 0)


class Precision(enum.StrEnum):
    """What activations are kept in. Weights, their updates and the losses are float32 in all of them."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


def fast_precisions(capability: Capability) -> list[Precision]:
    """The formats that a GPU has units for."""
    since = {Precision.FLOAT32: (0, 0), Precision.FLOAT16: _FLOAT16_SINCE, Precision.BFLOAT16: _BFLOAT16_SINCE}
    return [precision for precision, first in since.items() if capability >= first]


def half_precision(capability: Capability | None) -> Precision | None:
    """The two-byte format that the tensor cores of a GPU compute; None where there are none.

    Where a GPU has both, bfloat16: it has the range of float32, so no loss needs scaling and no update is skipped.
    """
    if capability is None or capability < _FLOAT16_SINCE:
        return None
    return Precision.BFLOAT16 if capability >= _BFLOAT16_SINCE else Precision.FLOAT16
