"""Where each field and each comment of a configuration's text stands.

protobuf's parser tells a line and a column but no field, and throws comments away. This scanner follows
braces and names only: it never fails, so it can also be asked about text that the parser has refused.
"""

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


@dataclass(frozen=True)
class Mark:
    """From here on the text is about `path`. `opens`: the field itself starts here; else a block has just closed."""

    line: int
    column: int
    path: str
    opens: bool = True


@dataclass
class Scan:
    marks: list[Mark] = field(default_factory=list)
    comments: dict[str, list[str]] = field(default_factory=dict)
    open_blocks: list[str] = field(default_factory=list)  # paths of the blocks never closed, outermost first

    def path_at(self, line: int, column: int) -> str:
        """The field that the text is about at that place; empty at the top level."""
        before = [mark for mark in self.marks if (mark.line, mark.column) <= (line, column)]
        return before[-1].path if before else ""


@dataclass
class _Block:
    path: str
    message: Any  # descriptor of the block's message; None where the schema does not know it
    seen: dict[str, int] = field(default_factory=dict)
    name: str = ""  # the field whose value comes next
    in_list: bool = False

    def enter(self, name: str) -> str:
        """Path of the next occurrence of field `name`."""
        self.name = name
        return self.next_item()

    def next_item(self) -> str:
        index = self.seen.get(self.name, -1) + 1
        self.seen[self.name] = index
        known = self.message.fields_by_name.get(self.name) if self.message else None
        suffix = f"[{index}]" if known is not None and known.is_repeated else ""
        return f"{self.path}.{self.name}{suffix}" if self.path else f"{self.name}{suffix}"

    def child(self, path: str) -> "_Block":
        known = self.message.fields_by_name.get(self.name) if self.message else None
        return _Block(path, known.message_type if known is not None else None)


class _Scanner:
    def __init__(self, root: Any) -> None:
        self.found = Scan()
        self.blocks = [_Block("", root)]
        self.path = ""  # of the field being read
        self.awaits_value = False
        self.pending: list[str] = []  # comments that wait for the field they speak of
        self.last = ("", 0)  # the newest finished or opened field and the line of its newest token

    def read(self, text: str) -> Scan:
        for kind, token, line, column in _tokens(text):
            if kind == "comment":
                self._comment(token, line)
                continue
            self._token(kind, token, line, column)
            if self.path:
                self.last = (self.path, line)
        if self.pending:
            self._attach("", self.pending)
        self.found.open_blocks = [block.path for block in self.blocks[1:]]
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
            self.path = block.next_item()
            self._mark(line, column)
        elif kind == "word" and not self.awaits_value:
            self.path = block.enter(token)
            self.awaits_value = True
            self._mark(line, column)
        elif kind in ("word", "string") and not block.in_list:
            self.awaits_value = False

    def _open(self, block: _Block) -> None:
        self.blocks.append(block.child(self.path))
        self.awaits_value = False

    def _close(self, line: int, column: int) -> None:
        if len(self.blocks) == 1:
            return
        closed = self.blocks.pop()
        if self.pending:  # a comment at the end of a block speaks of no field in it: keep it with the block
            self._attach(closed.path, self.pending)
        self.path = closed.path
        self.awaits_value = self.blocks[-1].in_list
        self.found.marks.append(Mark(line, column, self.blocks[-1].path, opens=False))

    def _mark(self, line: int, column: int) -> None:
        self.found.marks.append(Mark(line, column, self.path))
        if self.pending:
            self._attach(self.path, self.pending)

    def _comment(self, token: str, line: int) -> None:
        path, last_line = self.last
        if path and line == last_line:
            self._attach(path, [token.rstrip()])
        else:
            self.pending.append(token.rstrip())

    def _attach(self, path: str, lines: list[str]) -> None:
        self.found.comments.setdefault(path, []).extend(lines)
        if lines is self.pending:
            self.pending = []


def scan(text: str, root: Any) -> Scan:
    """Marks and comments of `text`, a message whose descriptor is `root`. Repeated fields carry their index."""
    return _Scanner(root).read(text)


def _tokens(text: str) -> Iterator[tuple[str, str, int, int]]:
    line, start = 1, 0
    position = 0
    for match in _TOKEN.finditer(text):
        newlines = text.count("\n", position, match.start())
        if newlines:
            line += newlines
            start = text.rfind("\n", position, match.start()) + 1
        position = match.start()
        yield match.lastgroup or "", match.group(), line, match.start() - start + 1
