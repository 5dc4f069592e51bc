import difflib

import pytest

from services.domain.suggestions import close_names


def test_the_names_that_resemble_a_misspelt_one_come_best_first() -> None:
    known = ["steps", "batch_size", "step", "epochs"]
    assert close_names("stepz", known, most=2) == ["step", "steps"]
    assert close_names("zzzz", known) == []


def test_long_names_are_not_compared_and_of_many_names_only_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, list[str]]] = []

    def note(word: str, possibilities: object, *_: object) -> list[str]:
        compared.append((word, list(possibilities)))  # type: ignore[call-overload]
        return []

    monkeypatch.setattr(difflib, "get_close_matches", note)
    close_names("a" * 20_000, ["a"])
    close_names("a", ["a" * 20_000, *("b" for _ in range(10_000))])
    assert compared == [("a", ["b"] * 500)]
