"""The command `python -m services.diagnose`."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from services import diagnose
from tests.support.oom_logs import LOGS


def diagnosed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert diagnose.main(arguments) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def test_the_command_prints_the_diagnosis_the_lines_and_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    report = diagnosed(capsys, str(LOGS / "in-pieces.log"), "--exit-code", "1")
    assert (report["diagnosis"], report["exit"]) == ("fragmentation", 1)
    assert {"line": 21, "text": "InUse:                      31785630720"} in report["evidence"]
    assert report["numbers"]["free"] == 8445477888


def test_the_diagnosis_of_a_success_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert diagnosed(capsys, str(LOGS / "fine.log"), "--exit-code", "0")["diagnosis"] == "none"


@pytest.mark.parametrize("code", ["137", "-9"])
def test_exit_codes_of_shells_and_of_python_are_understood(capsys: pytest.CaptureFixture[str], code: str) -> None:
    assert diagnosed(capsys, str(LOGS / "killed.log"), "--exit-code", code)["diagnosis"] == "unknown_kill"


def test_the_exit_code_may_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    report = diagnosed(capsys, str(LOGS / "quota.log"))
    assert (report["diagnosis"], report["exit"]) == ("disk", None)


def test_the_command_reads_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    log = (LOGS / "quota.log").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log)))
    assert diagnosed(capsys, "-", "--exit-code", "1")["diagnosis"] == "disk"


def test_a_missing_log_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert diagnose.main([str(tmp_path / "none.log"), "--exit-code", "1"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_large_log_takes_little_memory(tmp_path: Path) -> None:
    """Run in a process whose address space the log alone would fill."""
    log = tmp_path / "large.log"
    with log.open("wb") as file:
        for part in range(64):
            file.write(b"".join(b"Step %d per-step time 0.31s loss=%d.5\n" % (part, step) for step in range(30_000)))
        file.write((LOGS / "old-spelling.log").read_bytes())
    assert log.stat().st_size > 60 * 2**20
    limited = f"import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, ({48 * 2**20},) * 2);"
    limited += f"from services.diagnose import main; sys.exit(main([{str(log)!r}, '--exit-code', '1']))"
    report = json.loads(subprocess.run([sys.executable, "-c", limited], check=True, capture_output=True).stdout)
    assert report["diagnosis"] == "too_large"
    assert report["evidence"][0]["line"] > 64 * 30_000
