"""What a trainer printed: the end of it, the lines that hold a text, or all of it. Memory is bounded in each."""

import os
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from services.attempt_paths import attempt_folder, job_dir
from services.domain.contract import LOG_FILE
from services.domain.diagnosis.case import Case
from services.domain.diagnosis.diagnose import diagnose
from services.domain.diagnosis.log.noise import noise_in
from services.errors import NotFound
from services.jobs import queries
from services.logs import search
from services.logs.line_index import index_of
from services.logs.search import Match
from services.safe_files import CHUNK, open_below
from services.settings import Settings
from services.store.engine import Store
from services.users.principal import Principal

__all__ = [
    "Excerpt",
    "Matches",
    "Page",
    "Trouble",
    "find_lines",
    "find_trouble",
    "open_log",
    "read_lines",
    "search_log",
    "tail_log",
]

_MOST_TAIL = 8 * 2**20  # bytes of an answer, however long the lines are
_MOST_NOISE = 256 * 2**10  # bytes, from the beginning: some milliseconds
_MOST_SEARCHED = 512 * 2**20  # bytes, from the end: a second or so


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
        return number, open_below(job_dir(settings, job_id), f"{attempt_folder(number)}/{LOG_FILE}")
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
        found = search.search_back(file, index_of(file), size, text, None, lines, _MOST_SEARCHED)
    shown = "".join(f"{match.text}\n" for match in found.matches)
    return Excerpt(number, shown, not found.is_complete and len(found.matches) < lines)


@dataclass(frozen=True)
class Page:
    """Lines of a log from line `first` on; `is_whole`: the last of them is written to its end."""

    attempt: int
    bytes: int
    total_lines: int
    first: int
    lines: list[str]
    is_whole: bool
    noise: list[tuple[int, int]] = field(default_factory=list)


def read_lines(
    store: Store,
    settings: Settings,
    principal: Principal,
    job_id: int,
    attempt: int | None,
    first: int | None,
    count: int,
    *,
    noise: bool = False,
) -> Page:
    """`count` lines from line `first` on, or the last ones (None). Fewer, where they are very long.

    `noise`: with the blocks of messages that TensorFlow prints at every start, in the first part of the log.
    """
    number, file = open_log(store, settings, principal, job_id, attempt)
    if file is None:
        return Page(number, 0, 0, first or 1, [], True)
    with file:
        index, size = index_of(file), file.seek(0, os.SEEK_END)
        total = index.total(file, size)
        begin = max(1, total - count + 1) if first is None else first
        start = index.start_of(file, begin, size)
        end = min(index.start_of(file, begin + count, size), start + _MOST_TAIL)
        data = os.pread(file.fileno(), end - start, start)
        noisy = noise_in(os.pread(file.fileno(), _MOST_NOISE, 0).split(b"\n")) if noise else []
    lines = data.split(b"\n")
    is_whole = lines[-1] == b""
    shown = [line[: search.LONGEST_SHOWN].decode(errors="replace") for line in (lines[:-1] if is_whole else lines)]
    return Page(number, size, total, begin, shown, is_whole, noisy)


@dataclass(frozen=True)
class Matches:
    attempt: int
    matches: list[Match]
    is_complete: bool  # there are no more that way


def find_lines(
    store: Store,
    settings: Settings,
    principal: Principal,
    job_id: int,
    attempt: int | None,
    text: str,
    after: int | None,
    before: int | None,
    limit: int,
) -> Matches:
    """Lines that hold `text` in any case: the first behind `after`, or else the last before `before` (or the end)."""
    number, file = open_log(store, settings, principal, job_id, attempt)
    if file is None:
        return Matches(number, [], True)
    with file:
        index, size = index_of(file), file.seek(0, os.SEEK_END)
        if after is not None:
            found = search.search_on(file, index, size, text, after, limit, _MOST_SEARCHED)
        else:
            found = search.search_back(file, index, size, text, before, limit, _MOST_SEARCHED)
    return Matches(number, found.matches, found.is_complete)


@dataclass(frozen=True)
class Trouble:
    """Why an attempt ended, with the lines of its log that tell."""

    attempt: int
    diagnosis: str | None
    message: str | None
    lines: list[dict[str, Any]]  # {"line", "text"}


def find_trouble(store: Store, settings: Settings, principal: Principal, job_id: int, attempt: int | None) -> Trouble:
    """As its end was read; from the log itself where that was not kept."""
    with store.reading() as session:
        ended = queries.visible_attempt(session, principal, job_id, attempt)
    kept = None if ended.finding is None else ended.finding["evidence"]
    if kept is None and ended.ended_at is not None and ended.exit_status != 0:
        _, file = open_log(store, settings, principal, job_id, ended.number)
        if file is not None:
            with file:
                kept = _evidence(file, ended.exit_status)
    return Trouble(ended.number, ended.diagnosis, ended.message, kept or [])


def _evidence(file: BinaryIO, exit_status: int | None) -> list[dict[str, Any]]:
    """Of a log that is very long, what is at its end."""
    size = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, size - _MOST_SEARCHED))
    before = index_of(file).newlines_before(file, start, size) if start else 0
    finding = diagnose(Case(exit_status, iter(lambda: file.read(CHUNK), b"")))
    return [{**line, "line": line["line"] + before} for line in finding.to_dict()["evidence"]]
