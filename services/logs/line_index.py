"""Find line numbers and offsets in a log without reading it all each time: newlines are counted once per MB.

The index of a log of a hundred MB has a hundred numbers. It grows with the log.
"""

import bisect
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["IndexedLog", "LineIndex", "index_of"]

_STRIDE = 2**20
_MOST = 64  # logs


class LineIndex:
    """Line numbers start at 1; the last line may lack its newline. `size`: the bytes of the file that count."""

    def __init__(self) -> None:
        self._before = [0]  # newlines before each stride that was read, and before the next one
        self._lock = threading.Lock()

    def _extend(self, file: BinaryIO, size: int) -> None:
        with self._lock:
            if size < (len(self._before) - 1) * _STRIDE:  # the file was replaced
                self._before = [0]
            while len(self._before) * _STRIDE <= size:
                start = (len(self._before) - 1) * _STRIDE
                self._before.append(self._before[-1] + _read(file, start, start + _STRIDE).count(b"\n"))

    def newlines_before(self, file: BinaryIO, offset: int, size: int) -> int:
        self._extend(file, size)
        stride = min(offset // _STRIDE, len(self._before) - 1)
        return self._before[stride] + _read(file, stride * _STRIDE, offset).count(b"\n")

    def line_at(self, file: BinaryIO, offset: int, size: int) -> int:
        """The number of the line that the byte at `offset` is part of."""
        return self.newlines_before(file, offset, size) + 1

    def total(self, file: BinaryIO, size: int) -> int:
        """The number of lines."""
        if not size:
            return 0
        return self.newlines_before(file, size, size) + (_read(file, size - 1, size) != b"\n")

    def start_of(self, file: BinaryIO, line: int, size: int) -> int:
        """The offset at which line `line` begins; `size` if there is no such line."""
        if line <= 1:
            return 0
        self._extend(file, size)
        stride = bisect.bisect_left(self._before, line - 1) - 1
        left = line - 1 - self._before[stride]
        data = _read(file, stride * _STRIDE, min(size, (stride + 1) * _STRIDE))
        newline = -1
        for _ in range(left):
            newline = data.find(b"\n", newline + 1)
            if newline < 0:
                return size
        return stride * _STRIDE + newline + 1


def _read(file: BinaryIO, start: int, end: int) -> bytes:
    """The bytes from `start` to `end`. Does not move the file's position, so that several threads may read."""
    parts, at = [], start
    while at < end and (part := os.pread(file.fileno(), end - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


_known: OrderedDict[tuple[int, int], LineIndex] = OrderedDict()
_known_lock = threading.Lock()


def index_of(file: BinaryIO) -> LineIndex:
    """The index of this file, shared by all callers."""
    about = os.fstat(file.fileno())
    key = (about.st_dev, about.st_ino)
    with _known_lock:
        index = _known.setdefault(key, LineIndex())
        _known.move_to_end(key)
        while len(_known) > _MOST:
            _known.popitem(last=False)
    return index


@dataclass(frozen=True)
class IndexedLog:
    """A log as it is now, of `size` bytes, with the index of its lines."""

    file: BinaryIO
    size: int
    index: LineIndex

    @classmethod
    def of(cls, file: BinaryIO) -> "IndexedLog":
        return cls(file, file.seek(0, os.SEEK_END), index_of(file))

    def line_at(self, offset: int) -> int:
        return self.index.line_at(self.file, offset, self.size)

    def start_of(self, line: int) -> int:
        return self.index.start_of(self.file, line, self.size)

    def total_lines(self) -> int:
        return self.index.total(self.file, self.size)

    def read(self, start: int, end: int) -> bytes:
        return os.pread(self.file.fileno(), end - start, start)
