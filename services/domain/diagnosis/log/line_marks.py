"""The marks of a log line, by its shape: lower case, without digits and colours.

Lines that differ only in numbers have the same shape, so a log of gigabytes has few shapes, and each is judged once.
"""

import re
from collections.abc import Collection, Iterator

from services.domain.diagnosis.log.known_messages import OVERRULED, SPELLINGS

__all__ = ["LONGEST", "Judge", "marks_of", "shape_of"]

_TABLE = bytes.maketrans(bytes(range(65, 91)) + b"\r", bytes(range(97, 123)) + b"\n")
_LEFT_OUT = b"0123456789;?\0"  # \0: UTF-16; what is left of a colour code is nearly always ESC [ m
_ADDRESS = re.compile(rb" (?:0x)?[0-9a-f]{6,16} of size ")  # dumps list up to a hundred thousand chunks
_COLOUR = re.compile(rb"\x1b(?:\[[ -/]*[@-~]|\][^\x07\n]*\x07|[@-Z\\-_])")
LONGEST = 2048  # bytes of a shape that are judged at once; longer ones are not remembered
_OVERLAP = 256
_FEW = 30
_MOSTLY_NEW = 0.5  # share of new shapes above which remembering them does not pay
_MOST_REMEMBERED = 8 * 2**20  # bytes of shapes, and as much of tokens


def shape_of(text: bytes) -> bytes:
    """The shape of one line or of many; a carriage return ends a line too."""
    if b" of size " in text:
        text = _ADDRESS.sub(b" of size ", text)
    shape = text.translate(_TABLE, _LEFT_OUT)
    if b"\x1b" in shape:
        shape = _COLOUR.sub(b"", shape.replace(b"\x1b[m", b""))
    return shape


def marks_of(shape: bytes) -> int:
    """The marks of a line of this shape."""
    found = 0
    for mark, words, pattern in _RULES:
        if not found & mark:
            for word in words:
                if word in shape:
                    if pattern.search(shape):
                        found |= mark
                    break
    if found:
        for mark, without in OVERRULED:
            if found & mark:
                found &= ~without
    return found


class Judge:
    """`marks_of` for many lines at once, with a bounded cache."""

    def __init__(self) -> None:
        self._plain: set[bytes] = set()  # shapes without a mark
        self.marked: dict[bytes, int] = {}  # shapes of at most LONGEST bytes
        self._size = 0
        self._tokens = _Tokens()

    def marks(self, shape: bytes) -> int:
        if shape in self._plain:
            return 0
        known = self.marked.get(shape)
        return self._learn([shape]) if known is None else known

    def marks_of_all(self, shapes: list[bytes]) -> int:
        """The union of the marks of all these lines."""
        different = set(shapes).difference(self._plain)
        new = different.difference(self.marked)
        found = self._learn(new, remember=len(new) < _MOSTLY_NEW * len(shapes)) if new else 0
        for shape in different.intersection(self.marked):
            found |= self.marked[shape]
        return found

    def _learn(self, new: Collection[bytes], remember: bool = True) -> int:
        """Judge new shapes. Those with a mark are always remembered, the others only with `remember`."""
        size = sum(map(len, new)) if remember else 0
        if self._size + size > _MOST_REMEMBERED:
            self._plain.clear()
            self.marked.clear()
            self._size = 0
        self._size += size
        found = 0
        suspects = self._tokens.suspects(new)
        for shape in suspects:
            marks = marks_of(shape) if len(shape) <= LONGEST else self._of_long(shape)
            found |= marks
            if marks and len(shape) <= LONGEST:
                self.marked[shape] = marks
        if remember:
            self._plain.update(shape for shape in new if shape not in self.marked and len(shape) <= LONGEST)
        return found

    def _of_long(self, shape: bytes) -> int:
        found = 0
        for start in range(0, len(shape), LONGEST - _OVERLAP):
            found |= self.marks(shape[start : start + LONGEST])
        return found


class _Tokens:
    """Finds lines that cannot have a mark by their words: a text repeats words even where it repeats no line."""

    def __init__(self) -> None:
        self._plain: set[bytes] = set()
        self._telling: set[bytes] = set()
        self._size = 0

    def suspects(self, shapes: Collection[bytes]) -> list[bytes]:
        text = b"\n".join(shapes)
        tokens = set(text.split())
        new = tokens - self._plain - self._telling
        if new:
            self._learn(new)
        telling = tokens & self._telling
        if not telling:
            return []
        if len(telling) > _FEW:
            return [shape for shape in shapes if not telling.isdisjoint(shape.split())]
        return list({shape for token in telling for shape in _lines_with(token, text)})

    def _learn(self, new: set[bytes]) -> None:
        text = b"\n".join(new)
        if self._size + len(text) > _MOST_REMEMBERED:
            self._plain.clear()
            self._telling.clear()
            self._size = 0
        self._size += len(text)
        keys = [key for key in _KEYS if key in text]
        telling = {token for token in new if any(key in token for key in keys)} if keys else set()
        self._telling |= telling
        self._plain |= new - telling


_RULES = [
    (mark, tuple(word.encode() for word in words.split("|")), re.compile(pattern.encode(), re.M))
    for mark, spelled in SPELLINGS.items()
    for words, pattern in spelled
]


def _lines_with(token: bytes, text: bytes) -> Iterator[bytes]:
    at = text.find(token)
    while at >= 0:
        start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
        end = len(text) if end < 0 else end
        yield text[start:end]
        at = text.find(token, end)


def _keys() -> list[bytes]:
    """The longest token of each word, without those that contain another key."""
    keys = {max(word.split(), key=len) for _, words, _ in _RULES for word in words}
    return sorted(key for key in keys if not any(other != key and other in key for other in keys))


_KEYS = _keys()
