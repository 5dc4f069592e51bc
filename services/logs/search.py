"""Search the lines of a log for a text, ignoring case, a chunk at a time, forwards or backwards."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from services.logs.line_index import IndexedLog

__all__ = ["LONGEST_SHOWN", "Found", "Match", "search_backward", "search_forward"]

_CHUNK = 2**18  # bytes; every line of a chunk may match
_MOST_CPU_S = 1.0  # per search; short lines of non-ASCII text take half a second per MB
LONGEST_SHOWN = 10_000  # bytes of a line


@dataclass(frozen=True)
class Match:
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """Matches in the order of the log. `is_complete`: there are no more in this direction."""

    matches: list[Match]
    is_complete: bool


def search_forward(log: IndexedLog, text: str, after: int, limit: int, most_bytes: int) -> Found:
    """The first matches after line `after`."""
    start = log.start_of(after + 1)
    last, stop_at = min(log.size, start + most_bytes), time.thread_time() + _MOST_CPU_S
    found: list[Match] = []
    while start < last:
        data = log.read(start, min(last, start + _CHUNK))
        if not data:
            break
        end = _whole_lines(data, is_last=start + len(data) >= log.size)
        found += _in_chunk(log, text, start, data[:end], limit - len(found))
        start += end
        if len(found) >= limit:
            return Found(found, False)
        if time.thread_time() > stop_at:
            break
    return Found(found, start >= log.size)


def search_backward(log: IndexedLog, text: str, before: int | None, limit: int, most_bytes: int) -> Found:
    """The last matches before line `before`; None: before the end."""
    end = log.size if before is None else log.start_of(before)
    first, stop_at = max(0, end - most_bytes), time.thread_time() + _MOST_CPU_S
    found: list[Match] = []
    while end > first:
        start = max(first, end - _CHUNK)
        data = log.read(start, end)
        if start > 0:  # a line that begins before this chunk is left to the next one, unless it is longer than a chunk
            cut = data.find(b"\n", 0, len(data) - 1) + 1
            data, start = data[cut:], start + cut
        found = [*_in_chunk(log, text, start, data, None)[-(limit - len(found)) :], *found]
        end = start
        if len(found) >= limit:
            return Found(found, False)
        if time.thread_time() > stop_at:
            break
    return Found(found, end == 0)


def _whole_lines(data: bytes, is_last: bool) -> int:
    """The length of the whole lines in `data`; all of it if it is one line or the end of the log."""
    return len(data) if is_last else data.rfind(b"\n") + 1 or len(data)


def _in_chunk(log: IndexedLog, text: str, start: int, data: bytes, limit: int | None) -> list[Match]:
    found: list[Match] = []
    number, counted = 0, 0
    for offset, begin, end in _matching_lines(data, text):
        if not number:
            number = log.line_at(start)
        number += data.count(b"\n", counted, offset)
        counted = offset
        found.append(Match(number, data[begin : min(end, begin + LONGEST_SHOWN)].decode(errors="replace")))
        if limit is not None and len(found) >= limit:
            break
    return found


def _matching_lines(data: bytes, text: str) -> Iterator[tuple[int, int, int]]:
    """For each line that contains the text: an offset in it, its start and its end."""
    if "\n" in text:
        return
    if text.isascii():
        folded, wanted = data.lower(), text.lower().encode()
        offset = folded.find(wanted)
        while offset >= 0:
            end = folded.find(b"\n", offset)
            end = len(data) if end < 0 else end
            yield offset, folded.rfind(b"\n", 0, offset) + 1, end
            offset = folded.find(wanted, end)
        return
    wanted_text, begin = text.casefold(), 0
    if wanted_text not in data.decode(errors="replace").casefold():  # ten times faster than line by line
        return
    for line in data.split(b"\n"):
        if wanted_text in line.decode(errors="replace").casefold():
            yield begin, begin, begin + len(line)
        begin += len(line) + 1
