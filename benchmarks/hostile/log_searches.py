"""Searches of a log of the largest searched size, with the most expensive texts and lines."""

import tempfile

from benchmarks.hostile.registry import Trial, case
from services.logs import search
from services.logs.line_index import IndexedLog, LineIndex
from services.logs.read import _MOST_SEARCHED

LIMIT = 1000  # lines; the default of a search


def searching(line: bytes, text: str, back: bool) -> Trial:
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
    block = line * (2**20 // len(line))
    for _ in range(_MOST_SEARCHED // len(block)):
        file.write(block)
    file.flush()
    size = file.tell()

    def work() -> object:
        index = LineIndex()
        if back:
            return search.search_backward(IndexedLog(file, size, index), text, None, LIMIT, _MOST_SEARCHED)
        return search.search_forward(IndexedLog(file, size, index), text, 0, LIMIT, _MOST_SEARCHED)

    return Trial(size, work)


@case("log search", "a text that is nowhere")
def _() -> Trial:
    return searching(b"step 17 loss 0.5\n", "q", back=True)


@case("log search", "a text that is nowhere, forwards")
def _() -> Trial:
    return searching(b"step 17 loss 0.5\n", "q", back=False)


@case("log search", "a text that is nowhere and no ASCII")
def _() -> Trial:
    return searching(b"step 17 loss 0.5\n", "\u00df", back=True)


@case("log search", "a text that almost matches everywhere")
def _() -> Trial:
    return searching(b"a" * 200 + b"\n", "a" * 199 + "b", back=True)


@case("log search", "a letter that is in every line")
def _() -> Trial:
    return searching(b"a\n", "a", back=True)


@case("log search", "no ASCII, in every line")
def _() -> Trial:
    return searching("\u00df\n".encode(), "ss", back=True)


@case("log search", "no ASCII, in one line of each piece, which are short")
def _() -> Trial:
    return searching(b"\n" * 100_000 + "\u00e9\u00e8\n".encode(), "\u00e9\u00e8", back=False)
