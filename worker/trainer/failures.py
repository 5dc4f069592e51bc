"""The exceptions that end an attempt, and the mapping from any other exception to a reason and a message."""

import errno
import re
from pathlib import Path

from services.domain.contract import AllocatorStats, Reason

LOG_TAIL_BYTES = 4 * 2**20


class AttemptEnd(Exception):
    """Ends the attempt with a reason and a message for the user; no traceback is printed."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Stopped(AttemptEnd):
    """The attempt stopped on request."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.STOPPED, message)


def read_exception(error: BaseException) -> AttemptEnd:
    """Map an exception to an AttemptEnd. Anything not recognised becomes `Reason.ERROR` with the type's name."""
    if isinstance(error, AttemptEnd):
        return error
    ending = _classify(error)
    ending.__cause__ = error
    return ending


def mismatch(error: BaseException) -> str:
    """Summarise TensorFlow's error about a checkpoint that does not match: how many variables, and one by name."""
    text = " ".join(str(error).split())
    count = re.search(r"Found (\d+) Python objects", text)
    variable = re.search(r"tf\.Variable '([^']+)'", text)
    if count and variable:
        return f"{count[1]} variables of this attempt are missing from it, for example {variable[1]}"
    return text[:200] or type(error).__name__


def _classify(error: BaseException) -> AttemptEnd:
    text = _first_line(error)
    kind = type(error).__name__
    if _is_disk_full(error):
        return AttemptEnd(Reason.DISK_FULL, f"the disk is full: {text}")
    if _is_host_memory(error):
        return AttemptEnd(Reason.HOST_MEMORY, f"the host ran out of memory: {text or kind}")
    if _is_device_memory(error):
        return AttemptEnd(Reason.DEVICE_MEMORY, f"the device ran out of memory: {text}")
    if _DEVICE_FAULT.search(str(error)):
        return AttemptEnd(Reason.BAD_DEVICE, f"the device failed: {text}")
    if kind == "InvalidArgumentError" and _IMAGE_ERROR.search(str(error)):
        return AttemptEnd(Reason.BAD_DATASET, f"an image of the dataset cannot be decoded: {text}")
    if kind == "DataLossError":
        return AttemptEnd(Reason.BAD_DATASET, f"a TFRecord file is damaged: {text}. Write the dataset again")
    return AttemptEnd(Reason.ERROR, f"{kind}: {text}")


def _is_disk_full(error: BaseException) -> bool:
    number = error.errno if isinstance(error, OSError) else None
    return number in (errno.ENOSPC, errno.EDQUOT) or bool(_DISK_FULL.search(str(error)))


def _is_host_memory(error: BaseException) -> bool:
    """The allocator named `cpu` is malloc, so it means host memory: beside a GPU, or on a CPU without a limit."""
    number = error.errno if isinstance(error, OSError) else None
    return isinstance(error, MemoryError) or number == errno.ENOMEM or bool(_HOST_MEMORY.search(str(error)))


def _is_device_memory(error: BaseException) -> bool:
    """TensorFlow's ResourceExhaustedError means device memory, unless it names another resource."""
    text = str(error)
    if _DEVICE_MEMORY.search(text):
        return True
    return type(error).__name__ == "ResourceExhaustedError" and not _OTHER_RESOURCE.search(text)


def _first_line(error: BaseException) -> str:
    """The line with the cause: an error in a graph starts with a banner of several lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for pattern in (_DEVICE_MEMORY, _DEVICE_FAULT, _LIBRARY, _NAMED_ERROR, _NO_BANNER):
        cause = next((line for line in lines if pattern.search(line)), None)
        if cause is not None:
            return cause[:500]
    return "".join(lines[:1])[:500]


_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_HOST_MEMORY = re.compile(r"std::bad_alloc|Cannot allocate memory|by allocator cpu\b")
_DEVICE_MEMORY = re.compile(
    r"OOM when allocating|ran out of memory|failed to allocate memory|Dst tensor is not initialized"
    r"|CUDA_ERROR_OUT_OF_MEMORY|CUDNN_STATUS_ALLOC_FAILED|CUBLAS_STATUS_ALLOC_FAILED|cuMemAllocAsync failed"
    r"|out of memory while trying to allocate|failed to allocate request for"
    r"|no algorithm worked!?.*(?:RESOURCE_EXHAUSTED|out of memory)|cudaSetDevice\(\) on GPU.*out of memory",
    re.I,
)
# CUDA could not be started, or the card failed. The log knows more spellings (services/domain/diagnosis/log).
_DEVICE_FAULT = re.compile(
    r"CUDA_ERROR_(?:ILLEGAL_|MISALIGNED_|LAUNCH_|ECC_|CONTAINED|HARDWARE_STACK|NO_BINARY_FOR|INVALID_PTX|UNSUPPORTED_PTX"
    r"|SYSTEM_|DEVICES?_UNAVAILABLE|NO_DEVICE|UNKNOWN)"
    r"|illegal (?:memory access|instruction) was encountered|unspecified launch failure|uncorrectable ECC"
    r"|no kernel image is available|kernel image is invalid|unsupported toolchain"
    r"|busy or unavailable|system not yet initialized|driver version is insufficient"
    r"|implicit initialization on GPU.*failed|cuda[GS]etDevice\(\).*failed|fallen off the bus|GPU is lost",
    re.I,
)
# Whether memory was short, or versions do not match, is not in these: the log decides.
_LIBRARY = re.compile(r"DNN library|create cudnn handle|without BLAS support|No algorithm worked", re.I)
# Of a ResourceExhaustedError that is not about memory: files, and messages between processes.
_OTHER_RESOURCE = re.compile(r"too many open files|message (?:length|size)?.*(?:larger|exceed)|\bquota\b", re.I)
_NAMED_ERROR = re.compile(r"Error:")
_NO_BANNER = re.compile(r"^(?!Graph execution error|Detected at node|File \"|\d+ root error|\[\[|Hint:)")
_IMAGE_ERROR = re.compile(r"jpeg|png|image file format|DecodeImage", re.I)
_SHAPE = re.compile(r"OOM when allocating tensor with shape\[([\d,]*)\] and type (\w+) on (\S+) by allocator (\S+)")
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_REQUEST = re.compile(
    r"Allocator \((?P<allocator>[^)]+)\) ran out of memory trying to allocate (?P<size>[\d.]+)(?P<unit>[KMGT]?i?B)"
    r" \(rounded to (?P<rounded>\d+)\)(?: ?requested by op (?P<op>\S+))?"
)
_STATS = re.compile(r"^.*?Limit:\s+(\d+)\s*\n.*?InUse:\s+(\d+)\s*\n.*?MaxInUse:\s+(\d+)", re.M)


def allocator_stats(error_text: str, log_tail: str, counters: AllocatorStats) -> AllocatorStats:
    """Describe the failed allocation by the allocator's last log dump and the exception; counters fill the gaps."""
    requests = list(_REQUEST.finditer(log_tail))
    request = requests[-1] if requests else None
    stats = _STATS.findall(log_tail, request.end() if request else len(log_tail))
    limit, in_use, peak = map(int, stats[-1]) if stats else (counters.limit, None, counters.peak)
    shape = _SHAPE.search(error_text)
    node = _NODE.search(error_text)
    return AllocatorStats(
        limit=limit,
        in_use=in_use,
        peak=peak,
        evaluation_peak=counters.evaluation_peak,
        requested=int(request["rounded"]) if request else None,
        requested_shape=f"[{shape[1]}] {shape[2]}" if shape else None,
        requested_op=(request and request["op"]) or (node[1] if node else None),
        allocator=request["allocator"] if request else (shape[4] if shape else None),
    )


def log_tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - LOG_TAIL_BYTES))
        return file.read().decode(errors="replace")
