"""When the loop saves, evaluates, stops and ends. The test controls the step."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from services.domain.contract import (
    AllocatorStats,
    AttemptSpec,
    BestMetric,
    EarlyStopping,
    Exported,
    Kept,
    Phase,
    Reason,
)
from services.domain.diagnosis.log.known_messages import Mark
from services.domain.diagnosis.log.line_marks import marks_of, shape_of
from tests.support.training.trainings import read_events
from worker.trainer.failures import AttemptEnd, Stopped
from worker.trainer.progress import Progress
from worker.trainer.report import Reporter

if TYPE_CHECKING:
    from worker.trainer.evaluation.evaluate import Judge
    from worker.trainer.loop import Attempt

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
        self.values: dict[int, float] = {}  # of mAP, by step
        self.folder = Path()
        self.path: str | None = None
        self.loaded: str | None = None
        self.reporter: Reporter | None = None

    def __call__(self, iterator: Any) -> list[dict[str, float]]:
        step = self.progress.step + 1
        self.stop.asked = self.stop.asked or step == self.stop_in_step
        return [{"Loss/total_loss": float("nan") if step >= self.nan_from else 1.0}]

    def save(self) -> int:
        step = self.progress.step
        self.notes.append(f"save {step}")
        self.path = str(self.folder / f"ckpt-{step}")
        Path(f"{self.path}.index").write_text(str(step))
        self.stop.asked = self.stop.asked or step == self.stop_in_save_of
        return step

    def load(self, path: str) -> bool:
        self.loaded = Path(f"{path}.index").read_text()
        return True

    def run(self, step: int, judge: "Judge") -> dict[str, float]:
        self.notes.append(f"evaluate {step}")
        if self.reporter:
            self.reporter.phase(Phase.EVALUATING, step=step)
        if self.evaluation_fails:
            raise self.evaluation_fails
        metrics = {"DetectionBoxes_Precision/mAP": self.values[step]} if step in self.values else {}
        if self.reporter:
            self.reporter.evaluation(step, metrics, **judge(metrics))
        return metrics

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
    attempt_of(folder, controlled, **spec)._train()


def attempt_of(folder: Path, controlled: Controlled, **spec: Any) -> "Attempt":
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
    attempt.batch = Controlled.batch
    controlled.folder = attempt.checkpoints_dir
    controlled.folder.mkdir(parents=True, exist_ok=True)
    return attempt


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


def bests(folder: Path) -> list[Any]:
    """The best step and value of each evaluation's event."""
    events = [event["best"] for event in read_events(folder) if event["kind"] == "eval"]
    return [best and (best["step"], best["value"]) for best in events]


@pytest.mark.parametrize("export", list(Kept))
def test_the_best_checkpoint_is_kept_and_exported_unless_the_last_one_is_asked_for(
    export: Kept, tmp_path: Path
) -> None:
    controlled = Controlled()
    controlled.values = {1: 0.1, 2: 0.5, 3: 0.4, 4: 0.5, 6: 0.3}  # 5: without a value
    attempt = attempt_of(tmp_path, controlled, evaluate_every_steps=1, export_checkpoint=export)
    attempt._train()
    attempt._evaluate_at_end()

    assert bests(tmp_path) == [(1, 0.1), (2, 0.5), (2, 0.5), (2, 0.5), (2, 0.5), (2, 0.5)]
    if export is Kept.BEST:
        assert attempt._load_what_is_exported() == Exported(Kept.BEST, 2, BestMetric.MAP, 0.5)
        assert controlled.loaded == "2"
    else:
        assert attempt._load_what_is_exported() == Exported(Kept.LAST, STEPS, BestMetric.MAP, 0.3)
        assert controlled.loaded is None


def test_the_last_checkpoint_is_not_loaded_again_where_it_is_the_best(tmp_path: Path) -> None:
    controlled = Controlled()
    controlled.values = {3: 0.1, STEPS: 0.2}
    attempt = attempt_of(tmp_path, controlled, evaluate_every_steps=3)
    attempt._train()
    attempt._evaluate_at_end()

    assert attempt._load_what_is_exported() == Exported(Kept.BEST, STEPS, BestMetric.MAP, 0.2)
    assert controlled.loaded is None


def test_the_last_checkpoint_is_exported_where_no_evaluation_had_a_value_or_the_best_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controlled = Controlled()
    attempt = attempt_of(tmp_path, controlled, evaluate_every_steps=3)
    attempt._train()
    attempt._evaluate_at_end()
    assert attempt._load_what_is_exported() == Exported(Kept.LAST, STEPS)

    controlled = Controlled()
    controlled.values = {3: 0.2}
    monkeypatch.setattr(Controlled, "load", lambda *_: False)
    (tmp_path / "damaged").mkdir()
    attempt = attempt_of(tmp_path / "damaged", controlled, evaluate_every_steps=3)
    attempt._train()
    assert attempt._load_what_is_exported() == Exported(Kept.LAST, STEPS)


def test_training_ends_early_and_does_not_evaluate_the_same_step_twice(tmp_path: Path) -> None:
    controlled = Controlled()
    controlled.values = {1: 0.2, 2: 0.3, 3: 0.3, 4: 0.1}
    rule = EarlyStopping(patience=2, min_gain=0.01)
    attempt = attempt_of(tmp_path, controlled, evaluate_every_steps=1, early_stopping=rule)
    attempt._train()
    attempt._evaluate_at_end()

    assert controlled.notes[-2:] == ["save 4", "evaluate 4"]
    assert controlled.progress.stopped_early == (
        "stopped early at step 4 of 6: mAP has not gained 0.01 in 2 evaluations; best 0.3 at step 2"
    )
    assert attempt._load_what_is_exported() == Exported(Kept.BEST, 2, BestMetric.MAP, 0.3)


def test_the_patience_and_the_best_survive_the_end_of_an_attempt(tmp_path: Path) -> None:
    rule = EarlyStopping(patience=3, min_gain=0.01)
    first = Controlled()
    first.values = {1: 0.3, 2: 0.2}
    first.stop_in_step = 3
    with pytest.raises(Stopped):
        train(tmp_path, first, evaluate_every_steps=1, early_stopping=rule)

    second = Controlled()
    second.progress.step = second.progress.saved_step = 3
    second.values = {4: 0.1, 5: 0.25}
    train(tmp_path, second, evaluate_every_steps=1, early_stopping=rule)
    assert second.progress.stopped_early.endswith("in 3 evaluations; best 0.3 at step 1")
    assert second.progress.step == 5

    third = Controlled()  # the second one was killed before its outcome
    third.progress.step = 5
    attempt = attempt_of(tmp_path, third, evaluate_every_steps=1, early_stopping=rule)
    attempt._stop_early()
    attempt._train()
    assert third.notes == []
    assert third.progress.stopped_early == second.progress.stopped_early

    fourth = Controlled()  # the checkpoint of that step is damaged
    fourth.progress.step = 4
    fourth.values = {5: 0.4}
    train(tmp_path, fourth, evaluate_every_steps=1, early_stopping=rule)
    assert (fourth.progress.step, fourth.progress.stopped_early) == (STEPS, "")


def test_an_evaluation_without_the_metric_does_not_count_for_early_stopping(tmp_path: Path) -> None:
    controlled = Controlled()
    controlled.values = {1: 0.3}
    train(tmp_path, controlled, evaluate_every_steps=1, early_stopping=EarlyStopping(patience=1))

    assert controlled.progress.step == STEPS
    warnings = [event["message"] for event in read_events(tmp_path) if event["kind"] == "warning"]
    assert warnings[0] == "the evaluation at step 2 has no mAP: it does not count for early stopping"
