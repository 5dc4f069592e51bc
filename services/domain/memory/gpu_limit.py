"""How much of a GPU's memory TensorFlow gives to its allocator.

    limit = free before the process starts - CUDA's context - TensorFlow's reserve

TensorFlow keeps its reserve back for cuDNN, cuBLAS and the kernels, with memory growth too. The figures by compute
capability are TensorFlow's own (`MinSystemMemory` in gpu_device.cc); the trainer pins them by
TF_DEVICE_MIN_SYS_MEMORY_IN_MB. The context's size is an upper bound from public logs of cards from Pascal to Hopper. A
trainer or a check that has run on the card knows better: it reports the limit that TensorFlow states.
"""

__all__ = [
    "WORKSPACE_BYTES",
    "free_before",
    "hardware_name",
    "limit_of_free",
    "limit_of_whole",
    "overhead_bytes",
    "parse_capability",
    "reserve_mb",
]

_MB = 2**20
_RESERVE_MB = {6: 500, 7: 1050, 8: 1536}  # by major compute capability; older cards as 6
_NEWEST_RESERVE_MB = 1800
_CONTEXT_BYTES = 500 * _MB
# Of a card without processes, the driver itself holds about this much: what is printed on it is never free.
_DRIVER_SHARE, _DRIVER_LEAST = 0.01, 300 * _MB
# Scratch memory of one convolution; the trainer pins it by TF_CUDNN_WORKSPACE_LIMIT_IN_MB, whose default is 4 GB.
WORKSPACE_BYTES = 512 * _MB

Capability = tuple[int, int]


def parse_capability(text: str | None) -> Capability | None:
    """(8, 6) of "8.6"; None where it is unknown."""
    major, dot, minor = (text or "").partition(".")
    return (int(major), int(minor)) if dot and major.isdecimal() and minor.isdecimal() else None


def hardware_name(capability: str | None, cudnn: str | None) -> str | None:
    """What decides which algorithms run, and so how much memory they need; None for a CPU slot or an unknown card."""
    if capability is None:
        return None
    library = f", cuDNN {'.'.join(cudnn.split('.')[:2])}" if cudnn else ""
    return f"capability {capability}{library}"


def reserve_mb(capability: Capability | None) -> int:
    """What TensorFlow keeps back on such a card; the most that it keeps back on any, where the card is unknown."""
    if capability is None:
        return _NEWEST_RESERVE_MB
    return _RESERVE_MB.get(max(6, capability[0]), _NEWEST_RESERVE_MB)


def overhead_bytes(capability: Capability | None) -> int:
    """The most that free memory and TensorFlow's limit differ by."""
    return _CONTEXT_BYTES + reserve_mb(capability) * _MB


def limit_of_free(free: int, capability: Capability | None, measured_overhead: int | None = None) -> int:
    """What the allocator may have of `free` bytes. `measured_overhead`: as TensorFlow stated it on this card."""
    overhead = overhead_bytes(capability) if measured_overhead is None else measured_overhead
    return max(0, free - overhead)


def limit_of_whole(
    total: int, capability: Capability | None, *, display: int = 0, measured_overhead: int | None = None
) -> int:
    """What it may have of a card whose other jobs have ended. `display`: what the desktop holds."""
    driver = max(round(_DRIVER_SHARE * total), _DRIVER_LEAST)
    return limit_of_free(total - driver - display, capability, measured_overhead)


def free_before(limit: int, capability: Capability | None) -> int:
    """The most that may have been free, if TensorFlow stated `limit`."""
    driver = _DRIVER_LEAST  # not free, but nobody else's either
    return limit + overhead_bytes(capability) + driver
