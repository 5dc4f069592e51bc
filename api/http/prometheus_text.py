"""Write metric families in Prometheus' text format (0.0.4)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["MEDIA_TYPE", "Family", "Histogram", "histogram", "write"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
Labels = Mapping[str, str]


@dataclass(frozen=True)
class Family:
    """`samples`: suffix of the name (only for a histogram's parts), labels, value."""

    name: str
    kind: str  # counter, gauge or histogram
    help: str
    samples: list[tuple[str, Labels, float]]

    @classmethod
    def of(cls, name: str, kind: str, help: str, values: Iterable[tuple[Labels, float | None]]) -> "Family":
        """Values that are None are left out."""
        return cls(name, kind, help, [("", labels, value) for labels, value in values if value is not None])


class Histogram:
    """Counts of values by upper bound."""

    def __init__(self, bounds: Iterable[float]) -> None:
        self._bounds = (*bounds, math.inf)
        self._counts = [0] * len(self._bounds)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._sum += value
        self._counts[next(index for index, bound in enumerate(self._bounds) if value <= bound)] += 1

    def samples(self, labels: Labels) -> list[tuple[str, Labels, float]]:
        found: list[tuple[str, Labels, float]] = []
        below = 0
        for bound, count in zip(self._bounds, self._counts, strict=True):
            below += count
            found.append(("_bucket", {**labels, "le": _number(bound)}, below))
        return [*found, ("_sum", labels, self._sum), ("_count", labels, below)]


def histogram(name: str, help: str, series: Iterable[tuple[Labels, Histogram]]) -> Family:
    return Family(name, "histogram", help, [sample for labels, one in series for sample in one.samples(labels)])


def write(families: Iterable[Family]) -> str:
    lines = []
    for family in families:
        lines += [
            f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}",
            f"# TYPE {family.name} {family.kind}",
            *(f"{family.name}{suffix}{_labels(labels)} {_number(value)}" for suffix, labels, value in family.samples),
        ]
    return "\n".join([*lines, ""])


def _labels(labels: Labels) -> str:
    written = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{written}}}" if written else ""


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
