"""The environment of a trainer: what a shell exports must not change what is measured or which libraries are loaded."""

from collections.abc import Mapping
from pathlib import Path

from services.settings import PREFIX

__all__ = ["clean_environment"]

# Read by TensorFlow, XLA and CUDA's libraries. The trainer sets those that it needs.
_PREFIXES = (PREFIX, "TF_", "XLA_", "CUDA_", "CUDNN_", "CUBLAS_", "NCCL_")
_NAMES = ("LD_PRELOAD", "NVIDIA_TF32_OVERRIDE")
_LIBRARY_PATH = "LD_LIBRARY_PATH"
_TOOLKIT = ("libcudart.so*", "libcudnn*.so*", "libcublas*.so*")


def clean_environment(inherited: Mapping[str, str], device: Mapping[str, str]) -> dict[str, str]:
    """The inherited variables without our settings, which hold passwords, and without those that change a training.

    `device`: the variables that select the attempt's device.
    """
    kept = {name: value for name, value in inherited.items() if not name.startswith(_PREFIXES) and name not in _NAMES}
    if _LIBRARY_PATH in kept:
        kept[_LIBRARY_PATH] = _without_toolkits(kept[_LIBRARY_PATH])
    return {**kept, **device}


def _without_toolkits(search_path: str) -> str:
    """Leave out folders with a CUDA toolkit: the loader would prefer them to the libraries that come with TensorFlow.

    Other folders stay: in some containers the driver's own library is found only by this variable.
    """
    folders = [folder for folder in search_path.split(":") if folder]
    return ":".join(folder for folder in folders if not any(any(Path(folder).glob(library)) for library in _TOOLKIT))
