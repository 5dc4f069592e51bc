"""What `make` would do, without doing it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With the environment of a GPU box."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("bootstrap", "dev", "gpu"):
        (tmp_path / f"requirements-{name}.lock").touch()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".installed-requirements-gpu.lock").touch()
    return tmp_path


def would(checkout: Path, *words: str) -> str:
    command = ["make", "--dry-run", *words]
    environment = {"PATH": os.environ["PATH"]}  # without what a make above this one has set
    return subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("target", ["run", "demo"])
def test_what_starts_the_service_leaves_the_environment_that_is_there(checkout: Path, target: str) -> None:
    assert "make-env" not in would(checkout, target)
    assert "make-env 'requirements-dev.lock'" in would(checkout, target, "LOCK=requirements-dev.lock")


@pytest.mark.parametrize("target", ["run", "check"])
def test_without_an_environment_the_one_for_development_is_made(checkout: Path, target: str) -> None:
    (checkout / ".venv" / ".installed-requirements-gpu.lock").unlink()
    assert "make-env 'requirements-dev.lock'" in would(checkout, target)


def test_an_environment_whose_lock_has_changed_is_made_anew(checkout: Path) -> None:
    os.utime(checkout / ".venv" / ".installed-requirements-gpu.lock", (0, 0))
    assert "make-env 'requirements-gpu.lock'" in would(checkout, "run")
