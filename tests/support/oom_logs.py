"""The logs in tests/support/logs, which real programs printed, each with its exit status and diagnosis."""

import json
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LABELLED", "LOGS", "Labelled"]

LOGS = Path(__file__).parent / "logs"


@dataclass(frozen=True)
class Labelled:
    file: str
    exit: int
    diagnosis: str
    why: str

    @property
    def log(self) -> bytes:
        return (LOGS / self.file).read_bytes()


LABELLED = [Labelled(**json.loads(line)) for line in (LOGS / "labels.jsonl").read_text().splitlines()]
