"""The samples of the device's memory that a trainer took between its steps, as its events tell them."""

import json
from collections.abc import Sequence
from pathlib import Path

from services.domain.contract import EVENTS_FILE, EventKind
from services.domain.growth import Sample

__all__ = ["read_samples"]

_MOST = 2000  # samples; of more, every second one is dropped, again and again


def read_samples(attempt_dir: Path) -> Sequence[Sample]:
    """In the order in which they were taken. Lines that cannot be read, and steps without a count, are passed over."""
    kept: list[Sample] = []
    every, seen = 1, 0
    try:
        with (attempt_dir / EVENTS_FILE).open("rb") as events:
            for line in events:
                sample = _sample(line)
                if sample is None:
                    continue
                if seen % every == 0:
                    kept.append(sample)
                seen += 1
                if len(kept) >= _MOST:
                    del kept[1::2]
                    every *= 2
    except OSError:
        pass
    return kept


def _sample(line: bytes) -> Sample | None:
    if b'"step"' not in line:
        return None
    try:
        event = json.loads(line)
        if event["kind"] != EventKind.STEP or event["device"]["current"] is None:
            return None
        peak, time = event["device"].get("peak"), event.get("time")
        return Sample(
            int(event["step"]),
            int(event["device"]["current"]),
            None if peak is None else int(peak),
            None if time is None else float(time),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
