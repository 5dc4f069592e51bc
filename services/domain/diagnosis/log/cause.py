"""What a log tells, line by line: the last thing that may have ended the training, and whether training went on after.

The last cause counts. What follows from a cause (a cancelled queue, an interrupted sibling, an error while cleaning up)
does not replace it; but once training went on, the cause was survived, and the next error stands for itself. Several
processes may write into one log, so a single line of progress after a cause proves nothing yet.
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

_NEARBY = 12  # lines, within which an operation or a device still belongs to the error above it
_SAME_DUMP = 5000  # lines, within which numbers still belong to the failure they were printed for
_GOES_ON, _FAR = 5, 40  # lines of progress, lines after a cause: by then, what follows from it would have been told
_MOST_LINES = 6
_LARGE = 2**30

_MEMORY_OR_DISK: Final = Mark.DEVICE | Mark.CONTEXT | Mark.HANDLE | Mark.HOST | Mark.DISK
_OF_DEVICE: Final = Mark.DEVICE | Mark.CONTEXT | Mark.HANDLE | Mark.EXHAUSTED


@dataclass
class Cause:
    marks: int
    lines: list[Line] = field(default_factory=list)
    numbers: Numbers = field(default_factory=Numbers)
    progress: int = 0  # lines of it since, the last of them at
    progress_at: int = 0
    retried: bool = False  # … and the program said that it goes on
    chained: bool = False  # the next error follows from it

    @property
    def survived(self) -> bool:
        return self.retried or (self.progress >= _GOES_ON and self.progress_at - self.last >= _FAR)

    @property
    def last(self) -> int:
        return self.lines[-1].number

    @property
    def is_clear(self) -> bool:
        """Memory or disk, and said so."""
        return bool(self.marks & _MEMORY_OR_DISK)

    @property
    def is_of_device(self) -> bool:
        return bool(self.marks & _OF_DEVICE)

    def add(self, line: Line) -> None:
        self.marks |= line.marks
        self.progress = 0
        self.retried = False
        if len(self.lines) >= _MOST_LINES:
            del self.lines[-2]  # the first and the newest are kept
        self.lines.append(line)


@dataclass
class LogSummary:
    cause: Cause | None = None
    devices: DevicesSeen = field(default_factory=DevicesSeen)
    mismatch: Line | None = None
    pressure: Line | None = None  # much of the host's memory taken, after which nothing is heard of training
    backed_off: list[Line] = field(default_factory=list)
    least_refused: int | None = None  # of what the device did not have
    most_refused: int | None = None
    statistics: dict[str, Line] = field(default_factory=dict)  # of the dump: its limit, and what was in use
    _before: Cause | None = None
    _node: Line | None = None
    _since_pressure: int = 0  # lines of progress

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
        if line.marks & Mark.REQUEST:  # a dump of its own follows
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
                self._replace(line._replace(marks=line.marks | Mark.EXHAUSTED))  # the head of the dump is lost
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
        """A harmless message that was broken over lines began like a fatal one."""
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
    """Whether a cause of another kind counts more than the one before it."""
    if new & _MEMORY_OR_DISK or now.survived or (now.progress and new & Mark.OWN):
        return True
    if new & Mark.EXHAUSTED:  # says more than an exception or a kill
        return not now.is_clear
    return bool(new & Mark.KILLED and now.marks & Mark.ERROR)


def _amount(text: str) -> int:
    match = _AMOUNT.search(text)
    return int(match[1] or match[2]) if match else 0


_KINDS: Final = (_OF_DEVICE, Mark.HOST, Mark.DISK, Mark.KILLED, Mark.STOPPED, Mark.ERROR)
_NOBODY_KILLED: Final = re.compile(r"oom_kill\W{1,3}0\b|OOMKilled\W{1,4}false")  # what cgroups and docker show
_NO_FAILURE: Final = re.compile(r"freed_by_count|caller indicates|not a failure")
_STATISTIC: Final = re.compile(r"\b(Limit|InUse):\s*\d")
_AMOUNT: Final = re.compile(r"\b(\d{1,18}) bytes|Allocation of (\d{1,18})")
