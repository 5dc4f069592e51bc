"""Words that the glossary of docs/architecture.md replaces do not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("api", "benchmarks", "docs", "launcher", "migrations", "scripts", "services", "tests", "worker")
KINDS = {".css", ".html", ".js", ".md", ".py", ""}
# Each with what to write instead. Only words that have no other use in this project.
FORBIDDEN = {
    "company": "neighbours",
    "he": "they, the caller",
    "him": "them",
    "his": "their",
    "news": "event, live update",
    "parcel": "message",
    "parcels": "messages",
    "she": "they, the caller",
    "standing": "usage",
    "standings": "usages",
    "storable": "clean",
    "stranger": "other process",
    "strangers": "other processes",
    "whom": "say who does what",
    "witness": "observer",
}
WORD = re.compile(r"(?<![^\W\d_])(" + "|".join(FORBIDDEN) + r")(?![^\W\d_])", re.IGNORECASE)
EXEMPT = {"docs/architecture.md", "tests/tooling/test_words.py"}  # the glossary itself, and this list


def found_in(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
    pages = [*ROOT.glob("*.md")]
    kept = [path for path in [*found, *pages] if path.is_file() and "__pycache__" not in path.parts]
    return [path for path in kept if path.relative_to(ROOT).as_posix() not in EXEMPT]


def test_no_forbidden_word_is_used() -> None:
    uses = []
    for path in sources():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            uses += [f"{path.relative_to(ROOT)}:{number}: {word}, say {FORBIDDEN[word]}" for word in found_in(line)]
    assert uses == []


@pytest.mark.parametrize("line", ["What he sent.", "_witness = 1", "class Standing:", '"#news"', "Parcel("])
def test_a_word_is_found_in_prose_and_in_names(line: str) -> None:
    assert len(found_in(line)) == 1


@pytest.mark.parametrize("line", ["the host", "history", "newsletter", "accompany", "understanding", "cache"])
def test_a_part_of_another_word_is_none(line: str) -> None:
    assert found_in(line) == []
