"""The log of this process: plain lines for people, or one JSON object a line for programs."""

import datetime
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from services.settings import Settings

__all__ = ["DeduplicatingHandler", "configure_logging"]

_MAX_TEXTS = 1000


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if isinstance(record.args, dict):  # the access log passes its fields so
            line |= record.args
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


@dataclass
class _Repeats:
    began: float
    count: int = 0


class DeduplicatingHandler(logging.StreamHandler[Any]):
    """Write a repeated warning a few times, and then only a count: clients on the network must not be able to fill the
    disk with warnings."""

    WINDOW_S = 60.0
    IN_FULL = 5

    def __init__(self, stream: Any = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._seen: dict[tuple[str, int, str], _Repeats] = {}  # by logger, level and text; oldest first

    def emit(self, record: logging.LogRecord) -> None:  # called with the handler's lock held
        try:
            now = self._clock()
            self._report_repeats(now)
            is_written = record.levelno < logging.WARNING or bool(record.exc_info) or self._is_new(record, now)
        except Exception:  # such as arguments that do not fit the text: logging must not raise
            self.handleError(record)
            return
        if is_written:
            super().emit(record)

    def close(self) -> None:
        """Write the counts that are still held back."""
        self._report_repeats(float("inf"))
        super().close()

    def _is_new(self, record: logging.LogRecord, now: float) -> bool:
        seen = self._seen.setdefault((record.name, record.levelno, record.getMessage()), _Repeats(now))
        seen.count += 1
        return seen.count <= self.IN_FULL

    def _report_repeats(self, now: float) -> None:
        """Write how often each text was left out, once its window is over."""
        while self._seen:
            (name, level, text), seen = next(iter(self._seen.items()))
            if now - seen.began < self.WINDOW_S and len(self._seen) <= _MAX_TEXTS:
                return
            del self._seen[name, level, text]
            if seen.count > self.IN_FULL:
                first_line, more = text.partition("\n")[0], seen.count - self.IN_FULL
                summary = f"{first_line} ({more} times more within {self.WINDOW_S:g} s)"
                super().emit(logging.LogRecord(name, level, "", 0, summary, (), None))


def configure_logging(settings: Settings) -> None:
    handler = DeduplicatingHandler()
    plain = logging.Formatter("%(levelname).1s %(name)s: %(message)s")
    handler.setFormatter(_JsonLines() if settings.log_json else plain)
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it logs every read of the schema's version
