"""A job's state, what it waits for and its plan have one writer each. A second writer anywhere fails here."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("services", "api", "worker", "launcher")
WRITERS = {
    "state": "services/jobs/transitions.py",
    "waiting_for": "services/jobs/transitions.py",
    "plan": "services/planning/adopt.py",
    "planned": "services/planning/adopt.py",
    "steps": "services/planning/adopt.py",
}


def writes(tree: ast.AST, names: set[str]) -> Iterator[tuple[str, int]]:
    """Where a field of these names is written: `x.name = …`, `setattr(x, "name", …)`, `Job(name=…)`, `.values(name=…)`.

    `self.name = …` is a class's own field, and no row of the database.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in names:
            if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                yield node.attr, node.lineno
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("Job", "values"):
                yield from ((word.arg, node.lineno) for word in node.keywords if word.arg in names)
            elif called == "setattr":
                yield from ((str(arg.value), node.lineno) for arg in node.args[1:2] if _is_one_of(arg, names))


def _is_one_of(node: ast.AST, names: set[str]) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and node.value in names


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def test_state_and_plan_of_a_job_are_written_in_one_place_each() -> None:
    found = [
        (name, str(path.relative_to(ROOT)), line)
        for path in sources()
        for name, line in writes(ast.parse(path.read_text()), set(WRITERS))
    ]
    assert {name for name, _, _ in found} == set(WRITERS)  # the search finds the writers themselves
    assert [f"{path}:{line} writes {name}" for name, path, line in found if path != WRITERS[name]] == []


@pytest.mark.parametrize(
    "line",
    [
        'job.state = "queued"',
        'job.state, job.reason = "queued", None',
        'Job(name="n", state="queued")',
        'update(Job).values(state="queued")',
        'setattr(job, "state", "queued")',
        "for job.state in states: pass",
        "job.state += 1",
        "with lock as job.state: pass",
    ],
)
def test_every_way_to_write_is_seen(line: str) -> None:
    assert [name for name, _ in writes(ast.parse(line), {"state"})] == ["state"]


@pytest.mark.parametrize("line", ["self.state = 1", "Attempt(plan=job.plan)", "print(job.state)", "state = job.state"])
def test_what_is_no_write_to_a_job_is_not(line: str) -> None:
    assert list(writes(ast.parse(line), {"state", "plan"})) == []
