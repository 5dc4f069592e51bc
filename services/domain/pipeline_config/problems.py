"""What is wrong with a configuration, in words that name the place and the remedy."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. `line` and `column` count from 1; 0 where the text is not at hand."""

    field: str
    message: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}" if self.line else ""
        return ": ".join(part for part in (where, self.field, self.message) if part)


class ConfigError(ValueError):
    """A pipeline.config that cannot be used. `problems` holds every problem that was found, at least one."""

    code = "bad_config"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, self.problems)))


def refuse(field: str, message: str) -> ConfigError:
    """The error for a single problem, to be raised by the caller."""
    return ConfigError([Problem(field, message)])
