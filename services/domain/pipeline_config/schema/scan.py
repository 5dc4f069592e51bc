"""The positions of fields and comments in a configuration's text.

protobuf's parser reports a line and a column but no field, and drops comments. This scanner follows braces and names
only. It never fails, so it also works on text that the parser refuses.
"""

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*"? | '(?:[^'\\\n]|\\.)*'?)
      | (?P<word>[\w.+-]+)
      | (?P<mark>[^\s])""",
    re.VERBOSE,
)
_OPEN, _CLOSE = "{<", "}>"


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A field and its block. A place costs the same at any depth; its path is joined on demand."""

    block: "Place | None" = None
    name: str = ""
    index: int | None = None  # of a repeated field

    @property
    def path(self) -> str:
        parts: list[str] = []
        place: Place | None = self
        while place is not None and place.name:
            parts.append(place.name if place.index is None else f"{place.name}[{place.index}]")
            place = place.block
        return ".".join(reversed(parts))


_TOP = Place()


@dataclass(frozen=True, slots=True)
class FieldMark:
    """The text from here on belongs to `place`. `opens`: the field starts here; else a block has just closed."""

    line: int
    column: int
    place: Place
    opens: bool = True

    @property
    def path(self) -> str:
        return self.place.path


@dataclass
class Scan:
    marks: list[FieldMark] = field(default_factory=list)
    notes: list[tuple[Place, list[str]]] = field(default_factory=list)
    open_blocks: list[Place] = field(default_factory=list)  # unclosed blocks, outermost first

    @property
    def comments(self) -> dict[str, list[str]]:
        """Comment lines by the path of their field."""
        found: dict[str, list[str]] = {}
        for place, lines in self.notes:
            found.setdefault(place.path, []).extend(lines)
        return found

    def path_at(self, line: int, column: int) -> str:
        """The path of the field at that position; "" at the top level."""
        at = bisect.bisect_right(self.marks, (line, column), key=lambda mark: (mark.line, mark.column))
        return self.marks[at - 1].path if at else ""


@dataclass
class _Block:
    place: Place
    message: Any  # descriptor of the block's message; None where it is not in the schema
    seen: dict[str, int] = field(default_factory=dict)
    name: str = ""  # the field being read
    in_list: bool = False

    def enter(self, name: str) -> Place:
        """The next occurrence of field `name`."""
        self.name = name
        return self.next_item()

    def next_item(self) -> Place:
        index = self.seen.get(self.name, -1) + 1
        self.seen[self.name] = index
        known = self.message.fields_by_name.get(self.name) if self.message else None
        return Place(self.place, self.name, index if known is not None and known.is_repeated else None)

    def child(self, place: Place) -> "_Block":
        known = self.message.fields_by_name.get(self.name) if self.message else None
        return _Block(place, known.message_type if known is not None else None)


class _Scanner:
    def __init__(self, root: Any) -> None:
        self.found = Scan()
        self.blocks = [_Block(_TOP, root)]
        self.place = _TOP  # of the field being read
        self.awaits_value = False
        self.pending: list[str] = []  # comments for the next field
        self.last = (_TOP, 0)  # the latest field, and the line of its last token

    def read(self, text: str) -> Scan:
        for kind, token, line, column in tokens(text):
            if kind == "comment":
                self._comment(token, line)
                continue
            self._token(kind, token, line, column)
            if self.place is not _TOP:
                self.last = (self.place, line)
        if self.pending:
            self._attach(_TOP, self.pending)
        self.found.open_blocks = [block.place for block in self.blocks[1:]]
        return self.found

    def _token(self, kind: str, token: str, line: int, column: int) -> None:
        block = self.blocks[-1]
        if kind == "mark" and token in _OPEN:
            self._open(block)
        elif kind == "mark" and token in _CLOSE:
            self._close(line, column)
        elif kind == "mark" and token == "[" and self.awaits_value:
            block.in_list = True
        elif kind == "mark" and token == "]":
            block.in_list = self.awaits_value = False
        elif kind == "mark" and token == "," and block.in_list:
            self.place = block.next_item()
            self._mark(line, column)
        elif kind == "word" and not self.awaits_value:
            self.place = block.enter(token)
            self.awaits_value = True
            self._mark(line, column)
        elif kind in ("word", "string") and not block.in_list:
            self.awaits_value = False

    def _open(self, block: _Block) -> None:
        self.blocks.append(block.child(self.place))
        self.awaits_value = False

    def _close(self, line: int, column: int) -> None:
        if len(self.blocks) == 1:
            return
        closed = self.blocks.pop()
        if self.pending:  # a comment at the end of a block belongs to the block
            self._attach(closed.place, self.pending)
        self.place = closed.place
        self.awaits_value = self.blocks[-1].in_list
        self.found.marks.append(FieldMark(line, column, self.blocks[-1].place, opens=False))

    def _mark(self, line: int, column: int) -> None:
        self.found.marks.append(FieldMark(line, column, self.place))
        if self.pending:
            self._attach(self.place, self.pending)

    def _comment(self, token: str, line: int) -> None:
        place, last_line = self.last
        if place is not _TOP and line == last_line:
            self._attach(place, [token.rstrip()])
        else:
            self.pending.append(token.rstrip())

    def _attach(self, place: Place, lines: list[str]) -> None:
        self.found.notes.append((place, lines))
        if lines is self.pending:
            self.pending = []


def scan(text: str, root: Any) -> Scan:
    """Marks and comments of `text`, a message with the descriptor `root`. Repeated fields have their index."""
    return _Scanner(root).read(text)


def tokens(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Kind, text, line and column of each comment, string, word and other character."""
    line, start = 1, 0
    position = 0
    for match in _TOKEN.finditer(text):
        newlines = text.count("\n", position, match.start())
        if newlines:
            line += newlines
            start = text.rfind("\n", position, match.start()) + 1
        position = match.start()
        yield match.lastgroup or "", match.group(), line, match.start() - start + 1
