"""Which cards the installed TensorFlow and cuDNN have code for, by compute capability."""

import enum
import re
from collections.abc import Iterable

from services.domain.precision import Capability

__all__ = ["Kernels", "kernels", "refusal", "version_of"]

_BLACKWELL: Capability = (10, 0)
# cuDNN's releases from this one on have no code for cards before Turing.
_CUDNN_WITHOUT_VOLTA, _TURING = (9, 11), (7, 5)


class Kernels(enum.StrEnum):
    READY = "ready"
    COMPILED = "compiled"  # by the driver, from PTX, at the first use
    MISSING = "missing"


def kernels(architectures: Iterable[str], capability: Capability) -> Kernels:
    """Whether a build for `architectures` (`sm_80`, `compute_90`) runs on a card.

    `sm_XY` is machine code for cards of generation X from X.Y on. `compute_XY` is PTX, which the driver compiles for
    any card from X.Y on.
    """
    found = [(kind, version_of(number)) for kind, number in re.findall(r"(sm|compute)_(\d+)", " ".join(architectures))]
    if any(kind == "sm" and has[0] == capability[0] and has <= capability for kind, has in found):
        return Kernels.READY
    if any(kind == "compute" and has <= capability for kind, has in found):
        return Kernels.COMPILED
    return Kernels.MISSING


def version_of(text: str) -> tuple[int, ...]:
    """(9, 11, 0) of "9.11.0"; (8, 9) of an architecture's "89"."""
    if text.isdecimal() and len(text) > 1:
        return int(text[:-1]), int(text[-1])
    return tuple(int(part) for part in re.findall(r"\d+", text))


def refusal(architectures: Iterable[str], capability: Capability, cudnn: str | None) -> str | None:
    """Why nothing can train on a card of this capability with these packages; None if it can.

    Blackwell is refused although PTX could be compiled for it: TensorFlow fails there with CUDA_ERROR_INVALID_PTX, or
    compiles for half an hour.
    """
    has = sorted(architectures)
    name = f"compute capability {capability[0]}.{capability[1]}"
    ready = kernels(has, capability)
    if capability >= _BLACKWELL and ready is not Kernels.READY:
        return (
            f"this is a Blackwell card ({name}), and the installed TensorFlow has no kernels for it "
            f"({', '.join(has)}): no job starts here until one with sm_{capability[0]}{capability[1]} is installed"
        )
    if ready is Kernels.MISSING:
        return (
            f"the installed TensorFlow has no kernels for this card ({name}; it has {', '.join(has) or 'none'}): "
            "take it out with DOWNSHIFT_DEVICES, or install a TensorFlow that has"
        )
    if cudnn and version_of(cudnn)[:2] >= _CUDNN_WITHOUT_VOLTA and capability < _TURING:
        return (
            f"cuDNN {cudnn} has no code for cards before Turing ({name}): install nvidia-cudnn-cu12 below 9.11, "
            "then restart the worker"
        )
    return None
