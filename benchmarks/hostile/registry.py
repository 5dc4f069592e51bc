"""The cases of benchmarks/hostile_input.py. A module of this folder adds its own with `@case`.

    @case("pipeline.config", "blocks in blocks")
    def deep() -> Trial:
        text = "a{" * 131_072
        return Trial(len(text), lambda: parse(text))

The function creates the input, which is not measured, and returns the measured work. An exception counts as an answer:
it is shown with its length, as it would be sent to the caller.
"""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["CASES", "Case", "Trial", "case"]


@dataclass(frozen=True)
class Trial:
    size: int  # bytes or characters that the caller sends
    work: Callable[[], object]


@dataclass(frozen=True)
class Case:
    group: str  # the parser or endpoint
    name: str  # what is hostile about the input
    prepare: Callable[[], Trial]

    @property
    def key(self) -> str:
        return f"{self.group}: {self.name}"


CASES: dict[str, Case] = {}


def case(group: str, name: str) -> Callable[[Callable[[], Trial]], Callable[[], Trial]]:
    """Register the function below as a case. Names must be unique."""

    def register(prepare: Callable[[], Trial]) -> Callable[[], Trial]:
        added = Case(group, name, prepare)
        if added.key in CASES:
            raise ValueError(f"there are two cases called {added.key!r}")
        CASES[added.key] = added
        return prepare

    return register
