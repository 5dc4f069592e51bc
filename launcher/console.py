"""The common log of several processes: complete lines, each prefixed with the name of its process."""

import sys
from typing import TextIO

__all__ = ["Console", "LineBuffer", "plain"]

_WIDTH = 9  # of the longest name
_COLOURS = {"downshift": "1", "api": "36", "worker": "32", "redis": "33"}
_LONGEST_LINE = 64 * 1024


class Console:
    """Writes lines to a stream. A closed terminal or pipe is ignored: it must not stop the service."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._colour = self._stream.isatty()

    def say(self, text: str, name: str = "downshift") -> None:
        prefix = f"{name:<{_WIDTH}} |"
        if self._colour:
            prefix = f"\x1b[{_COLOURS.get(name, '35')}m{prefix}\x1b[0m"
        self.write("".join(f"{prefix} {plain(line)}".rstrip() + "\n" for line in text.splitlines() or [""]))

    def write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            pass


class LineBuffer:
    """Splits bytes into lines. A line that grows too long is cut, so that it does not fill the memory."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        return [_text(line) for line in lines]

    def flush(self) -> list[str]:
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")


def plain(text: str) -> str:
    """`text` with control characters escaped: logs quote user input, which could change the terminal."""
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)
