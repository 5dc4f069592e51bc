"""The unmodified OD API on our compat module: its own tests pass, and it builds the configs that we write."""

import subprocess
import sys

import pytest

from tests.support.training.trainings import ROOT

pytestmark = pytest.mark.tensorflow


def run(*command: str, timeout: int = 550) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout


def test_it_builds_every_network_with_every_smaller_backbone_and_size() -> None:
    """Build each network once; for its other sizes build only the resizer (`make test-slow` builds all)."""
    output = run("benchmarks.build_all_models", "--quick")

    assert " 0 failed" in output


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_it_builds_every_combination_in_full() -> None:
    assert " 0 failed" in run("benchmarks.build_all_models", timeout=3500)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_its_own_suites_pass_but_for_explained_failures() -> None:
    run("benchmarks.odapi_suite", timeout=3500)
