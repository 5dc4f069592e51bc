"""What CUDA's and TensorFlow's error texts mean for a GPU, in a sentence that says what to do.

The texts are those of CUDA's own error names and descriptions, as TensorFlow's log and exceptions quote them.
"""

import re

__all__ = ["is_out_of_memory", "sentence_for"]

_OUT_OF_MEMORY = re.compile(
    r"CUDA_ERROR_OUT_OF_MEMORY|out of memory|RESOURCE_EXHAUSTED|ResourceExhausted|OOM when", re.I
)

# The first that matches counts: causes stand before what follows from them.
_SENTENCES: list[tuple[str, str]] = [
    (
        r"CUDA_ERROR_SYSTEM_NOT_READY|system not yet initialized",
        "CUDA is not ready: the fabric manager does not run, which hosts with NVSwitch need: "
        "systemctl enable --now nvidia-fabricmanager, in exactly the driver's version",
    ),
    (
        r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|unsupported display driver / cuda driver combination"
        r"|kernel version \S+ does not match DSO version",
        "the driver's kernel module and its libraries have different versions: reboot the host",
    ),
    (
        r"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE|forward compatibility was attempted on non supported HW",
        "a CUDA compatibility package is installed that this card does not support: remove cuda-compat, "
        "and install a newer driver if it was needed",
    ),
    (
        r"CUDA driver version is insufficient for CUDA runtime version|CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
        r"|PTX was compiled with an unsupported toolchain|CUDA_ERROR_INSUFFICIENT_DRIVER",
        "the NVIDIA driver is too old for the installed CUDA packages: install a newer one "
        "(CUDA 12 needs 525.60.13 or newer), then reboot the host",
    ),
    (
        r"CUDA_ERROR_ECC_UNCORRECTABLE|uncorrectable ECC error",
        "its memory has uncorrectable errors: nvidia-smi --gpu-reset, or reboot the host; "
        "if they come back, replace the card",
    ),
    (
        r"busy or unavailable|CUDA_ERROR_DEVICE_UNAVAILABLE",
        "CUDA says that the GPU is busy or unavailable: another process has it in exclusive compute mode, or its mode "
        "is Prohibited: nvidia-smi -c 0, or end the other process",
    ),
    (
        r"CUDNN_STATUS_(?:NOT_SUPPORTED_)?ARCH_MISMATCH",
        "the installed cuDNN has no code for this card: install nvidia-cudnn-cu12 below 9.11, then restart the worker",
    ),
    (
        r"Loaded runtime CuDNN library: \S+ but source was compiled with|CUDNN_STATUS_VERSION_MISMATCH"
        r"|CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        "another cuDNN is loaded than TensorFlow was built for: install the packages again (make clean, make env), "
        "and remove other cuDNN libraries from the host's library path",
    ),
    (
        r"no kernel image is available|device kernel image is invalid|CUDA_ERROR_NO_BINARY_FOR_GPU"
        r"|CUDA_ERROR_INVALID_PTX",
        "the installed TensorFlow has no kernels for this card: take it out with DOWNSHIFT_DEVICES, or install a "
        "TensorFlow that has",
    ),
    (
        r"UNKNOWN ERROR \(303\)|CUDA_ERROR_SHARED_OBJECT_INIT_FAILED|libcuda\.so\.1: cannot open",
        "the driver's library libcuda.so.1 is missing: install the driver's compute libraries; in a container, set "
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    ),
    (
        r"CUDA_ERROR_UNKNOWN|CUDA_ERROR_OPERATING_SYSTEM",
        "CUDA cannot start (CUDA_ERROR_UNKNOWN), most often because the kernel module nvidia_uvm is missing: "
        "modprobe nvidia_uvm; in a container, pass /dev/nvidia-uvm; after a suspend, reboot the host",
    ),
    (
        r"CUDA_ERROR_NO_DEVICE|no CUDA-capable device is detected|CUDA_ERROR_INVALID_DEVICE",
        "CUDA does not find the GPU that the driver lists: check the rights of /dev/nvidia*, and in a container which "
        "devices it was given, then restart the worker",
    ),
    (
        r"CUDA_ERROR_ILLEGAL_ADDRESS|CUDA_ERROR_LAUNCH_FAILED|unspecified launch failure|illegal memory access"
        r"|CUDA_ERROR_HARDWARE_STACK_ERROR|CUDA_ERROR_MISALIGNED_ADDRESS|\bXid\b",
        "a small computation failed on it: see dmesg for Xid, then nvidia-smi --gpu-reset or reboot the host; if it "
        "comes back, look at its power, its slot and its cooling, or replace the card",
    ),
    (
        r"Cannot dlopen some GPU libraries",
        "TensorFlow cannot load CUDA's libraries: install the packages again (make clean, make env), then restart the "
        "worker",
    ),
]
_KNOWN = [(re.compile(pattern, re.IGNORECASE), sentence) for pattern, sentence in _SENTENCES]


def sentence_for(text: str) -> str | None:
    """What a log or an error message says about the GPU; None if it names no known cause."""
    return next((sentence for pattern, sentence in _KNOWN if pattern.search(text)), None)


def is_out_of_memory(text: str) -> bool:
    return bool(_OUT_OF_MEMORY.search(text))
