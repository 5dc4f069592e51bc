"""When the loop saves, evaluates, stops and ends. The test controls the step."""

import re
from pathlib import Path
from typing import Any

import pytest

from services.domain.contract import AllocatorStats, AttemptSpec, Phase, Reason
from services.domain.diagnosis.log.known_messages import Mark
from services.domain.diagnosis.log.line_marks import marks_of, shape_of
from tests.support.training.trainings import read_events
from worker.trainer.failures import AttemptEnd, Stopped
from worker.trainer.progress import Progress
from worker.trainer.report import Reporter

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]

STEPS = 6


class Stop:
    asked = False


class Controlled:
    """Replaces the step, the checkpoints, the evaluation and the memory of an attempt, and records the calls."""

    accumulation = 2
    batch = 4
    scales_loss = False
    is_gpu = False

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.progress = Progress()
        self.stop = Stop()
        self.stop_in_save_of = 0
        self.stop_in_step = 0
        self.nan_from = self.ruined_from = STEPS + 1
        self.evaluation_fails: Exception | None = None
        self.reporter: Reporter | None = None

    def __call__(self, iterator: Any) -> list[dict[str, float]]:
        step = self.progress.step + 1
        self.stop.asked = self.stop.asked or step == self.stop_in_step
        return [{"Loss/total_loss": float("nan") if step >= self.nan_from else 1.0}]

    def save(self) -> int:
        step = self.progress.step
        self.notes.append(f"save {step}")
        self.stop.asked = self.stop.asked or step == self.stop_in_save_of
        return step

    def run(self, step: int) -> dict[str, float]:
        self.notes.append(f"evaluate {step}")
        if self.reporter:
            self.reporter.phase(Phase.EVALUATING, step=step)
        if self.evaluation_fails:
            raise self.evaluation_fails
        return {}

    def learning_rate(self) -> float:
        return 0.1

    def input_wait_s(self) -> float:
        return 1e6 * (self.progress.step // 3)  # the third and the sixth step wait for ever

    def weights_are_finite(self) -> bool:
        return self.progress.step < self.ruined_from

    def forget_warm_up(self) -> None: ...

    def counters(self) -> AllocatorStats:
        return AllocatorStats(limit=3, in_use=1, peak=2)


def train(folder: Path, controlled: Controlled, **spec: Any) -> None:
    from tests.support.training import tiny_detector
    from worker.trainer.loop import Attempt

    config = tiny_detector.config()
    config.train_config.num_steps = STEPS
    settings = AttemptSpec(job_dir=str(folder), architecture="tiny", **spec)
    parts: Any = controlled
    controlled.reporter = Reporter(folder)
    attempt = Attempt(settings, config, controlled.reporter, parts, controlled.progress, parts.stop)
    attempt.step = attempt.checkpoints = attempt.evaluation = parts
    attempt.iterator = iter(())
    attempt._train()


def phases(folder: Path) -> list[str]:
    return [event["phase"] for event in read_events(folder) if event["kind"] == "phase"]


def test_it_saves_every_few_steps_and_at_the_end(tmp_path: Path) -> None:
    controlled = Controlled()
    train(tmp_path, controlled, checkpoint_every_steps=4)

    assert controlled.notes == ["save 4", "save 6"]
    assert controlled.progress.runs == STEPS * controlled.accumulation


def test_it_saves_when_the_interval_has_passed(tmp_path: Path) -> None:
    controlled = Controlled()
    train(tmp_path, controlled, checkpoint_every_s=1e-9)

    assert controlled.notes == [f"save {step}" for step in range(1, STEPS + 1)]


def test_it_saves_before_it_evaluates(tmp_path: Path) -> None:
    controlled = Controlled()
    train(tmp_path, controlled, evaluate_every_steps=3)

    assert controlled.notes == ["save 3", "evaluate 3", "save 6"]


def test_a_stop_saves_the_step_it_came_in(tmp_path: Path) -> None:
    controlled = Controlled()
    controlled.stop_in_step = 2

    with pytest.raises(Stopped):
        train(tmp_path, controlled)
    assert controlled.notes == ["save 2"]


def test_a_stop_during_the_last_save_prevents_the_evaluation(tmp_path: Path) -> None:
    controlled = Controlled()
    controlled.stop_in_save_of = STEPS

    with pytest.raises(Stopped):
        train(tmp_path, controlled)
    assert controlled.notes == [f"save {STEPS}"]


@pytest.mark.parametrize("what", ["nan_from", "ruined_from"])
def test_weights_that_are_not_finite_are_never_saved(what: str, tmp_path: Path) -> None:
    """A step computes its loss before its update: the loss may be finite when the weights no longer are."""
    controlled = Controlled()
    setattr(controlled, what, 4)

    with pytest.raises(AttemptEnd) as raised:
        train(tmp_path, controlled, checkpoint_every_steps=2, report_every_s=1000)
    assert raised.value.reason is Reason.NAN_LOSS
    assert controlled.notes == ["save 2"]


def test_training_goes_on_after_an_evaluation_that_failed(tmp_path: Path) -> None:
    controlled = Controlled()
    controlled.evaluation_fails = ValueError("no such mask")
    train(tmp_path, controlled, evaluate_every_steps=3)

    assert controlled.notes == ["save 3", "evaluate 3", "save 6"]
    warnings = [event["message"] for event in read_events(tmp_path) if event["kind"] == "warning"]
    assert warnings == ["the evaluation at step 3 failed: ValueError: no such mask"]


@pytest.mark.parametrize("failure", [None, ValueError("no such mask")])
def test_the_phase_after_an_evaluation_is_training(tmp_path: Path, failure: Exception | None) -> None:
    controlled = Controlled()
    controlled.evaluation_fails = failure
    train(tmp_path, controlled, evaluate_every_steps=3)

    assert phases(tmp_path) == ["saving", "training", "evaluating", "training", "saving", "training"]


def test_an_evaluation_that_runs_out_of_memory_ends_the_attempt(tmp_path: Path) -> None:
    controlled = Controlled()
    controlled.evaluation_fails = MemoryError()

    with pytest.raises(MemoryError):
        train(tmp_path, controlled, evaluate_every_steps=3)
    assert phases(tmp_path)[-1] == "evaluating"


def test_each_report_has_the_share_of_its_own_steps_that_waited_for_images(tmp_path: Path) -> None:
    train(tmp_path, Controlled(), report_every_s=0)

    shares = [event["input_wait"] for event in read_events(tmp_path) if event["kind"] == "step"]
    assert shares == [0, 0, 1, 0, 0, 1]


def test_the_log_has_a_line_for_each_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(tmp_path, Controlled(), report_every_s=0)

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == STEPS == len([event for event in read_events(tmp_path) if event["kind"] == "step"])
    for step, line in enumerate(lines, start=1):
        assert re.search(
            rf" step {step}/{STEPS}: loss 1.0000, learning rate 0.1, [\d.]+ images/s, memory 1 B, at most 2 B of 3 B$",
            line,
        )
        assert marks_of(shape_of(line.encode())) == Mark.PROGRESS
