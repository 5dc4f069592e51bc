"""Read a trainer's log: its end, lines by number, lines that contain a text. Memory is bounded in each case."""

import os
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Self

from services.attempt_paths import attempt_folder, job_dir
from services.domain.contract import LOG_FILE
from services.domain.diagnosis.case import Case
from services.domain.diagnosis.diagnose import diagnose
from services.domain.diagnosis.log.noise import noise_in
from services.errors import NotFound
from services.jobs import queries
from services.logs import search
from services.logs.line_index import IndexedLog, index_of
from services.logs.search import Match
from services.safe_files import CHUNK, open_below
from services.settings import Settings
from services.store.engine import Store
from services.users.principal import Principal

__all__ = [
    "AttemptLog",
    "Excerpt",
    "find_lines",
    "find_trouble",
    "open_log",
    "read_lines",
    "search_log",
    "tail_log",
]

_MOST_TAIL = 8 * 2**20  # bytes of a response, however long the lines are
_MOST_NOISE = 256 * 2**10  # bytes from the beginning; takes some milliseconds
_MOST_SEARCHED = 512 * 2**20  # bytes from the end; takes about a second


@dataclass(frozen=True)
class AttemptLog:
    """An attempt's open log, which a `with` block closes. `file`: None if nothing was printed yet."""

    attempt: int
    file: BinaryIO | None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


@dataclass(frozen=True)
class Excerpt:
    attempt: int
    text: str
    is_cut: bool  # there may be more before it that was not read


def open_log(store: Store, settings: Settings, principal: Principal, job_id: int, attempt: int | None) -> AttemptLog:
    """Open the log of an attempt (None: the newest one). Raises NotFound."""
    with store.reading() as session:
        number = queries.visible_attempt(session, principal, job_id, attempt).number
    try:
        return AttemptLog(number, open_below(job_dir(settings, job_id), f"{attempt_folder(number)}/{LOG_FILE}"))
    except NotFound:
        return AttemptLog(number, None)


def tail_log(log: AttemptLog, lines: int) -> Excerpt:
    """The last lines, read from the end of the file."""
    if log.file is None:
        return Excerpt(log.attempt, "", False)
    data, is_cut = _tail(log.file, lines)
    return Excerpt(log.attempt, data.decode(errors="replace"), is_cut)


def _tail(file: BinaryIO, lines: int) -> tuple[bytes, bool]:
    size = position = file.seek(0, os.SEEK_END)
    data = b""
    # One newline more than lines: only then is the first line known to be whole.
    while position and data.count(b"\n", 0, -1) < lines and size - position < _MOST_TAIL:
        step = min(CHUNK, position)
        position -= step
        file.seek(position)
        data = file.read(step) + data
    start = len(data) - 1
    for _ in range(lines):
        start = data.rfind(b"\n", 0, max(0, start))
    return data[start + 1 :][-_MOST_TAIL:], start < 0 < position


def search_log(log: AttemptLog, text: str, lines: int) -> Excerpt:
    """The last lines that contain `text`, ignoring case."""
    if log.file is None:
        return Excerpt(log.attempt, "", False)
    found = search.search_backward(IndexedLog.of(log.file), text, None, lines, _MOST_SEARCHED)
    shown = "".join(f"{match.text}\n" for match in found.matches)
    return Excerpt(log.attempt, shown, not found.is_complete and len(found.matches) < lines)


@dataclass(frozen=True)
class LogPage:
    """Lines of a log from line `first` on; `is_whole`: the last one ends with a newline."""

    attempt: int
    bytes: int
    total_lines: int
    first: int
    lines: list[str]
    is_whole: bool
    noise: list[tuple[int, int]] = field(default_factory=list)


def read_lines(log: AttemptLog, first: int | None, count: int, *, noise: bool = False) -> LogPage:
    """`count` lines from line `first` on, or the last ones (None). Fewer if they are very long.

    `noise`: also return the blocks of messages that TensorFlow prints at every start.
    """
    if log.file is None:
        return LogPage(log.attempt, 0, 0, first or 1, [], True)
    indexed = IndexedLog.of(log.file)
    total = indexed.total_lines()
    begin = max(1, total - count + 1) if first is None else first
    start = indexed.start_of(begin)
    end = min(indexed.start_of(begin + count), start + _MOST_TAIL)
    noisy = noise_in(indexed.read(0, _MOST_NOISE).split(b"\n")) if noise else []
    lines = indexed.read(start, end).split(b"\n")
    is_whole = lines[-1] == b""
    shown = [line[: search.LONGEST_SHOWN].decode(errors="replace") for line in (lines[:-1] if is_whole else lines)]
    return LogPage(log.attempt, indexed.size, total, begin, shown, is_whole, noisy)


@dataclass(frozen=True)
class Matches:
    attempt: int
    matches: list[Match]
    is_complete: bool  # there are no more in this direction


def find_lines(log: AttemptLog, text: str, after: int | None, before: int | None, limit: int) -> Matches:
    """Lines that contain `text`, ignoring case: the first after `after`, or else the last before `before` or the end
    of the log."""
    if log.file is None:
        return Matches(log.attempt, [], True)
    indexed = IndexedLog.of(log.file)
    if after is not None:
        found = search.search_forward(indexed, text, after, limit, _MOST_SEARCHED)
    else:
        found = search.search_backward(indexed, text, before, limit, _MOST_SEARCHED)
    return Matches(log.attempt, found.matches, found.is_complete)


@dataclass(frozen=True)
class Trouble:
    """Why an attempt ended, and the lines of its log that show it."""

    attempt: int
    diagnosis: str | None
    message: str | None
    lines: list[dict[str, Any]]  # {"line", "text"}


def find_trouble(store: Store, settings: Settings, principal: Principal, job_id: int, attempt: int | None) -> Trouble:
    """The stored diagnosis. If its log lines were not stored, they are read from the log again."""
    with store.reading() as session:
        ended = queries.visible_attempt(session, principal, job_id, attempt)
    lines = None if ended.finding is None else ended.finding["evidence"]
    if lines is None and ended.ended_at is not None and ended.exit_status != 0:
        with open_log(store, settings, principal, job_id, ended.number) as log:
            lines = _evidence(log.file, ended.exit_status) if log.file is not None else None
    return Trouble(ended.number, ended.diagnosis, ended.message, lines or [])


def _evidence(file: BinaryIO, exit_status: int | None) -> list[dict[str, Any]]:
    """The evidence lines; of a very long log, only its end is read."""
    size = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, size - _MOST_SEARCHED))
    before = index_of(file).newlines_before(file, start, size) if start else 0
    finding = diagnose(Case(exit_status, iter(lambda: file.read(CHUNK), b"")))
    return [{**line, "line": line["line"] + before} for line in finding.to_dict()["evidence"]]
