import difflib
from collections.abc import Iterable
from pathlib import Path

import pytest

from services.domain.suggestions import LONGEST, close_names, shortened

ROOT = Path(__file__).parents[2]


def test_a_misspelt_name_finds_the_right_one() -> None:
    known = ["traffic_light", "traffic_cone", "person", "bicycle"]
    assert close_names("trafic_cone", known) == ["traffic_cone"]
    assert close_names("traffic_ligth", known, most=2) == ["traffic_light", "traffic_cone"]
    assert close_names("giraffe", known) == []
    assert close_names("", known) == []


def test_the_name_that_was_meant_is_found_among_many() -> None:
    known = [f"class number {number}" for number in range(1500)] + ["stop sign"]
    assert close_names("stop sing", known) == ["stop sign"]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("a" * 20_000, ["a" * 20_000, "a" * 40]),
        ("a" * LONGEST, ["a" * 20_000, "a" * LONGEST]),
        ("ab" * (LONGEST // 2), ["ba" * (LONGEST // 2)] * 10_000),
    ],
)
def test_few_and_short_names_are_compared(name: str, known: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def count(word: str, possibilities: Iterable[str], n: int, cutoff: float) -> list[str]:
        compared.extend((word, other) for other in possibilities)
        return []

    monkeypatch.setattr(difflib, "get_close_matches", count)
    close_names(name, known)
    assert len(compared) <= 40
    assert all(len(word) <= LONGEST and len(other) <= LONGEST for word, other in compared)


def test_names_are_compared_nowhere_else() -> None:
    """difflib takes minutes on strings that a sender may choose."""
    folders = ("api", "services", "worker", "launcher")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py") if "difflib" in file.read_text()]
    assert [str(file.relative_to(ROOT)) for file in files] == ["services/domain/suggestions.py"]


def test_a_long_name_is_quoted_short() -> None:
    assert shortened("cat") == "cat"
    assert shortened("c" * 20_000) == "c" * (LONGEST - 1) + "…"
