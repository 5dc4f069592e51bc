"""Reduces a log of any size to its few lines with a mark, in bounded memory."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from services.domain.diagnosis.log.known_messages import Mark
from services.domain.diagnosis.log.line_marks import LONGEST, Judge, shape_of

__all__ = ["Line", "marked_lines"]

_BLOCK = 2**20
_MOST_ALIKE = 20  # lines of one shape in one block, besides the last
_OVERLAP = 512
_CHUNK = re.compile(rb" of size (\d{1,19})")
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")


class Line(NamedTuple):
    number: int  # from 1
    text: str
    marks: int


def marked_lines(chunks: Iterable[bytes]) -> Iterator[Line]:
    """The lines with a mark, in order. Of many equal ones, some; for a block of progress only, one without text."""
    judge, number, carried = Judge(), 1, b""
    for block in _blocks(chunks):
        data = carried + block
        end = data.rfind(b"\n") + 1 or len(data)
        carried = data[end:]
        yield from _marked(judge, data[:end], number)
        number += data.count(b"\n", 0, end)
    if carried:
        yield from _marked(judge, carried, number)


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of a fixed size, so that the result does not depend on the chunks."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _BLOCK:
            data = b"".join(held)
            for start in range(0, size - _BLOCK + 1, _BLOCK):
                yield data[start : start + _BLOCK]
            held = [data[size - size % _BLOCK :]]
            size = len(held[0])
    if size:
        yield b"".join(held)


def _marked(judge: Judge, data: bytes, number: int) -> Iterator[Line]:
    data = data.replace(b"\r\n", b"\n")
    shapes = shape_of(data).split(b"\n")
    present = judge.marks_of_all(shapes)
    if not present:
        return
    if present == Mark.PROGRESS and len(shapes) > _MOST_ALIKE:
        yield Line(number, "", Mark.PROGRESS)
        return
    pieces = [(number + offset, piece) for offset, line in enumerate(data.split(b"\n")) for piece in line.split(b"\r")]
    for at in _worth_telling(judge, shapes, pieces):
        line, raw = pieces[at]
        for start in range(0, max(1, len(raw)), LONGEST - _OVERLAP):
            piece = raw[start : start + LONGEST]
            marks = judge.marks(shape_of(piece))
            if marks:
                yield Line(line, _readable(piece), marks)


def _worth_telling(judge: Judge, shapes: list[bytes], pieces: list[tuple[int, bytes]]) -> list[int]:
    """The indices of the lines to report: of equal ones some and the last, of free chunks the largest."""
    places: dict[bytes, list[int]] = {}
    for at, shape in enumerate(shapes):
        if shape in judge.marked or len(shape) > LONGEST:
            places.setdefault(shape, []).append(at)
    return sorted(
        at
        for shape, found in places.items()
        for at in (
            {max(found, key=lambda at: _size_of_chunk(pieces[at][1]))}
            if b" of size" in shape
            else {*found[:_MOST_ALIKE], found[-1]}
        )
    )


def _size_of_chunk(raw: bytes) -> int:
    match = _CHUNK.search(raw)
    return int(match[1]) if match else 0


def _readable(raw: bytes) -> str:
    text = raw.decode("utf-8", errors="replace").replace("\0", "")
    return (_COLOUR.sub("", text) if "\x1b" in text else text).rstrip()
