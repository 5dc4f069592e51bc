"""The versions that an attempt runs on. Other versions may need other memory, or fail where these do not."""

import importlib.metadata
import platform
from typing import Any

_PACKAGES = ("tensorflow", "tf-keras", "tf-models-official", "tf-models-research-object-detection", "numpy")
_GPU_PACKAGES = ("nvidia-cudnn-cu12", "nvidia-cublas-cu12", "nvidia-cuda-runtime-cu12")


def of(tf: Any) -> dict[str, str]:
    """By name, of what is installed. `cuda` and `cudnn`: as installed, else those that TensorFlow was built for."""
    build = tf.sysconfig.get_build_info()
    found = {"python": platform.python_version()}
    found |= {name: str(build[f"{name}_version"]) for name in ("cuda", "cudnn") if f"{name}_version" in build}
    found |= {package: version for package in (*_PACKAGES, *_GPU_PACKAGES) if (version := installed(package))}
    if "nvidia-cudnn-cu12" in found:
        found["cudnn"] = found["nvidia-cudnn-cu12"]
    return found


def installed(package: str) -> str | None:
    """Its version; None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
