"""What a trainer printed: the end of it, the lines that hold a text, or all of it. Memory is bounded in each."""

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from services import queries
from services.accounts import Principal
from services.domain.contract import LOG_FILE
from services.errors import NotFound
from services.files import CHUNK, open_below
from services.settings import Settings
from services.store.engine import Store

__all__ = ["Excerpt", "open_log", "search_log", "tail_log"]

_MOST_TAIL = 8 * 2**20  # bytes of an answer, however long the lines are
_MOST_SEARCHED = 512 * 2**20  # bytes, from the end: a second or so
_LONGEST_LINE = 64 * 1024


@dataclass(frozen=True)
class Excerpt:
    attempt: int
    text: str
    is_cut: bool  # there is more before it that was not looked at


def open_log(
    store: Store, settings: Settings, principal: Principal, job_id: int, attempt: int | None
) -> tuple[int, BinaryIO | None]:
    """The attempt's number (None: the newest) and its log, None where nothing was printed yet. Raises NotFound."""
    with store.reading() as session:
        number = queries.visible_attempt(session, principal, job_id, attempt).number
    try:
        return number, open_below(settings.jobs_dir, f"{job_id}/attempt-{number}/{LOG_FILE}")
    except NotFound:
        return number, None


def tail_log(
    store: Store, settings: Settings, principal: Principal, job_id: int, attempt: int | None, lines: int
) -> Excerpt:
    """The last lines, read from the end of the file."""
    number, file = open_log(store, settings, principal, job_id, attempt)
    if file is None:
        return Excerpt(number, "", False)
    with file:
        data, is_cut = _tail(file, lines)
    return Excerpt(number, data.decode(errors="replace"), is_cut)


def _tail(file: BinaryIO, lines: int) -> tuple[bytes, bool]:
    size = position = file.seek(0, os.SEEK_END)
    data = b""
    # The end of the line before them is looked for too: only then is the first of them known to be whole.
    while position and data.count(b"\n", 0, -1) < lines and size - position < _MOST_TAIL:
        step = min(CHUNK, position)
        position -= step
        file.seek(position)
        data = file.read(step) + data
    start = len(data) - 1
    for _ in range(lines):
        start = data.rfind(b"\n", 0, max(0, start))
    return data[start + 1 :][-_MOST_TAIL:], start < 0 < position


def search_log(
    store: Store, settings: Settings, principal: Principal, job_id: int, attempt: int | None, text: str, lines: int
) -> Excerpt:
    """The last lines that hold `text` in any case."""
    number, file = open_log(store, settings, principal, job_id, attempt)
    if file is None:
        return Excerpt(number, "", False)
    with file:
        size = file.seek(0, os.SEEK_END)
        start = file.seek(max(0, size - _MOST_SEARCHED))
        wanted = text.casefold()
        found: deque[str] = deque(maxlen=lines)
        for line in _lines(file, size - start):
            if wanted in line.casefold():
                found.append(line)
    return Excerpt(number, "\n".join([*found, ""]) if found else "", start > 0)


def _lines(file: BinaryIO, size: int) -> Iterator[str]:
    """Lines without their ends, at most `size` bytes of them; a longer line than _LONGEST_LINE comes in pieces."""
    left, rest = size, b""
    while left and (chunk := file.read(min(CHUNK, left))):
        left -= len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
        if len(rest) > _LONGEST_LINE:
            yield rest.decode(errors="replace")
            rest = b""
    if rest:
        yield rest.decode(errors="replace")
