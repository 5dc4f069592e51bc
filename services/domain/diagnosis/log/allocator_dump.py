"""The numbers that allocators and failing operations print: what was requested, by which operation, what was free."""

import math
import re
from dataclasses import dataclass, fields, replace

__all__ = ["Numbers", "bytes_of", "is_of_host"]


@dataclass
class Numbers:
    """Bytes, and names as printed; None where the log has none. Filled line by line with `take`."""

    limit: int | None = None
    in_use: int | None = None
    peak: int | None = None
    pool: int | None = None  # taken from the device by the allocator
    available: int | None = None  # may still be taken, by its limit
    largest_free: int | None = None  # the largest free chunk in the list
    requested: int | None = None
    op: str | None = None
    shape: str | None = None
    dtype: str | None = None
    device: str | None = None  # such as GPU:0
    allocator: str | None = None

    @property
    def free(self) -> int | None:
        """Unused memory in the pool, or below the limit where the pool is not known."""
        size = self.pool or self.limit
        return None if size is None or self.in_use is None else max(0, size - self.in_use)

    @property
    def needed(self) -> int | None:
        """What the request would have brought the use to."""
        return None if self.in_use is None or self.requested is None else self.in_use + self.requested

    def take(self, text: str) -> None:
        """Later lines replace earlier ones, except the operation: the first one named is the one that failed."""
        self._take_request(text)
        self._take_statistics(text)
        self._take_place(text)

    def merged(self, other: "Numbers") -> "Numbers":
        """These, with the gaps filled from `other`."""
        gaps = {one.name: getattr(other, one.name) for one in fields(self) if getattr(self, one.name) is None}
        return replace(self, **gaps)

    def _take_request(self, text: str) -> None:
        if match := _REQUEST.search(text):
            self.allocator = match["allocator"]
            self.requested = int(match["rounded"] or 0) or bytes_of(match["size"], match["unit"])
            self.op = match["op"] or self.op
            self.shape = self.dtype = None
        elif match := _ASKED.search(text):
            self.requested = int(match["bytes"]) if match["bytes"] else bytes_of(match["size"], match["unit"])
            self.allocator = match["allocator"] or self.allocator
        if match := _TENSOR.search(text):
            self.shape, self.dtype = _squeezed(match["shape"] or match["dims"] or ""), match["dtype"] or self.dtype
            self.requested = self.requested or _tensor_bytes(self.shape, self.dtype)

    def _take_statistics(self, text: str) -> None:
        for name, value in _STATISTIC.findall(text):
            if int(value):  # 0 means no limit, or a block that was not measured
                setattr(self, _STATISTICS[name], int(value))
        if match := _POOL.search(text):
            self.pool, self.limit, self.available = int(match[1]), int(match[2]), int(match[3])
        if match := _FREE_CHUNK.search(text):
            self.largest_free = max(self.largest_free or 0, int(match[1]))

    def _take_place(self, text: str) -> None:
        if match := _ALLOCATOR.search(text):
            self.allocator = match[1]
        if self.device is None and not _TRANSFER.search(text):
            places = _OWN_DEVICE.findall(text) or _DEVICE.findall(text)
            if places:
                kind, index = places[-1 if "Dst tensor" in text else 0]  # copies: from the first to the last
                self.device = f"{kind.upper()}:{index}"
        if self.op is None and (match := _NODE.search(text)):
            self.op = next(group for group in match.groups() if group)


def is_of_host(numbers: Numbers) -> bool | None:
    """Whether the host's memory ran out, not a device's; None where nothing shows it.

    A CPU slot's allocator has a limit like a GPU's, so its messages are about the slot.
    """
    if numbers.allocator is not None:
        return bool(_HOST_ALLOCATOR.fullmatch(numbers.allocator))
    if numbers.device is not None:
        return numbers.device.startswith("CPU")
    return None


def bytes_of(size: str, unit: str) -> int | None:
    """`74.16` and `MiB` in bytes. TensorFlow's units are binary, however they are spelled."""
    try:
        return int(float(size) * 2 ** (10 * "bkmgt".index(unit[:1].lower())))
    except (ValueError, OverflowError):
        return None


def _tensor_bytes(shape: str, dtype: str | None) -> int | None:
    sizes = [int(size) for size in re.findall(r"\d{1,18}", shape)]
    total = math.prod(sizes) * _WIDTHS.get(dtype or "float", 4) if sizes else 0
    return total if 0 < total < 2**63 else None


def _squeezed(shape: str) -> str:
    return f"[{','.join(re.findall(r'-?[0-9]+', shape))}]"


_REQUEST = re.compile(
    r"Allocator \((?P<allocator>[^)]{1,80})\) ran out of memory"
    r" trying to allocate (?P<size>[\d.]{1,20}) ?(?P<unit>[KMGT]?i?B)"
    r"(?: \(rounded to (?P<rounded>\d{1,19})\))?(?: ?requested by op (?P<op>\S{1,300}))?"
)
_ASKED = re.compile(
    r"(?:(?P<allocator>\bgpu_async_\d+) cuMemAllocAsync )?"
    r"(?:trying to|failed to|Tried to) allocate (?:request for )?"
    r"(?:(?P<bytes>\d{1,19}) bytes|(?P<size>[\d.]{1,20}) ?(?P<unit>[KMGT]i?B))",
    re.I,
)
_TENSOR = re.compile(
    r"OOM when allocating tensor (?:with|of) shape ?(?:\[(?P<shape>[\d, ]*)\]|(?P<dims>(?:dim \{ size: \d+ \} ?)+))"
    r"(?: and type (?P<dtype>\w+))?"
)
_STATISTICS = {"Limit": "limit", "InUse": "in_use", "MaxInUse": "peak", "LargestFreeBlock": "largest_free"}
_STATISTIC = re.compile(r"\b(Limit|InUse|MaxInUse|LargestFreeBlock):\s*(\d{1,19})\b")
_POOL = re.compile(
    r"(?:Total bytes in pool|total_region_allocated_bytes_): (\d{1,19})"
    r" memory_limit_: (\d{1,19}) available bytes: (\d{1,19})"
)
_FREE_CHUNK = re.compile(r"\bFree\s+at \w+ of size (\d{1,19})")
_ALLOCATOR = re.compile(r"\bby allocator ([\w.]{1,80})")
_OWN_DEVICE = re.compile(r"[^\w]_device=\"[^\"]*/(?:device:)?([cg]pu):(\d{1,3})\"", re.I)  # the node's, not its inputs'
_DEVICE = re.compile(r"/(?:device:)?([cg]pu):(\d{1,3})", re.I)
_TRANSFER = re.compile(r"= _(?:Host)?(?:Recv|Send)\[")  # these run where the tensor goes to, not where it was made
_NODE = re.compile(
    r"\{\{node ([^}]{1,300})\}\}|\[\[[Nn]ode:? ([^\s=]{1,300})"
    r"|^\s*Node: '([^']{1,300})'|\[Op:(?!__inference)(\w{1,100})\]"
)
_HOST_ALLOCATOR = re.compile(r"(?:mkl_?)?cpu(?:_\w+)?|\w*host\w*", re.I)
_WIDTHS = {
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("half", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    "complex128": 16,
}
