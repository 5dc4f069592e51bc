"""The cause in a log: the last error that may have ended the training, and whether training went on after it.

The last cause counts. Its consequences (a cancelled queue, an interrupted sibling, an error while cleaning up) do not
replace it. Once training goes on, the cause was survived, and the next error is a new cause. Several processes may
write into one log, so a single line of progress proves nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from services.domain.diagnosis.log.allocator_dump import Numbers
from services.domain.diagnosis.log.devices import DevicesSeen
from services.domain.diagnosis.log.known_messages import CAUSES, Mark
from services.domain.diagnosis.log.scan import Line

__all__ = ["Cause", "LogSummary", "summarised"]

_NEARBY = 12  # lines after an error in which an operation or a device still belongs to it
_SAME_DUMP = 5000  # lines in which numbers still belong to the failure before them
_GOES_ON, _FAR = 5, 40  # lines of progress, and lines since the cause: its consequences come earlier
_MOST_LINES = 6
_LARGE = 2**30

_MEMORY_OR_DISK: Final = Mark.DEVICE | Mark.CONTEXT | Mark.HANDLE | Mark.HOST | Mark.DISK
_CLEAR: Final = _MEMORY_OR_DISK | Mark.FAULT
_OF_DEVICE: Final = Mark.DEVICE | Mark.CONTEXT | Mark.HANDLE | Mark.EXHAUSTED


@dataclass
class Cause:
    marks: int
    lines: list[Line] = field(default_factory=list)
    numbers: Numbers = field(default_factory=Numbers)
    progress: int = 0  # lines of progress since
    progress_at: int = 0  # the newest of them
    retried: bool = False  # the program said that it retries
    chained: bool = False  # the next exception is a consequence

    @property
    def survived(self) -> bool:
        return self.retried or (self.progress >= _GOES_ON and self.progress_at - self.last >= _FAR)

    @property
    def last(self) -> int:
        return self.lines[-1].number

    @property
    def is_clear(self) -> bool:
        """Whether it names memory, disk or a fault of the device."""
        return bool(self.marks & _CLEAR)

    @property
    def is_of_device(self) -> bool:
        return bool(self.marks & _OF_DEVICE)

    def add(self, line: Line) -> None:
        self.marks |= line.marks
        self.progress = 0
        self.retried = False
        if len(self.lines) >= _MOST_LINES:
            del self.lines[-2]  # keep the first and the newest
        self.lines.append(line)


@dataclass
class LogSummary:
    cause: Cause | None = None
    devices: DevicesSeen = field(default_factory=DevicesSeen)
    mismatch: Line | None = None
    pressure: Line | None = None  # a large allocation on the host without progress since
    backed_off: list[Line] = field(default_factory=list)
    least_refused: int | None = None  # bytes that the device could not give
    most_refused: int | None = None
    statistics: dict[str, Line] = field(default_factory=dict)  # the dump's limit and use, by name
    _before: Cause | None = None
    _node: Line | None = None
    _since_pressure: int = 0  # lines of progress since `pressure`

    def take(self, line: Line) -> None:
        marks = line.marks
        if marks & Mark.HOST and _NOBODY_KILLED.search(line.text):
            return
        if marks & Mark.SEEN:
            self.devices.take(line.number, line.text)
        if marks & Mark.MISMATCH:
            self.mismatch = self.mismatch or line
        if marks & Mark.BACKED_OFF:
            self._back_off(line)
        if marks & Mark.PRESSURE and (_amount(line.text) >= _LARGE or "shuffle buffer" in line.text):
            self.pressure, self._since_pressure = line, 0
        if marks & Mark.HARMLESS:
            self._take_back(line)
        if marks & (Mark.PROGRESS | Mark.RETRIED):
            self._go_on(line)
        if marks & Mark.CHAINED and self.cause:
            self.cause.chained = True
        if marks & CAUSES:
            self._consider(line)
        if marks & (Mark.DUMP | Mark.NODE):
            self._detail(line)

    def _consider(self, line: Line) -> None:
        now = self.cause
        if now is None:
            self._replace(line)
        elif _same_kind(now.marks, line.marks):
            self._extend(now, line)
        elif now.chained and line.marks & Mark.ERROR:
            now.chained = False
        elif _outweighs(line.marks, now):
            self._replace(line)

    def _replace(self, line: Line) -> None:
        self._before = self.cause
        self.cause = Cause(line.marks, [line])
        self.statistics = {}
        if self._node and line.marks & Mark.EXHAUSTED and line.number - self._node.number <= 2:
            self.cause.numbers.take(self._node.text)
        self.cause.numbers.take(line.text)

    def _extend(self, cause: Cause, line: Line) -> None:
        if cause.survived:
            numbers = cause.numbers if line.number - cause.last <= _SAME_DUMP else Numbers()
            self._replace(line)
            cause = self.cause or cause
            cause.numbers = numbers
        else:
            cause.add(line)
        if line.marks & Mark.REQUEST:  # its own dump follows
            cause.numbers = Numbers()
        if cause.is_of_device:
            cause.numbers.take(line.text)

    def _detail(self, line: Line) -> None:
        cause = self.cause
        if line.marks & Mark.NODE:
            self._node = line
        if line.marks & Mark.DUMP:
            if cause is None or not cause.is_of_device:
                if cause is not None and cause.is_clear:
                    return
                self._replace(line._replace(marks=line.marks | Mark.EXHAUSTED))  # the head of the dump is missing
                cause = self.cause
            if cause is not None:
                cause.progress = 0
                cause.retried = False
                cause.numbers.take(line.text)
                if match := _STATISTIC.search(line.text):
                    self.statistics[match[1]] = line
        elif cause and cause.is_of_device and line.number - cause.last <= _NEARBY:
            cause.numbers.take(line.text)

    def _take_back(self, line: Line) -> None:
        """Drop a cause that was the first half of a harmless message, broken over two lines."""
        now = self.cause
        if now is None or len(now.lines) > 1 or not now.marks & Mark.REQUEST or line.number - now.last > 2:
            return
        if _NO_FAILURE.search(line.text) and "ran out of memory" not in line.text:
            self.cause, self._before = self._before, None

    def _go_on(self, line: Line) -> None:
        self._since_pressure += 1 if line.text else _GOES_ON
        if self._since_pressure >= _GOES_ON:
            self.pressure = None
        if self.cause:
            self.cause.progress += 1
            self.cause.progress_at = line.number
            self.cause.retried |= bool(line.marks & Mark.RETRIED or not line.text)

    def _back_off(self, line: Line) -> None:
        amount = _amount(line.text)
        if amount and "on host" not in line.text and "pinned" not in line.text:
            self.least_refused = min(self.least_refused or amount, amount)
            self.most_refused = max(self.most_refused or amount, amount)
        if len(self.backed_off) < _MOST_LINES:
            self.backed_off.append(line)


def summarised(lines: Iterable[Line]) -> LogSummary:
    summary = LogSummary()
    for line in lines:
        summary.take(line)
    return summary


def _same_kind(one: int, other: int) -> bool:
    return any(one & kind and other & kind for kind in _KINDS)


def _outweighs(new: int, now: Cause) -> bool:
    """Whether a cause of another kind replaces the one before it."""
    if now.survived or (now.progress and new & Mark.OWN):
        return True
    if new & _MEMORY_OR_DISK:  # after a fault of the device, every allocation fails too
        return not now.marks & Mark.FAULT
    if new & Mark.FAULT:
        return not now.is_clear
    if new & Mark.EXHAUSTED:  # more specific than an exception or a kill
        return not now.is_clear
    return bool(new & Mark.KILLED and now.marks & Mark.ERROR)


def _amount(text: str) -> int:
    match = _AMOUNT.search(text)
    return int(match[1] or match[2]) if match else 0


_KINDS: Final = (_OF_DEVICE, Mark.FAULT, Mark.HOST, Mark.DISK, Mark.KILLED, Mark.STOPPED, Mark.ERROR)
_NOBODY_KILLED: Final = re.compile(r"oom_kill\W{1,3}0\b|OOMKilled\W{1,4}false")  # as cgroups and Docker print it
_NO_FAILURE: Final = re.compile(r"freed_by_count|caller indicates|not a failure")
_STATISTIC: Final = re.compile(r"\b(Limit|InUse):\s*\d")
_AMOUNT: Final = re.compile(r"\b(\d{1,18}) bytes|Allocation of (\d{1,18})")
