"""What checks find in a dataset, as data: errors, which refuse it, and warnings, which are shown."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Finding", "Findings", "Observation", "Place", "Severity"]

_MOST_PLACES = 10  # of one finding: more of the same tell nothing
_MOST_FINDINGS = 200
_LONGEST = 500  # characters of a text in the manifest


class Severity(enum.StrEnum):
    ERROR = "error"  # it cannot be trained on
    WARNING = "warning"  # it can, but may not be as intended


@dataclass(frozen=True)
class Observation:
    """One thing that was noticed in one picture or record, or in the whole dataset.

    `field`: of the record or annotation. `item`: the object, as people find it. Warnings of a code have few messages:
    they never contain values.
    """

    code: str
    severity: Severity
    message: str
    field: str = ""
    item: str = ""

    @property
    def text(self) -> str:
        # In a TFRecord the field comes first: it is a list with a value for each object.
        named = (self.field, self.item) if "/" in self.field else (self.item, self.field)
        return ": ".join(part for part in (*named, self.message) if part)


@dataclass(frozen=True)
class Place:
    """Where something was noticed. `record`: the record of the file, or the picture that the file describes."""

    file: str
    record: str
    observed: Observation

    @property
    def where(self) -> str:
        return ": ".join(part for part in (self.file, self.record) if part)

    @property
    def line(self) -> str:
        return ": ".join(part for part in (self.where, self.observed.text) if part)


@dataclass
class Finding:
    """Everything of one code. `places`: the first of `count`; empty for one about the whole dataset."""

    code: str
    severity: Severity
    message: str
    count: int = 0
    places: list[Place] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        if not self.places:
            return self.message
        return f"{self.message} ({self.count} times; first: {self.places[0].where})"

    def as_json(self) -> dict[str, Any]:
        """For the manifest. Folders of this machine are left out: whoever reads it may be elsewhere."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message[:_LONGEST],
            "count": self.count,
            "places": [
                {
                    "file": place.file.rpartition("/")[2] if place.file.startswith("/") else place.file,
                    "record": place.record,
                    "item": place.observed.item,
                    "field": place.observed.field,
                    "message": place.observed.message[:_LONGEST],
                }
                for place in self.places
            ],
        }


class Findings:
    """Collects observations: the same code many times is one finding. The memory it needs is bounded."""

    def __init__(self) -> None:
        self.errors = 0
        self._found: dict[tuple[str, str], Finding] = {}

    def add(self, observed: Observation, file: str = "", record: str = "") -> None:
        is_error = observed.severity is Severity.ERROR
        self.errors += is_error
        # Messages of errors contain values, so these are told apart by their code only.
        key = (observed.code, "" if is_error else observed.message)
        if key not in self._found and len(self._found) >= _MOST_FINDINGS:
            return
        finding = self._found.setdefault(key, Finding(observed.code, observed.severity, observed.message))
        finding.count += 1
        if (file or record) and len(finding.places) < _MOST_PLACES:
            finding.places.append(Place(file, record, observed))

    def lead_with(self, observed: Observation) -> None:
        """Put the cause of other findings before them."""
        self.add(observed)
        key = (observed.code, "")
        self._found = {key: self._found[key], **self._found}

    def of(self, severity: Severity) -> list[Finding]:
        """In the order in which they were found first."""
        return [finding for finding in self._found.values() if finding.severity is severity]

    def error_lines(self) -> list[str]:
        """A line for each place of each error, and how many more there are."""
        return [line for finding in self.of(Severity.ERROR) for line in _lines(finding)]


def _lines(finding: Finding) -> Iterator[str]:
    if not finding.places:
        yield finding.message
        return
    yield from (place.line for place in finding.places)
    if finding.count > len(finding.places):
        yield f"and {finding.count - len(finding.places):,} more of this kind ({finding.code})"
