"""The docs: links and paths lead to files that exist, and settings, rooms and the version are those of the code."""

import dataclasses
import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WITH_PATHS = [
    page for page in PAGES if page.name in ("architecture.md", "CONTRIBUTING.md") or page.parent.name == "decisions"
]
SETTINGS = {PREFIX + field.name.upper() for field in dataclasses.fields(Settings)}
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FOLDERS = {".ci", "api", "benchmarks", "docs", "launcher", "migrations", "scripts", "services", "tests", "worker"}
ROOT_FILE = re.compile(r"Makefile|Dockerfile|[\w.-]+\.(ini|lock|md|toml|txt|ya?ml)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", page.read_text())


def relative_links(page: Path) -> list[str]:
    return [link for link in LINK.findall(prose(page)) if not re.match(r"[a-z]+:", link)]


@functools.cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as repository hosts make them: lower case, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def repository_paths(text: str) -> Iterator[str]:
    """The code spans that name a file or folder of the repository, complete or as a pattern."""
    for span in CODE.findall(text):
        first, slash, _ = span.partition("/")
        if (first in FOLDERS if slash else ROOT_FILE.fullmatch(span)) and " " not in span:
            yield span


def test_every_page_is_looked_at() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/README.md", "docs/architecture.md"} <= set(map(name_of, PAGES))
    assert sum(len(relative_links(page)) for page in PAGES) > 50
    assert sum(len(set(repository_paths(prose(page)))) for page in WITH_PATHS) > 100


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    lost = []
    for link in relative_links(page):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("page", WITH_PATHS, ids=name_of)
def test_every_path_in_backticks_exists(page: Path) -> None:
    paths = set(repository_paths(prose(page)))
    assert sorted(path for path in paths if not list(ROOT.glob(path.rstrip("/")))) == []


def test_paths_are_told_from_other_code() -> None:
    text = "`services/errors.py` `docs/` `pyproject.toml` `pipeline.config` `text/plain` `make check` `tests/*/a.py`"
    assert list(repository_paths(text)) == ["services/errors.py", "docs/", "pyproject.toml", "tests/*/a.py"]


def test_every_setting_is_explained_on_its_page() -> None:
    told = re.findall(rf"`({PREFIX}\w+)`", (ROOT / "docs" / "settings.md").read_text())
    assert sorted(told) == sorted(SETTINGS)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_names_a_setting_that_does_not_exist(page: Path) -> None:
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+[A-Z]\b", page.read_text()))
    assert named <= SETTINGS


def test_the_table_of_contents_names_every_page() -> None:
    contents = ROOT / "docs" / "README.md"
    linked = {(contents.parent / link).resolve() for link in relative_links(contents)}
    assert sorted(name_of(page) for page in (ROOT / "docs").rglob("*.md") if page.resolve() not in linked) == [
        "docs/README.md"
    ]


def rooms_in(rows: list[tuple[str, str]], container: str) -> list[set[str]]:
    """The rooms of each row, as pyproject.toml names them: `services/jobs/` and `services/clock.py` in `services`."""
    folder = container.replace(".", "/") + "/"
    return [
        {path.removeprefix(folder).removesuffix(".py").rstrip("/") for path in CODE.findall(row)} for _, row in rows
    ]


def test_the_rooms_and_their_order_are_those_that_make_check_enforces() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page.partition("## Rooms and their import order")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", section, re.MULTILINE)
    starts = [number for number, (row, _) in enumerate(rows) if row == "1"]
    tables = [rows[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    layers = {
        contract["containers"][0]: [set(layer.split(" | ")) for layer in contract["layers"]]
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    }
    containers = ("services", "services.domain", "api", "worker", "launcher")
    told = {container: rooms_in(table, container) for container, table in zip(containers, tables, strict=True)}
    assert told == layers


def test_the_newest_version_in_the_changelog_is_the_project_s() -> None:
    newest = re.search(r"^## (\d\S*) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert newest[1] == PROJECT["project"]["version"]
