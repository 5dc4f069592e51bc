"""`python -m worker.trainer.gpu.qualify FILE [--reserve-mb N --workspace-mb N]`: check the one GPU that it sees.

The environment selects the GPU, as for a trainer, and the options are a trainer's, so that the limit is the same. FILE
gets a JSON document, again after each step, so that a crash leaves what was known before it. This judges nothing:
`services/domain/gpus/qualification.py` does.
"""

import argparse
import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from services.domain.contract import Device, DeviceKind
from services.domain.gpus import kernels
from services.domain.precision import fast_precisions
from worker.trainer import device
from worker.trainer.versions import installed

_PR_SET_PDEATHSIG = 1
_PACKAGES = {"cuda": "nvidia-cuda-runtime-cu12", "cudnn": "nvidia-cudnn-cu12", "tensorflow": "tensorflow"}


class Findings:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[str, Any] = {}

    def add(self, **found: Any) -> None:
        self._found.update(found)
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._found))
        new.replace(self._file)


def check(findings: Findings, spec: Device) -> None:
    findings.add(stage="importing TensorFlow", **installed_versions())
    device.prepare_environment(spec)
    import tensorflow as tf
    from tensorflow.python.client import device_lib

    built = tf.sysconfig.get_build_info()
    architectures = [str(name) for name in built.get("cuda_compute_capabilities") or []]
    findings.add(stage="listing GPUs", tensorflow=tf.__version__, architectures=architectures)
    gpus = tf.config.list_physical_devices("GPU")
    findings.add(gpus=len(gpus))
    if len(gpus) != 1:
        return
    capability = tuple(tf.config.experimental.get_device_details(gpus[0])["compute_capability"])
    cudnn = installed_versions()["cudnn"]
    refusal = kernels.refusal(architectures, capability, cudnn)
    findings.add(capability=capability, refusal=refusal)
    if refusal:  # its kernels would be missing, or be compiled for half an hour
        return
    findings.add(stage="starting CUDA")
    findings.add(limit_bytes=device.allocator_limit(spec, device_lib.list_local_devices))
    computed: dict[str, str] = {}
    for precision in fast_precisions(capability):
        findings.add(stage=f"computing in {precision}")
        computed[precision] = compute(tf, precision, "/GPU:0")
        findings.add(precisions=computed)


def installed_versions() -> dict[str, str | None]:
    """Of the packages that a result depends on; None: not installed."""
    return {name: installed(package) for name, package in _PACKAGES.items()}


def compute(tf: Any, precision: str, where: str) -> str:
    """One convolution and one matrix product, whose results every precision holds exactly; "ok", or what is wrong."""
    tf.config.set_soft_device_placement(False)  # otherwise the CPU would compute what the GPU cannot
    with tf.device("/CPU:0"):
        image, weights = (tf.ones(shape, precision) for shape in ([1, 32, 32, 8], [3, 3, 8, 8]))
        weights, square = weights / 8, tf.ones([256, 256], precision) / 16
    try:
        with tf.device(where):
            results = {"convolution": tf.nn.conv2d(image, weights, 1, "VALID"), "product": tf.matmul(square, square)}
        with tf.device("/CPU:0"):  # waits for the GPU: its errors show only here
            values = {name: tf.cast(tf.identity(result), tf.float32).numpy() for name, result in results.items()}
    except (tf.errors.OpError, RuntimeError) as error:
        return str(error)
    for name, expected in (("convolution", 9.0), ("product", 1.0)):
        off = float(abs(values[name] - expected).max())
        if not off < 0.01:  # not a number counts too
            return f"a {name} is wrong by {off}"
    return "ok"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m worker.trainer.gpu.qualify")
    parser.add_argument("file", type=Path)
    parser.add_argument("--reserve-mb", type=int, default=0)
    parser.add_argument("--workspace-mb", type=int, default=0)
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))  # end with the worker
    findings = Findings(options.file)
    spec = Device(kind=DeviceKind.GPU, reserve_mb=options.reserve_mb, workspace_mb=options.workspace_mb)
    try:
        check(findings, spec)
    except Exception as error:
        findings.add(error=f"{type(error).__name__}: {error}"[:4000])
        raise
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # what was found is written; CUDA's own teardown may crash


if __name__ == "__main__":
    sys.exit(main())
