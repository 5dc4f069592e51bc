"""The benchmark of hostile input: each case can be run by its name, and exceeding a limit fails the command."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks import hostile_input
from benchmarks.hostile.registry import CASES, Case, Trial

COMMAND = [sys.executable, str(Path(hostile_input.__file__))]


def test_a_case_is_measured_in_its_own_process():
    done = subprocess.run(
        [*COMMAND, "--one", "pipeline.config: blocks in blocks"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    measured = json.loads(done.stdout)
    assert measured["size"] == 256 * 1024
    assert measured["mb"] >= 0
    assert "nested too deep" in measured["answer"]


def test_the_measured_peak_is_the_memory_of_the_work():
    def work() -> object:
        return len(bytearray(b"x" * 50_000_000))

    assert 45 < hostile_input.measure(Case("a test", "50 MB for a moment", lambda: Trial(0, work)))["mb"] < 150


def test_a_case_that_exceeds_a_limit_fails_the_command(monkeypatch, capsys):
    hostile_input.load_cases()
    assert CASES
    figures = {"size": 1, "seconds": 3.0, "mb": 1.0, "answer": "str"}
    monkeypatch.setattr(hostile_input, "measure_apart", lambda case: figures)
    assert hostile_input.main(["pipeline.config: blocks in blocks"]) == 1
    assert "OVER" in capsys.readouterr().out
    figures["seconds"] = 1.0
    assert hostile_input.main(["pipeline.config: blocks in blocks"]) == 0
