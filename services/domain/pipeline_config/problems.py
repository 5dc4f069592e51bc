"""Problems of a configuration, with their field and a remedy."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

MAX_PROBLEMS = 50  # reported at once: people fix some and submit again
_LONGEST_FIELD, _LONGEST_MESSAGE = 250, 1000  # characters; both may contain text of the sender


@dataclass(frozen=True)
class Problem:
    """One problem. `line` and `column` count from 1; 0 where the text is not available."""

    field: str
    message: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}" if self.line else ""
        return ": ".join(part for part in (where, self.field, self.message) if part)


class ConfigError(ValueError):
    """A pipeline.config that cannot be used. `problems` holds the first MAX_PROBLEMS and a count of the rest."""

    code = "bad_config"

    def __init__(self, problems: Iterable[Problem]) -> None:
        found = list(problems)
        self.problems = tuple(map(_bounded, found[:MAX_PROBLEMS]))
        if len(found) > MAX_PROBLEMS:
            self.problems += (Problem("", f"and {len(found) - MAX_PROBLEMS:,} more problems"),)
        super().__init__("; ".join(map(str, self.problems)))


def _bounded(problem: Problem) -> Problem:
    return replace(
        problem, field=clipped(problem.field, _LONGEST_FIELD), message=clipped(problem.message, _LONGEST_MESSAGE)
    )


def clipped(text: str, longest: int) -> str:
    """`text`, without its middle where it is too long."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def refuse(field: str, message: str) -> ConfigError:
    """The error for a single problem, to be raised by the caller."""
    return ConfigError([Problem(field, message)])
