"""What a log says about the GPUs: how much memory each has, and how much of it was free."""

import re
from dataclasses import dataclass, field, replace

from services.domain.diagnosis.log.allocator_dump import bytes_of

__all__ = ["DeviceSeen", "DevicesSeen", "memory_of_card"]

_MB = 2**20
_MOST = 32  # devices that are remembered
_MOST_LINES = 4
_ANY = -1


@dataclass
class DeviceSeen:
    index: int = 0
    name: str | None = None
    total: int | None = None
    free: int | None = None  # at the start
    limit: int | None = None  # what TensorFlow set itself: less than what was free
    capability: tuple[int, int] | None = None
    free_at_end: int | None = None
    lines: dict[int, str] = field(default_factory=dict)  # the lines that this comes from, by number

    @property
    def line(self) -> int:
        return max(self.lines, default=0)

    def add(self, number: int, text: str) -> None:
        if len(self.lines) >= _MOST_LINES:
            del self.lines[self.line]
        self.lines[number] = text


class DevicesSeen:
    """Filled line by line. Several processes may report into one log; the allocator's limit tells theirs apart."""

    def __init__(self) -> None:
        self._all: list[DeviceSeen] = []

    def take(self, number: int, text: str) -> None:
        if match := _CREATED.search(text):
            limit = int(match["mb"]) * _MB
            device = self._current(int(match["index"]))
            if device.limit is not None or not _goes_with(device, limit):
                device = self._new(int(match["index"]))
            device.limit = limit
            device.name = (match["name"] or "").strip() or device.name
            if capability := _CAPABILITY.search(text):
                device.capability = int(capability[1]), int(capability[2])
            device.add(number, text)
            return
        if match := _AT_THE_END.search(text):
            device = self._new(_ANY)
            device.free_at_end, device.total = int(match[1]), int(match[2])
            device.add(number, text)
            return
        if match := _FOUND.search(text):
            device = self._new(int(match[1]))
        else:
            device = self._all[-1] if self._all else DeviceSeen()
            if any(getattr(device, name) not in (None, size) for name, size in _sizes(text)):
                device = self._new(device.index)  # another process's device
        before = replace(device)
        _take(device, number, text)
        if not self._all and device != before:
            self._all.append(device)

    def of(self, device: str | None, limit: int | None, until: int) -> DeviceSeen:
        """The last report, up to this line, on the device (such as GPU:1) whose allocator has this limit."""
        index = int(device[4:]) if device and device.startswith("GPU:") else None
        for one in reversed(self._all):
            if one.line <= until and (index is None or one.index in (_ANY, index)) and _goes_with(one, limit):
                return replace(one, total=one.total or memory_of_card(one.name or ""))
        return DeviceSeen()

    def _current(self, index: int) -> DeviceSeen:
        return next((one for one in reversed(self._all) if one.index == index), None) or self._new(index)

    def _new(self, index: int) -> DeviceSeen:
        del self._all[: -(_MOST - 1)]
        self._all.append(DeviceSeen(index))
        return self._all[-1]


def _take(device: DeviceSeen, number: int, text: str) -> None:
    if match := _NAME.search(text):
        device.name = match[1].strip()
    for name, size in _sizes(text):
        setattr(device, name, size)
        device.add(number, text)
    if match := _REPORTED.search(text):
        device.total = int(match[1])
        device.add(number, text)


def _sizes(text: str) -> list[tuple[str, int | None]]:
    return [(_SIZES[match[1].lower()], bytes_of(match[2], match[3])) for match in _SIZE.finditer(text)]


def _goes_with(seen: DeviceSeen, limit: int | None) -> bool:
    """Whether the limit matches: it is the one of the device's creation, or the free memory without a reserve."""
    if limit is None:
        return True
    if seen.limit is not None:
        return abs(limit - seen.limit) <= 0.02 * limit + _MB
    return seen.free is None or 0.4 * seen.free <= limit <= seen.free


def memory_of_card(name: str) -> int | None:
    """The memory of a card by its name; None where the name is unknown and states no size."""
    if match := _IN_NAME.findall(name):
        return int(match[-1]) << 30
    for pattern, size in _CARDS:
        if pattern.search(name):
            return int(size * 1024) * _MB
    return None


_FOUND = re.compile(r"[Ff]ound device (\d{1,3}) with prop")
_CREATED = re.compile(
    r"[Cc]reat\w+ (?:TensorFlow )?device \(?/\S*?device:GPU:(?P<index>\d{1,3}) with (?P<mb>\d{1,9}) MB memory"
    r"(?:.{0,80}?name: (?P<name>[^,]{1,80}))?"
)
_CAPABILITY = re.compile(r"compute capability: (\d{1,2})\.(\d)")
_NAME = re.compile(r"\bname: ([^,]{1,80}?)\s*(?:,|major:|computeCapability:|$)")
_SIZE = re.compile(
    r"\b(totalMemory|freeMemory|Total memory|Free memory|deviceMemorySize): ?([\d.]{1,12}) ?([KMGT]i?B)", re.I
)
_SIZES = {
    "totalmemory": "total",
    "total memory": "total",
    "devicememorysize": "total",
    "freememory": "free",
    "free memory": "free",
}
_REPORTED = re.compile(r"total memory reported: (\d{1,18})")
_AT_THE_END = re.compile(r"Free memory/Total memory: (\d{1,18})/(\d{1,18})")
_IN_NAME = re.compile(r"(?<!\d)(\d{1,3}) ?gb\b", re.I)  # the last one counts: A100-SXM4-40GB MIG 2g.10gb

# Gigabytes, for logs that name the card and not its size; of cards sold in two sizes, the smaller one.
_CARDS = [
    (re.compile(rf"\b(?:{names})\b", re.I), size)
    for names, size in (
        ("A40|A6000|RTX 6000 Ada|L40S?", 44.0),
        ("RTX 3090|RTX 4090|TITAN RTX|Quadro RTX 6000|A10G?|L4|A5000|Tesla P40|Quadro P6000", 22.0),
        ("RTX 4080|A4000|Tesla P100|T4|V100|Quadro P5000|RTX 5000", 14.7),
        ("RTX 3080 Ti|RTX 4070|TITAN X|TITAN Xp|TITAN V|K40[a-z]?|M40|K80", 11.1),
        ("RTX 2080 Ti|GTX 1080 Ti", 10.7),
        ("RTX 3080", 9.8),
        ("RTX 2080|RTX 2070|RTX 3070|RTX 3060 Ti|RTX 4060|GTX 1080|GTX 1070|P4000|M60", 7.7),
        ("RTX 2060|RTX 3060|GTX 1660|GTX 980 Ti|GTX TITAN", 5.8),
        ("GTX 1650|GTX 980|GTX 970|GTX 1050 Ti", 3.8),
        ("GTX 1060", 2.9),
        ("GTX 1050|GTX 960M?|GTX 950M?|GTX 750|GT 1030|MX150|MX250|940MX?", 1.9),
    )
]
