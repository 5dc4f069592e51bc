"""Checkpoints resume exactly, refuse other variables, and survive a kill at any moment and a damaged file."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from services.domain import catalogue, pipeline_config
from services.domain.checkpoints.best import Evaluated
from services.domain.contract import BestMetric, Reason, Resume
from services.domain.plan.learning_rate import rescaled_to_batch
from services.domain.precision import Precision
from tests.support.training.trainings import ROOT
from worker.trainer.best_checkpoint import BestCheckpoint
from worker.trainer.failures import AttemptEnd
from worker.trainer.report import Reporter

pytestmark = pytest.mark.tensorflow

ROUNDS = 8


@pytest.fixture
def make(tensorflow_ready: None, tmp_path: Path) -> Any:
    """make(...) → (step, iterator, checkpoints) of one job directory, as for a new attempt."""
    from tests.support.training import tiny_detector
    from worker.trainer.checkpoints import Checkpoints
    from worker.trainer.model import compute_in
    from worker.trainer.step import TrainStep

    reporter = Reporter(tmp_path)

    def make_one(
        extra: int = 0,
        adam: bool = False,
        batch: int = 4,
        cosine: bool = False,
        precision: Precision = Precision.FLOAT32,
    ) -> tuple[Any, Any, Any]:
        config = tiny_detector.config()
        if cosine:
            config = pipeline_config.build_config(catalogue.get("efficientdet_d0"), 1, (256, 256), 4, 100)
            config.train_config.unpad_groundtruth_tensors = True
        config = pipeline_config.apply(rescaled_to_batch(pipeline_config.plan_of(config), batch, batch), config)
        if adam:
            config.train_config.optimizer.adam_optimizer.learning_rate.constant_learning_rate.learning_rate = 0.1
        model = tiny_detector.TinyDetector(extra)
        if precision is not Precision.FLOAT32:
            compute_in(model, precision)
        step = TrainStep(config, model, accumulation=1, precision=precision)
        iterator = tiny_detector.batches([1.0, -2.0], 2)
        step.trace(iterator)
        return step, iterator, Checkpoints(tmp_path / "checkpoints", step, keep=2, reporter=reporter)

    return make_one


def run(step: Any, iterator: Any, steps: int) -> None:
    for _ in range(steps):
        step(iterator)


def test_a_resumed_training_equals_one_that_was_never_stopped(make: Any) -> None:
    straight, iterator, _ = make()
    run(straight, iterator, 6)
    first, iterator, checkpoints = make()
    run(first, iterator, 3)
    checkpoints.save()

    second, iterator, checkpoints = make()
    assert checkpoints.resume(Resume.AUTO) == 3
    run(second, iterator, 3)

    # Equal only if momentum was restored with the weights.
    assert float(second.model.a) == pytest.approx(float(straight.model.a), rel=1e-6)
    assert float(second.model.b) == pytest.approx(float(straight.model.b), rel=1e-6)
    assert int(second.global_step) == 6


def test_another_batch_size_resumes_after_as_many_images_at_the_same_point_of_the_schedule(make: Any) -> None:
    first, iterator, checkpoints = make(cosine=True)
    run(first, iterator, 6)
    checkpoints.save()

    second, iterator, checkpoints = make(cosine=True, batch=2)
    assert checkpoints.resume(Resume.AUTO) == int(second.global_step) == 12
    assert float(second.model.a) == float(first.model.a)
    # The learning rate scales with the batch size; the schedule counts images.
    assert second.learning_rate() == pytest.approx(first.learning_rate() / 2, rel=1e-3)
    run(second, iterator, 1)
    assert checkpoints.save() == 13


def test_a_step_is_converted_to_another_batch_size_only_once(make: Any) -> None:
    for batch, resumed in ((4, None), (2, 4), (2, 5), (4, 3)):
        step, iterator, checkpoints = make(batch=batch)
        assert checkpoints.resume(Resume.AUTO) == resumed
        run(step, iterator, 2 if resumed is None else 1)
        checkpoints.save()


def test_the_newest_checkpoint_is_the_one_with_most_images_not_the_highest_step(make: Any) -> None:
    for batch, resumed in ((2, None), (4, 3), (4, 4), (4, 5)):
        step, iterator, checkpoints = make(batch=batch)
        assert checkpoints.resume(Resume.AUTO) == resumed
        run(step, iterator, 6 if resumed is None else 1)
        checkpoints.save()


def scaling(step: Any) -> tuple[float, int, int]:
    scale = step.loss_scale
    return float(scale.scale), int(scale.applied), int(scale.skipped)


def test_a_resumed_float16_training_keeps_its_loss_scale(make: Any) -> None:
    straight, iterator, _ = make(precision=Precision.FLOAT16)
    straight.loss_scale.scale.assign(2.0**24)
    run(straight, iterator, 20)
    first, iterator, checkpoints = make(precision=Precision.FLOAT16)
    first.loss_scale.scale.assign(2.0**24)
    run(first, iterator, 16)
    assert int(first.loss_scale.skipped) > 1
    assert int(first.loss_scale.applied) > 1
    checkpoints.save()

    second, iterator, checkpoints = make(precision=Precision.FLOAT16)
    assert checkpoints.resume(Resume.AUTO) == 16
    assert scaling(second) == scaling(first)
    run(second, iterator, 4)

    assert scaling(second) == scaling(straight)
    assert float(second.model.a) == float(straight.model.a)
    assert float(second.model.b) == float(straight.model.b)


def test_attempts_in_different_precisions_resume_from_each_other_and_the_loss_scale_stays(make: Any) -> None:
    first, iterator, checkpoints = make(precision=Precision.FLOAT16)
    run(first, iterator, 2)
    checkpoints.save()
    before = scaling(first)
    for number, precision in enumerate((Precision.FLOAT32, Precision.BFLOAT16, Precision.FLOAT16), start=2):
        step, iterator, checkpoints = make(precision=precision)
        assert checkpoints.resume(Resume.AUTO) == number
        assert scaling(step) == before
        run(step, iterator, 1)
        checkpoints.save()
    assert scaling(step) == (before[0], before[1] + 1, before[2])


def test_a_checkpoint_without_a_loss_scale_is_resumed_in_float16(make: Any, tmp_path: Path) -> None:
    import tensorflow as tf

    from worker.trainer.loss_scale import INITIAL

    step, iterator, _ = make()
    run(step, iterator, 3)
    batch = tf.Variable(4, dtype=tf.int64)
    older = tf.train.Checkpoint(step=step.global_step, model=step.model, optimizer=step.optimizer, batch=batch)
    tf.train.CheckpointManager(older, str(tmp_path / "checkpoints"), 2, checkpoint_name="ckpt").save(3)
    second, _, checkpoints = make(precision=Precision.FLOAT16)
    assert checkpoints.resume(Resume.AUTO) == 3
    assert float(second.model.a) == float(step.model.a)
    assert scaling(second) == (INITIAL, 0, 0)


def test_a_checkpoint_without_a_batch_size_is_resumed_at_its_step(make: Any, tmp_path: Path) -> None:
    import tensorflow as tf

    step, iterator, _ = make()
    run(step, iterator, 3)
    older = tf.train.Checkpoint(step=step.global_step, model=step.model, optimizer=step.optimizer)
    tf.train.CheckpointManager(older, str(tmp_path / "checkpoints"), 2, checkpoint_name="ckpt").save(3)
    second, _, checkpoints = make()
    assert checkpoints.resume(Resume.AUTO) == 3
    assert float(second.model.a) == float(step.model.a)


def test_there_is_nothing_to_resume_at_first(make: Any) -> None:
    assert make()[2].resume(Resume.AUTO) is None


@pytest.mark.parametrize("other", [{"extra": 1}, {"adam": True}])
def test_other_variables_are_refused(make: Any, other: dict[str, Any]) -> None:
    step, iterator, checkpoints = make()
    run(step, iterator, 1)
    checkpoints.save()

    with pytest.raises(AttemptEnd) as raised:
        make(**other)[2].resume(Resume.AUTO)

    assert raised.value.reason is Reason.BAD_CHECKPOINT
    assert "another model or optimizer" in raised.value.message
    assert "ckpt-1" in raised.value.message


def test_fewer_variables_are_refused_too(make: Any) -> None:
    step, iterator, checkpoints = make(extra=2)
    run(step, iterator, 1)
    checkpoints.save()

    with pytest.raises(AttemptEnd, match="another model or optimizer"):
        make()[2].resume(Resume.AUTO)


def test_a_fresh_start_over_checkpoints_is_refused(make: Any) -> None:
    step, iterator, checkpoints = make()
    run(step, iterator, 1)
    checkpoints.save()

    with pytest.raises(AttemptEnd) as raised:
        make()[2].resume(Resume.NEVER)
    assert raised.value.reason is Reason.BAD_CHECKPOINT


def test_only_the_newest_checkpoints_are_kept(make: Any, tmp_path: Path) -> None:
    step, iterator, checkpoints = make()
    for _ in range(4):
        run(step, iterator, 1)
        checkpoints.save()

    assert sorted(path.name for path in (tmp_path / "checkpoints").glob("*.index")) == ["ckpt-3.index", "ckpt-4.index"]


def test_a_damaged_checkpoint_is_skipped_with_a_warning(make: Any, tmp_path: Path) -> None:
    step, iterator, checkpoints = make()
    for _ in range(2):
        run(step, iterator, 1)
        checkpoints.save()
    (data,) = (tmp_path / "checkpoints").glob("ckpt-2.data*")
    data.write_bytes(b"")

    assert make()[2].resume(Resume.AUTO) == 1
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert any(event["kind"] == "warning" and "ckpt-2" in event["message"] for event in events)


def test_files_of_a_killed_save_are_deleted(make: Any, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    (folder / "ckpt-9_temp").mkdir(parents=True)
    (folder / "ckpt-9_temp" / "part-00000-of-00001.data-00000-of-00001").write_bytes(b"half")
    (folder / "ckpt-9.data-00000-of-00001").write_bytes(b"no index")

    assert make()[2].resume(Resume.AUTO) is None
    assert not list(folder.glob("ckpt-9*"))


def test_a_kill_at_any_moment_leaves_a_loadable_checkpoint(tmp_path: Path) -> None:
    script = Path(__file__).parent / "saves_until_killed.py"
    command = [sys.executable, str(script), str(tmp_path), str(ROUNDS), "7"]
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rounds = json.loads(done.stdout.splitlines()[-1])

    assert len(rounds) == ROUNDS
    for before, (resumed, *saved) in itertools.pairwise(rounds):
        assert resumed >= before[-1], f"step {before[-1]} was saved, but the next attempt resumed at {resumed}"
        assert saved == list(range(resumed + 1, resumed + 1 + len(saved)))
    assert rounds[-1][0] > ROUNDS


def test_the_best_checkpoint_loads_with_the_optimizer_after_its_number_was_saved_again(
    make: Any, tmp_path: Path
) -> None:
    """TensorFlow writes the index of a checkpoint over that of an earlier one with the same number."""
    best = BestCheckpoint(tmp_path / "checkpoints" / "best", BestMetric.MAP, Reporter(tmp_path))
    step, iterator, checkpoints = make(batch=4)
    run(step, iterator, 2)
    checkpoints.save()
    kept = {variable.name: variable.numpy() for variable in (step.model.a, step.model.b)}
    best.record(Evaluated(2, 4, 0.5), checkpoints.path)
    step.global_step.assign(0)
    for _ in range(4):  # until the original is deleted
        run(step, iterator, 1)
        checkpoints.save()

    assert not (tmp_path / "checkpoints" / "ckpt-2.index").exists()
    run(step, iterator, 1)
    assert best.path is not None
    assert checkpoints.load(best.path)
    assert {variable.name: variable.numpy() for variable in (step.model.a, step.model.b)} == kept
    again, iterator, _ = make(batch=4)
    run(again, iterator, 3)
    run(step, iterator, 1)
    # Equal only if momentum was restored with the weights.
    assert float(step.model.a) == pytest.approx(float(again.model.a), rel=1e-6)


def test_a_damaged_best_checkpoint_changes_nothing(make: Any, tmp_path: Path) -> None:
    step, iterator, checkpoints = make()
    run(step, iterator, 1)
    checkpoints.save()
    path = checkpoints.path
    run(step, iterator, 1)
    before = float(step.model.a)
    Path(f"{path}.data-00000-of-00001").write_bytes(b"")

    assert not checkpoints.load(path)
    assert float(step.model.a) == before
