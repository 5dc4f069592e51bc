"""What `make` would do, by its dry run."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the environment of a GPU box."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("bootstrap", "dev", "gpu", "gpu-dev"):
        (tmp_path / f"requirements-{name}.lock").touch()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".installed-requirements-gpu.lock").touch()
    return tmp_path


def dry_run(checkout: Path, *words: str) -> str:
    driver = [] if any(word.startswith("NVIDIA=") for word in words) else ["NVIDIA="]
    command = ["make", "--dry-run", *driver, *words]
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


@pytest.mark.parametrize("target", ["run", "demo", "check", "env"])
def test_where_there_is_a_driver_cuda_is_installed_without_a_flag(checkout: Path, target: str) -> None:
    (checkout / ".venv" / ".installed-requirements-gpu.lock").rename(
        checkout / ".venv" / ".installed-requirements-dev.lock"
    )
    said = dry_run(checkout, "NVIDIA=/proc/driver/nvidia/version", target)
    assert "make-env 'requirements-gpu-dev.lock'" in said
    assert "CUDA is installed too" in said
    assert "requirements-gpu" not in dry_run(checkout, "NVIDIA=x", "LOCK=requirements-dev.lock", target)


@pytest.mark.parametrize("target", ["run", "demo"])
def test_a_gpu_box_keeps_an_environment_with_cuda(checkout: Path, target: str) -> None:
    assert "make-env" not in dry_run(checkout, "NVIDIA=x", target)


def test_each_test_belongs_to_one_part_of_make_test(checkout: Path) -> None:
    said = dry_run(checkout, "test-processes", "test-others")
    processes, others = (line for line in said.splitlines() if "-m pytest" in line)
    folders = re.findall(r" (tests/\w+)", processes)
    assert folders
    assert all((ROOT / folder).is_dir() for folder in folders)
    assert re.findall(r"--ignore=(tests/\w+)", others) == folders
    assert re.findall(r"-m '([^']+)'", processes) == re.findall(r"-m '([^']+)'", others)


def test_an_environment_is_updated_when_its_lock_has_changed(checkout: Path) -> None:
    os.utime(checkout / ".venv" / ".installed-requirements-gpu.lock", (0, 0))
    assert "make-env 'requirements-gpu.lock'" in dry_run(checkout, "run")
