"""Where the lines of a log begin, without reading it again each time: newlines are counted once per piece of it.

An index of a hundred megabytes is a hundred numbers. It grows with the log.
"""

import bisect
import os
import threading
from collections import OrderedDict
from typing import BinaryIO

__all__ = ["LineIndex", "index_of"]

_STRIDE = 2**20
_MOST = 64  # logs


class LineIndex:
    """Lines are counted from 1; the last one may lack its end. `size` is what there is of the file at that moment."""

    def __init__(self) -> None:
        self._before = [0]  # newlines before each stride that was read whole, and before the one after those
        self._lock = threading.Lock()

    def _extend(self, file: BinaryIO, size: int) -> None:
        with self._lock:
            if size < (len(self._before) - 1) * _STRIDE:  # another file in its place
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
        """How many lines there are."""
        if not size:
            return 0
        return self.newlines_before(file, size, size) + (_read(file, size - 1, size) != b"\n")

    def start_of(self, file: BinaryIO, line: int, size: int) -> int:
        """Where line `line` begins; `size` where there is no such line."""
        if line <= 1:
            return 0
        self._extend(file, size)
        stride = bisect.bisect_left(self._before, line - 1) - 1
        left = line - 1 - self._before[stride]
        data = _read(file, stride * _STRIDE, min(size, (stride + 1) * _STRIDE))
        place = -1
        for _ in range(left):
            place = data.find(b"\n", place + 1)
            if place < 0:
                return size
        return stride * _STRIDE + place + 1


def _read(file: BinaryIO, start: int, end: int) -> bytes:
    """These bytes; by their place, so that two who read do not get in each other's way."""
    parts, at = [], start
    while at < end and (part := os.pread(file.fileno(), end - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


_known: OrderedDict[tuple[int, int], LineIndex] = OrderedDict()
_known_lock = threading.Lock()


def index_of(file: BinaryIO) -> LineIndex:
    """The index of this file, whoever asked for it before."""
    about = os.fstat(file.fileno())
    key = (about.st_dev, about.st_ino)
    with _known_lock:
        index = _known.setdefault(key, LineIndex())
        _known.move_to_end(key)
        while len(_known) > _MOST:
            _known.popitem(last=False)
    return index
