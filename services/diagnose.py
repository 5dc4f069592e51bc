"""`python -m services.diagnose LOGFILE --exit-code N` prints why a training ended, as JSON with the log lines."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

from services.domain.diagnosis.case import Case, Finding
from services.domain.diagnosis.diagnose import diagnose

__all__ = ["main"]

_CHUNK = 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m services.diagnose", description="Tell why a training ended.")
    parser.add_argument("log", metavar="LOGFILE", help="the training's output; - reads standard input")
    parser.add_argument(
        "--exit-code",
        type=int,
        metavar="N",
        help="the exit code as a shell shows it (137) or as Python does (-9); leave out if unknown",
    )
    options = parser.parse_args(arguments)
    try:
        if options.log == "-":
            found = diagnose(Case(options.exit_code, _chunks(sys.stdin.buffer)))
        else:
            with Path(options.log).open("rb", buffering=0) as file:
                found = diagnose(Case(options.exit_code, _chunks(file)))
    except OSError as error:
        print(f"{options.log} cannot be read: {error.strerror or error}", file=sys.stderr)
        return 2
    print(json.dumps(_report(found, options.log, options.exit_code), indent=2, ensure_ascii=False))
    return 0


def _report(found: Finding, file: str, exit_code: int | None) -> dict[str, Any]:
    """The diagnosis is `none` where nothing failed."""
    return {
        "file": file,
        "exit": exit_code,
        "diagnosis": str(found.diagnosis or "none"),
        "why": found.why,
        "evidence": [dataclasses.asdict(line) for line in found.evidence],
        "numbers": found.figures(),
    }


def _chunks(file: BinaryIO | FileIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


if __name__ == "__main__":
    sys.exit(main())
