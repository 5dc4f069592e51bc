"""Parse XML that we did not write: without entities, and only so deep."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from services.domain.tfrecord import DatasetError

__all__ = ["children", "parse", "root_name", "text_of"]

_MOST = 16 * 2**20  # bytes of a document that is read as one
_DEPTH = 50
_READ = 2**16


def parse(path: Path, shown: str) -> Element:
    """The whole document. `shown`: the file in messages. Raises DatasetError."""
    with path.open("rb") as file:
        if path.stat().st_size > _MOST:
            raise _refused(shown, f"it has more than {_MOST:,} bytes")
        [root] = _elements(file, shown, depth=0)
    return root


def children(path: Path, shown: str) -> Iterator[Element]:
    """The elements below the root, each dropped before the next is read. Raises DatasetError."""
    with path.open("rb") as file:
        yield from _elements(file, shown, depth=1)


def root_name(path: Path) -> str | None:
    """The name of the root element; None if the file is no XML."""
    found: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, _: found.append(name)
    try:
        with path.open("rb") as file:
            parser.Parse(file.read(_READ))
    except (expat.ExpatError, OSError, ValueError):
        pass  # whatever came before the fault counts
    return found[0] if found else None


def text_of(element: Element, name: str, default: str = "") -> str:
    return (element.findtext(name) or default).strip()


def _elements(file: BinaryIO, shown: str, depth: int) -> Iterator[Element]:
    """The elements at this depth, as they end."""
    reader = _Reader(depth)
    try:
        while data := file.read(_READ):
            reader.parser.Parse(data)
            yield from reader.take()
        reader.parser.Parse(b"", True)
    except (expat.ExpatError, ValueError, OSError) as error:
        raise _refused(shown, str(error)) from None
    yield from reader.take()


class _Reader:
    def __init__(self, depth: int) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.buffer_text = True
        self._wanted = depth
        self._depth = 0
        self._builder = TreeBuilder()
        self._ended: list[Element] = []

    def take(self) -> list[Element]:
        ended, self._ended = self._ended, []
        return ended

    def _doctype(self, *_: object) -> None:
        raise ValueError("it has a DOCTYPE; remove it, as it could define entities")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._depth >= _DEPTH:
            raise ValueError(f"its elements are nested more than {_DEPTH} deep")
        if self._depth >= self._wanted:
            self._builder.start(name, attributes)
        self._depth += 1

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._depth >= self._wanted:
            self._builder.end(name)
        if self._depth == self._wanted:
            self._ended.append(self._builder.close())
            self._builder = TreeBuilder()

    def _data(self, text: str) -> None:
        if self._depth > self._wanted:
            self._builder.data(text)


def _refused(shown: str, why: str) -> DatasetError:
    return DatasetError("dataset_refused", f"{shown}: cannot be read as XML: {why}")
