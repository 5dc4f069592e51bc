"""How this process writes its log: lines for people, or one JSON object a line for programs."""

import datetime
import json
import logging
from typing import Any

from services.settings import Settings

__all__ = ["begin_log"]


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if isinstance(record.args, dict):  # as the access log has them
            line |= record.args
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def begin_log(settings: Settings) -> None:
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(levelname).1s %(name)s: %(message)s")
    handler.setFormatter(_JsonLines() if settings.log_json else plain)
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells of every look at the schema's version
