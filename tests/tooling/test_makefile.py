"""What `make` would do, by its dry run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the environment of a GPU box."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("bootstrap", "dev", "gpu"):
        (tmp_path / f"requirements-{name}.lock").touch()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".installed-requirements-gpu.lock").touch()
    return tmp_path


def dry_run(checkout: Path, *words: str) -> str:
    command = ["make", "--dry-run", *words]
    environment = {"PATH": os.environ["PATH"]}  # without the variables of a make that runs this test
    return subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("target", ["run", "demo"])
def test_run_and_demo_keep_the_environment_that_exists(checkout: Path, target: str) -> None:
    assert "make-env" not in dry_run(checkout, target)
    assert "make-env 'requirements-dev.lock'" in dry_run(checkout, target, "LOCK=requirements-dev.lock")


@pytest.mark.parametrize("target", ["run", "check"])
def test_without_an_environment_the_development_environment_is_created(checkout: Path, target: str) -> None:
    (checkout / ".venv" / ".installed-requirements-gpu.lock").unlink()
    assert "make-env 'requirements-dev.lock'" in dry_run(checkout, target)


def test_an_environment_is_updated_when_its_lock_has_changed(checkout: Path) -> None:
    os.utime(checkout / ".venv" / ".installed-requirements-gpu.lock", (0, 0))
    assert "make-env 'requirements-gpu.lock'" in dry_run(checkout, "run")
