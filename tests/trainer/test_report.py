import json
from pathlib import Path
from typing import Any

import pytest

from services.domain.contract import EventKind, Outcome, Phase, Reason
from worker.trainer import report
from worker.trainer.report import Reporter


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def test_events_are_lines_in_order_with_their_time(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path)
    reporter.phase(Phase.BUILDING)
    reporter.event(EventKind.CHECKPOINT, step=3)

    assert [event["kind"] for event in events(tmp_path)] == ["phase", "checkpoint"]
    assert all(isinstance(event["time"], float) for event in events(tmp_path))


def test_only_the_first_outcome_counts(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path)

    assert reporter.outcome(Outcome(Reason.COMPLETED, "done", step=5)) is True
    assert reporter.outcome(Outcome(Reason.STOPPED, "late")) is False
    assert Outcome.from_json((tmp_path / "outcome.json").read_text()).reason is Reason.COMPLETED
    assert [event["reason"] for event in events(tmp_path)] == ["completed"]
    assert not list(tmp_path.glob(".outcome*"))


def test_the_outcome_is_written_even_if_events_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reporter = Reporter(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reporter, "event", full)

    assert reporter.outcome(Outcome(Reason.DISK_FULL, "full")) is True
    assert Outcome.from_json((tmp_path / "outcome.json").read_text()).reason is Reason.DISK_FULL


def test_host_memory_has_current_and_peak() -> None:
    memory = report.host_memory()

    assert 10 * 2**20 < memory["current"] <= memory["peak"]


def test_an_event_holds_all_metrics_of_few_categories(tmp_path: Path) -> None:
    metrics = {"Precision/mAP": 0.5} | {f"PerformanceByCategory/mAP/{name}": 0.5 for name in "abc"}

    assert Reporter(tmp_path).evaluation(3, metrics, images=6) == metrics
    [event] = events(tmp_path)
    assert (event["kind"], event["step"], event["metrics"], event["images"]) == ("eval", 3, metrics, 6)
    assert not (tmp_path / "evaluations").exists()


def test_metrics_with_names_too_long_for_a_series_are_in_a_file(tmp_path: Path) -> None:
    metrics = {"Precision/mAP": 0.5, f"PerformanceByCategory/mAP/{'a' * 256}": 0.25}

    assert Reporter(tmp_path).evaluation(3, metrics) == metrics
    [event] = events(tmp_path)
    assert event["metrics"] == metrics
    assert json.loads((tmp_path / event["file"]).read_text()) == {"step": 3, "metrics": metrics}


def test_the_figures_of_many_categories_are_in_a_file(tmp_path: Path) -> None:
    metrics = {"Precision/mAP": 0.5} | {f"PerformanceByCategory/mAP/class {n}": 0.5 for n in range(10_000)}

    assert Reporter(tmp_path).evaluation(3, metrics) == {"Precision/mAP": 0.5}
    [event] = events(tmp_path)
    assert event["metrics"] == {"Precision/mAP": 0.5}
    assert event["file"] == "evaluations/step-0000003.json"
    assert json.loads((tmp_path / "evaluations/step-0000003.json").read_text()) == {"step": 3, "metrics": metrics}
