"""A long first step on a GPU is a phase of its own, not a hang."""

import json
import threading
from pathlib import Path

import pytest

from services.domain.contract import EVENTS_FILE
from worker.trainer.gpu.compiling import compiling
from worker.trainer.report import Reporter


def phases(folder: Path) -> list[str]:
    return [json.loads(line)["phase"] for line in (folder / EVENTS_FILE).read_text().splitlines()]


def test_the_phase_is_repeated_while_the_first_step_runs(tmp_path: Path) -> None:
    with compiling(Reporter(tmp_path), is_gpu=True, every_s=0.01):
        while len(phases(tmp_path)) < 3:
            threading.Event().wait(0.01)
    count = len(phases(tmp_path))
    assert set(phases(tmp_path)) == {"compiling"}
    assert "compiling" not in [thread.name for thread in threading.enumerate()]
    assert len(phases(tmp_path)) == count


def test_it_is_not_repeated_for_ever(tmp_path: Path) -> None:
    with compiling(Reporter(tmp_path), is_gpu=True, every_s=0.01, longest_s=0.03):
        [repeating] = [thread for thread in threading.enumerate() if thread.name == "compiling"]
        repeating.join(10)
        assert len(phases(tmp_path)) == 4


def test_a_failure_ends_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no memory"), compiling(Reporter(tmp_path), is_gpu=True):
        raise ValueError("no memory")
    assert phases(tmp_path) == ["compiling"]


def test_a_cpu_compiles_nothing(tmp_path: Path) -> None:
    with compiling(Reporter(tmp_path), is_gpu=False):
        pass
    assert phases(tmp_path) == []
