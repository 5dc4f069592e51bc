"""`python -m services.diagnose LOGFILE --exit-code N`: why a training ended, as JSON, with the lines that tell."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from services.domain.diagnosis.case import Case, Finding
from services.domain.diagnosis.diagnose import diagnose

__all__ = ["main", "pieces", "report"]

_PIECE = 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m services.diagnose", description="Say why a training ended.")
    parser.add_argument("log", metavar="LOGFILE", help="what the training printed; - reads standard input")
    parser.add_argument(
        "--exit-code",
        type=int,
        metavar="N",
        help="as a shell gives it (137) or as Python does (-9); not known: leave out",
    )
    asked = parser.parse_args(arguments)
    try:
        if asked.log == "-":
            found = diagnose(Case(asked.exit_code, pieces(sys.stdin.buffer)))
        else:
            with Path(asked.log).open("rb", buffering=0) as file:
                found = diagnose(Case(asked.exit_code, pieces(file)))
    except OSError as error:
        print(f"{asked.log} cannot be read: {error.strerror or error}", file=sys.stderr)
        return 2
    print(json.dumps(report(found, asked.log, asked.exit_code), indent=2, ensure_ascii=False))
    return 0


def report(found: Finding, file: str, exit_code: int | None) -> dict[str, Any]:
    """`none` where nothing failed."""
    return {
        "file": file,
        "exit": exit_code,
        "diagnosis": str(found.diagnosis or "none"),
        "why": found.why,
        "evidence": [dataclasses.asdict(line) for line in found.evidence],
        "numbers": found.figures(),
    }


def pieces(file: "BinaryIO | Any") -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


if __name__ == "__main__":
    sys.exit(main())
