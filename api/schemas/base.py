"""What request bodies share: their base class and types of fields."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints

from api.schemas import patterns

__all__ = ["LARGEST_COUNT", "LARGEST_ID", "Body", "Line", "Name", "Secret", "each_once", "without_default"]

LARGEST_ID = 2**53 - 1  # JavaScript counts exactly up to here
LARGEST_COUNT = 2**31 - 1

Line = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=patterns.ONE_LINE)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=patterns.NAME)]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


def each_once(words: list[str]) -> list[str]:
    if len(set(words)) < len(words):
        raise ValueError("must not name the same value twice")
    return words


class Body(BaseModel):
    """Strict: "5" is not 5, and an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def as_request(self) -> dict[str, Any]:
        """The fields that were sent, without defaults."""
        return self.model_dump(mode="json", exclude_unset=True)


def without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)
