"""Read a large JSON object member by member and its lists item by item, in bounded memory."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from services.domain.tfrecord import DatasetError

__all__ = ["members"]

_READ = 2**20  # characters
_MOST = 64 * 2**20  # characters of one item: a mask of a very large picture takes some megabytes
_SPACE = re.compile(r"[ \t\r\n]*")


def members(path: Path, shown: str) -> Iterator[tuple[str, Any]]:
    """Each member of the object in the file. A list gives a pair (name, item) for each item, so an empty one none.

    Numbers that are not finite and repeated names are refused. `shown`: the file in messages. Raises DatasetError.
    """
    with _Text(path, shown) as text:
        yield from _members(text)


def _members(text: "_Text") -> Iterator[tuple[str, Any]]:
    text.expect("{")
    seen: set[str] = set()
    if text.skip("}"):
        return
    while True:
        name = text.value()
        if not isinstance(name, str):
            raise text.refused("a name is not text")
        if name in seen:
            raise text.refused(f"it has {name!r} twice")
        seen.add(name)
        text.expect(":")
        if text.skip("["):
            yield from ((name, item) for item in text.items())
        else:
            yield name, text.value()
        if not text.skip(","):
            text.expect("}")
            return


class _Text:
    """The file's text from where reading has come to."""

    def __init__(self, path: Path, shown: str) -> None:
        self._file = path.open(encoding="utf-8-sig")
        self._shown = shown
        self._text = ""
        self._at = 0
        self._is_all = False
        self._decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_not_finite)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def refused(self, why: str) -> DatasetError:
        return DatasetError("dataset_refused", f"{self._shown}: is not the JSON that was expected: {why}")

    def _more(self) -> bool:
        try:
            read = self._file.read(max(_READ, len(self._text) - self._at))  # twice as much for an item that goes on
        except (UnicodeDecodeError, OSError) as error:
            raise self.refused(str(error)) from None
        self._text, self._at = self._text[self._at :] + read, 0
        self._is_all = not read
        return not self._is_all

    def _next(self) -> str:
        """The next character that is not white space; "" at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it always matches
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def skip(self, character: str) -> bool:
        found = self._next() == character
        self._at += found
        return found

    def expect(self, character: str) -> None:
        if not self.skip(character):
            raise self.refused(f"{character!r} is missing" + (f" before {self._next()!r}" if self._next() else ""))

    def value(self) -> Any:
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > _MOST or not self._more():
                    raise self.refused(error.msg) from None
                continue
            except (ValueError, RecursionError) as error:
                raise self.refused(str(error)) from None
            # A number at the end of what was read may go on.
            if end == len(self._text) and not self._is_all and self._more():
                continue
            self._at = end
            return value

    def items(self) -> Iterator[Any]:
        if self.skip("]"):
            return
        while True:
            yield self.value()
            if not self.skip(","):
                self.expect("]")
                return


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        name = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"an object has {name[:60]!r} twice")
    return found


def _not_finite(text: str) -> Any:
    raise ValueError(f"{text} is not a number")
