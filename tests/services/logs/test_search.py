"""Line numbers and searches of a log, compared with a plain loop over its lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.logs import line_index
from services.logs import search as log_search
from services.logs.line_index import IndexedLog, LineIndex, index_of
from services.logs.search import Match

ALL = 2**40


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few lines span many chunks."""
    monkeypatch.setattr(line_index, "_STRIDE", 16)
    monkeypatch.setattr(log_search, "_CHUNK", 24)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[BinaryIO]:
    with (tmp_path / "log").open("w+b", buffering=0) as file:
        yield file


def fill(file: BinaryIO, data: bytes) -> int:
    file.seek(0)
    file.truncate()
    file.write(data)
    return len(data)


# At most as long as a chunk: longer lines are searched in parts.
LINES = st.lists(st.sampled_from([b"", b"x", b"Error", b"a ERROR here", b"\xff\xfe", "Größe".encode(), b"y" * 20]))


@given(LINES, st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_line_numbers_and_offsets_agree_with_split(log: BinaryIO, lines: list[bytes], ends: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    size = fill(log, data)
    index = LineIndex()
    expected = data.split(b"\n")[: -1 if data.endswith(b"\n") or not data else None]
    assert index.total(log, size) == len(expected)
    start = 0
    for number, line in enumerate(expected, 1):
        assert index.start_of(log, number, size) == start
        assert index.line_at(log, start, size) == number
        start += len(line) + 1
    assert index.start_of(log, len(expected) + 1, size) == size
    assert index.start_of(log, len(expected) + 100, size) == size


@given(LINES, st.sampled_from(["error", "ERROR HERE", "größE", "x", "nothing"]), st.integers(0, 12), st.integers(1, 4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_search_finds_the_same_lines_as_a_plain_loop(
    log: BinaryIO, lines: list[bytes], text: str, at: int, limit: int
) -> None:
    size = fill(log, b"\n".join(lines))
    decoded = [line.decode(errors="replace") for line in lines]
    every = [Match(n, line) for n, line in enumerate(decoded, 1) if text.casefold() in line.casefold()]
    index = LineIndex()

    forward = log_search.search_forward(IndexedLog(log, size, index), text, at, limit, ALL)
    assert forward.matches == [match for match in every if match.line > at][:limit]
    assert not forward.is_complete or forward.matches == [match for match in every if match.line > at]
    backward = log_search.search_backward(IndexedLog(log, size, index), text, max(1, at), limit, ALL)
    assert backward.matches == [match for match in every if match.line < max(1, at)][-limit:]
    assert log_search.search_backward(IndexedLog(log, size, index), text, None, limit, ALL).matches == every[-limit:]
    assert log_search.search_backward(IndexedLog(log, size, index), text, None, 1000, ALL) == log_search.Found(
        every, True
    )


def test_an_index_grows_with_its_log_and_restarts_with_a_shorter_one(log: BinaryIO) -> None:
    index = LineIndex()
    size = fill(log, b"line\n" * 20)
    assert index.total(log, size) == 20
    size = log.write(b"more\n" * 7) + size
    assert index.total(log, size) == 27
    size = fill(log, b"short\n" * 3)
    assert index.total(log, size) == 3
    assert index_of(log) is index_of(log)


def test_a_search_that_reads_too_few_bytes_is_not_complete(log: BinaryIO) -> None:
    size = fill(log, b"error\n" + b"quiet\n" * 50 + b"error\n")
    index = LineIndex()
    assert log_search.search_backward(IndexedLog(log, size, index), "error", 52, 5, 60) == log_search.Found([], False)
    assert log_search.search_forward(IndexedLog(log, size, index), "error", 1, 5, 60) == log_search.Found([], False)


def test_a_line_longer_than_a_chunk_is_searched_too(log: BinaryIO) -> None:
    size = fill(log, b"one\n" + b"." * 200 + b" Error " + b"." * 200 + b"\nthree\n")
    index = LineIndex()
    for found in (
        log_search.search_backward(IndexedLog(log, size, index), "three", None, 5, ALL),
        log_search.search_forward(IndexedLog(log, size, index), "three", 0, 5, ALL),
    ):
        assert found == log_search.Found([Match(3, "three")], True)


@pytest.mark.parametrize("back", [False, True])
def test_a_search_over_its_time_stops_and_is_not_complete(
    log: BinaryIO, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = fill(log, b"nothing\n" * 100 + b"wanted\n" + b"nothing\n" * 100)
    searched = (IndexedLog(log, size, LineIndex()), "wanted")

    def search() -> log_search.Found:
        if back:
            return log_search.search_backward(*searched, None, 10, ALL)
        return log_search.search_forward(*searched, 0, 10, ALL)

    assert search() == log_search.Found([Match(101, "wanted")], True)
    monkeypatch.setattr(log_search, "_MOST_CPU_S", -1)
    assert search() == log_search.Found([], False)
