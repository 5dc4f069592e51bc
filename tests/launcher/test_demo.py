"""Parts of the demo that need no training: its texts, its progress line, its folder."""

import fcntl
import io
import stat
from pathlib import Path
from typing import Any

import pytest

from launcher.demo import home as demo_home
from launcher.demo import report
from launcher.demo.progress import ProgressLine

MB = 2**20
PLAN = {
    "model": "efficientdet_d0",
    "batch_size": 8,
    "micro_batch": 8,
    "precision": "float32",
    "image_size": [256, 256],
    "steps": 10,
}


def attempt(number: int, **values: Any) -> dict[str, Any]:
    return {
        "number": number,
        "plan": PLAN,
        "predicted": {"bytes": 1700 * MB, "low_bytes": 1600 * MB, "high_bytes": 1800 * MB},
        "measured_peak_bytes": 690 * MB,
        "measured_evaluation_peak_bytes": None,
        "prediction_error": None,
        "limit_bytes": 700 * MB,
        "diagnosis": "completed",
        "evidence": None,
        "phase": "training",
        "step": 4,
        "summary": None,
        "changes": [],
        "started_at": "2025-11-16T05:00:00Z",
        "ended_at": "2025-11-16T05:01:31.4Z",
    } | values


RAN_OUT = attempt(1, diagnosis="too_large", evidence={"allocator": {"requested": 64 * MB}})
CHANGE = {
    "lever": "micro_batch",
    "field": "micro_batch",
    "before": "8",
    "after": "2",
    "reason": "batch 8 is kept and computed in pieces of 2: " + "the requested size needs more than the limit " * 3,
}
REPLANNED = attempt(2, plan=PLAN | {"micro_batch": 2}, changes=[CHANGE], summary="smaller micro-batches")


def test_an_attempt_that_ran_out_of_memory_shows_what_it_held_and_requested() -> None:
    lines = report.attempts_table([RAN_OUT, REPLANNED]).splitlines()

    assert lines[2].split("  ")[0] == "1"
    assert "1700 MB" in lines[2]
    assert "690 MB + 64 MB" in lines[2]
    assert "out of memory" in lines[2]


def test_the_table_shows_plans_durations_and_stays_within_its_columns() -> None:
    text = report.attempts_table([RAN_OUT, REPLANNED])

    joined = " ".join(text.split())
    assert "micro-batches of 2" in joined
    assert "completed (91 s)" in joined
    assert max(map(len, text.splitlines())) <= 100


def test_every_change_is_shown_with_its_reason_within_100_columns() -> None:
    text = report.changes([RAN_OUT, REPLANNED])

    assert text.startswith("Before attempt 2:\n  micro_batch 8 -> 2: batch 8 is kept")
    assert max(map(len, text.splitlines())) <= 100


def test_an_attempt_without_changes_says_why_it_was_started() -> None:
    again = attempt(2, summary="the same plan again, from the start")

    assert report.changes([RAN_OUT, again]) == "Before attempt 2:\n  the same plan again, from the start"


def test_changes_before_the_first_attempt_have_their_own_heading() -> None:
    planned = attempt(1, changes=[CHANGE])

    assert report.changes([planned]) == ""
    assert report.changes([planned], first="At once:").startswith("At once:\n  micro_batch 8 -> 2: batch 8 is kept")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "predicted 1700 MB (1600 MB to 1800 MB), measured 690 MB"),
        ({"prediction_error": -0.038}, "measured 690 MB: 3.8% too low"),
        ({"prediction_error": 0.1, "measured_evaluation_peak_bytes": 1024 * MB}, "measured 1024 MB: 10.0% too high"),
        ({"predicted": None}, "nothing was predicted"),
    ],
)
def test_a_prediction_is_shown_with_the_measurement(values: dict[str, Any], text: str) -> None:
    assert report.prediction(attempt(1, **values)).endswith(text)


def test_the_diff_shows_changes_by_levers_and_counts_the_others() -> None:
    follows = {"lever": None, "field": "train_input_reader.shuffle_buffer_size", "before": "9", "after": None}

    text = report.diff_table([CHANGE, follows])

    assert text.splitlines()[2].split() == ["micro_batch", "8", "2", "micro_batch"]
    assert text.endswith("(and 1 fields that follow from these or from the host)")


@pytest.mark.parametrize(
    ("state", "attempts", "line"),
    [
        ("queued", [], "queued, 62 s"),
        ("running", [attempt(2, ended_at=None)], "attempt 2: training, step 4/10, 62 s"),
        ("running", [attempt(1, ended_at=None, phase=None)], "attempt 1: starting, 62 s"),
        ("running", [attempt(1, ended_at=None, phase="tracing")], "attempt 1: tracing, 62 s"),
        ("queued", [RAN_OUT], "queued, 62 s"),
    ],
)
def test_the_progress_line_shows_the_state_of_the_job(state: str, attempts: list[Any], line: str) -> None:
    job = {"state": state, "progress": {"step": 4, "steps": 10}}

    assert report.progress(job, attempts, 62.4) == line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_progress_line_is_rewritten_in_place() -> None:
    stream = Terminal()
    progress = ProgressLine(stream)

    progress.show("step 1")
    progress.show("step 2")
    progress.say("done")

    assert stream.getvalue() == "\rstep 1\x1b[K\rstep 2\x1b[K\r\x1b[Kdone\n"


def test_in_a_file_progress_is_printed_every_10_s() -> None:
    stream, clock = io.StringIO(), [0.0]
    progress = ProgressLine(stream, clock=lambda: clock[0])

    for second in range(21):
        clock[0] = float(second)
        progress.show(f"{second} s")

    assert stream.getvalue() == "0 s\n10 s\n20 s\n"


def test_the_demos_folder_is_emptied_at_every_start(tmp_path: Path) -> None:
    home = tmp_path / "var" / "demo"
    demo_home.make_fresh(home)
    (home / "downshift.db").write_text("of the last demo")

    demo_home.make_fresh(home)

    assert not (home / "downshift.db").exists()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_folder_that_the_demo_did_not_make_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")

    with pytest.raises(demo_home.DemoHomeError, match="was not made by the demo"):
        demo_home.make_fresh(tmp_path)

    assert (tmp_path / "thesis.tex").exists()


def test_the_error_for_a_folder_that_cannot_be_created_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(demo_home.DemoHomeError, match=r"cannot be created: Not a directory; .*--home"):
        demo_home.make_fresh(tmp_path / "file" / "demo")


@pytest.mark.parametrize("name", ["launcher.lock", "locks/job-1.lock"])
def test_the_folder_of_a_demo_that_still_runs_is_not_deleted(tmp_path: Path, name: str) -> None:
    home = tmp_path / "demo"
    demo_home.make_fresh(home)
    lock = home / name
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(demo_home.DemoHomeError, match="is in use"):
            demo_home.make_fresh(home)
        assert demo_home.wait_until_unused(home, 0.0) is False

    assert demo_home.wait_until_unused(home, 0.0) is True
