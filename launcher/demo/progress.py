"""A progress line: rewritten in place on a terminal, printed every 10 seconds elsewhere."""

import contextlib
import shutil
import time
from collections.abc import Callable
from typing import TextIO

from launcher.console import plain

__all__ = ["ProgressLine"]

_EVERY_S = 10.0


class ProgressLine:
    """`show` replaces the progress line; `say` prints text that stays."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._shown_at: float | None = None

    def show(self, text: str) -> None:
        if self._is_terminal:
            self._write(f"\r{plain(text)[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        elif self._shown_at is None or self._clock() - self._shown_at >= _EVERY_S:
            self._shown_at = self._clock()
            self._write(f"{plain(text)}\n")

    def say(self, text: str = "") -> None:
        clear = "\r\x1b[K" if self._is_terminal else ""
        self._write(clear + "".join(f"{plain(line)}\n" for line in text.split("\n")))

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the reader is gone: finish the demo all the same
            self._stream.write(text)
            self._stream.flush()
