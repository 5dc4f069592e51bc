"""Lines of a log that hold a text in any case: found a piece at a time, forwards or back from the end."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from services.logs.line_index import LineIndex

__all__ = ["LONGEST_SHOWN", "Found", "Match", "search_back", "search_on"]

_PIECE = 2**18  # all lines of one may match
_MOST_CPU_S = 1.0  # of a search: short lines in letters beyond ASCII take half a second a MB
LONGEST_SHOWN = 10_000  # bytes of a line


@dataclass(frozen=True)
class Match:
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """In the order of the log. `is_complete`: there is nothing more that way."""

    matches: list[Match]
    is_complete: bool


def search_on(file: BinaryIO, index: LineIndex, size: int, text: str, after: int, limit: int, most_bytes: int) -> Found:
    """The first matches behind line `after`."""
    start = index.start_of(file, after + 1, size)
    last, stop_at = min(size, start + most_bytes), time.thread_time() + _MOST_CPU_S
    found: list[Match] = []
    while start < last:
        data = os.pread(file.fileno(), min(_PIECE, last - start), start)
        if not data:
            break
        end = _whole(data, is_last=start + len(data) >= size)
        found += _in_piece(file, index, size, text, start, data[:end], limit - len(found))
        start += end
        if len(found) >= limit:
            return Found(found, False)
        if time.thread_time() > stop_at:
            break
    return Found(found, start >= size)


def search_back(
    file: BinaryIO, index: LineIndex, size: int, text: str, before: int | None, limit: int, most_bytes: int
) -> Found:
    """The last matches before line `before`; None: before the end."""
    end = size if before is None else index.start_of(file, before, size)
    first, stop_at = max(0, end - most_bytes), time.thread_time() + _MOST_CPU_S
    found: list[Match] = []
    while end > first:
        start = max(first, end - _PIECE)
        data = os.pread(file.fileno(), end - start, start)
        if start > 0:  # the line that begins before this piece is the next one's, unless it is longer than a piece
            cut = data.find(b"\n", 0, len(data) - 1) + 1
            data, start = data[cut:], start + cut
        found = [*_in_piece(file, index, size, text, start, data, None)[-(limit - len(found)) :], *found]
        end = start
        if len(found) >= limit:
            return Found(found, False)
        if time.thread_time() > stop_at:
            break
    return Found(found, end == 0)


def _whole(data: bytes, is_last: bool) -> int:
    """How much of it is whole lines; all of it where that is one line, or the end of the log."""
    return len(data) if is_last else data.rfind(b"\n") + 1 or len(data)


def _in_piece(
    file: BinaryIO, index: LineIndex, size: int, text: str, start: int, data: bytes, limit: int | None
) -> list[Match]:
    found: list[Match] = []
    number, counted = 0, 0
    for place, begin, end in _places(data, text):
        if not number:
            number = index.line_at(file, start, size)
        number += data.count(b"\n", counted, place)
        counted = place
        found.append(Match(number, data[begin : min(end, begin + LONGEST_SHOWN)].decode(errors="replace")))
        if limit is not None and len(found) >= limit:
            break
    return found


def _places(data: bytes, text: str) -> Iterator[tuple[int, int, int]]:
    """Of each line that holds the text: a byte in it, its begin and its end."""
    if "\n" in text:
        return
    if text.isascii():
        folded, wanted = data.lower(), text.lower().encode()
        place = folded.find(wanted)
        while place >= 0:
            end = folded.find(b"\n", place)
            end = len(data) if end < 0 else end
            yield place, folded.rfind(b"\n", 0, place) + 1, end
            place = folded.find(wanted, end)
        return
    wanted_text, begin = text.casefold(), 0
    if wanted_text not in data.decode(errors="replace").casefold():  # ten times as fast as line by line
        return
    for line in data.split(b"\n"):
        if wanted_text in line.decode(errors="replace").casefold():
            yield begin, begin, begin + len(line)
        begin += len(line) + 1
