"""Lines by their numbers and by what they hold, against the plain way of finding them."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.logs import line_index
from services.logs import search as log_search
from services.logs.line_index import LineIndex, index_of
from services.logs.search import Match

ALL = 2**40


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few lines are many pieces."""
    monkeypatch.setattr(line_index, "_STRIDE", 16)
    monkeypatch.setattr(log_search, "_PIECE", 24)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[BinaryIO]:
    with (tmp_path / "log").open("w+b", buffering=0) as file:
        yield file


def fill(file: BinaryIO, data: bytes) -> int:
    file.seek(0)
    file.truncate()
    file.write(data)
    return len(data)


# Up to a piece long: of a longer line, parts are looked at by themselves.
LINES = st.lists(st.sampled_from([b"", b"x", b"Error", b"a ERROR here", b"\xff\xfe", "Größe".encode(), b"y" * 20]))


@given(LINES, st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_is_where_it_is(log: BinaryIO, lines: list[bytes], ends: bool) -> None:
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
def test_what_is_found_is_what_is_there(log: BinaryIO, lines: list[bytes], text: str, at: int, limit: int) -> None:
    size = fill(log, b"\n".join(lines))
    decoded = [line.decode(errors="replace") for line in lines]
    every = [Match(n, line) for n, line in enumerate(decoded, 1) if text.casefold() in line.casefold()]
    index = LineIndex()

    on = log_search.search_on(log, index, size, text, at, limit, ALL)
    assert on.matches == [match for match in every if match.line > at][:limit]
    assert not on.is_complete or on.matches == [match for match in every if match.line > at]
    back = log_search.search_back(log, index, size, text, max(1, at), limit, ALL)
    assert back.matches == [match for match in every if match.line < max(1, at)][-limit:]
    assert log_search.search_back(log, index, size, text, None, limit, ALL).matches == every[-limit:]
    assert log_search.search_back(log, index, size, text, None, 1000, ALL) == log_search.Found(every, True)


def test_an_index_grows_with_its_log_and_starts_anew_with_another(log: BinaryIO) -> None:
    index = LineIndex()
    size = fill(log, b"line\n" * 20)
    assert index.total(log, size) == 20
    size = log.write(b"more\n" * 7) + size
    assert index.total(log, size) == 27
    size = fill(log, b"short\n" * 3)
    assert index.total(log, size) == 3
    assert index_of(log) is index_of(log)


def test_a_search_that_is_not_let_to_the_end_says_so(log: BinaryIO) -> None:
    size = fill(log, b"error\n" + b"quiet\n" * 50 + b"error\n")
    index = LineIndex()
    assert log_search.search_back(log, index, size, "error", 52, 5, 60) == log_search.Found([], False)
    assert log_search.search_on(log, index, size, "error", 1, 5, 60) == log_search.Found([], False)


def test_a_line_without_an_end_is_looked_through_too(log: BinaryIO) -> None:
    size = fill(log, b"one\n" + b"." * 200 + b" Error " + b"." * 200 + b"\nthree\n")
    index = LineIndex()
    for found in (
        log_search.search_back(log, index, size, "three", None, 5, ALL),
        log_search.search_on(log, index, size, "three", 0, 5, ALL),
    ):
        assert found == log_search.Found([Match(3, "three")], True)


@pytest.mark.parametrize("back", [False, True])
def test_a_search_that_takes_too_long_ends_and_says_so(
    log: BinaryIO, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = fill(log, b"nothing\n" * 100 + b"wanted\n" + b"nothing\n" * 100)
    searched = (log, LineIndex(), size, "wanted")

    def search() -> log_search.Found:
        if back:
            return log_search.search_back(*searched, None, 10, ALL)
        return log_search.search_on(*searched, 0, 10, ALL)

    assert search() == log_search.Found([Match(101, "wanted")], True)
    monkeypatch.setattr(log_search, "_MOST_CPU_S", -1)
    assert search() == log_search.Found([], False)
