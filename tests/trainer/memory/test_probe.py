"""The probe on a real model in a CPU slot, and on a tiny one that shows that it changes no variable."""

from typing import Any

import numpy as np
import pytest

from services.datasets.dataset import Dataset
from services.domain.contract import ENOUGH_RUNS, Probe, Reason
from tests.support.training.trainings import Ended, prepare, train

pytestmark = pytest.mark.tensorflow

MB = 10**6
SLOT_MB = 1000
LIMIT = SLOT_MB * 2**20
BATCH, PLANNED = 8, 2


@pytest.fixture(scope="module")
def ended(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """EfficientDet-D0, with the cautious plan of a model that has no measurements yet."""
    probe = Probe((8, 4, 2, 1), LIMIT, fixed_bytes=107 * MB, image_bytes=189 * MB, sums_bytes=24 * MB)
    attempt = prepare(
        tmp_path_factory.mktemp("probe") / "attempt",
        "efficientdet_d0",
        dataset,
        batch=BATCH,
        steps=2,
        slot_mb=SLOT_MB,
        micro_batch=PLANNED,
        probe=probe,
        evaluate_at_end=False,
        export=False,
    )
    return train(attempt)


def test_it_trains_with_a_larger_micro_batch_than_planned_and_does_not_run_out(ended: Ended) -> None:
    assert ended.outcome.reason is Reason.COMPLETED, ended.outcome.message
    [probe] = ended.of_kind("probe")
    assert probe["chosen"] == 4 > PLANNED
    assert [event["step"] for event in ended.of_kind("step")] == [1, 2]


def test_training_uses_most_of_the_slot_and_the_probe_predicts_its_peak(ended: Ended) -> None:
    [probe] = ended.of_kind("probe")
    measured = {point["micro_batch"]: point["peak"] for point in probe["points"]}
    peak = ended.outcome.allocator.peak
    assert peak is not None
    assert 0.75 * LIMIT < peak < LIMIT
    assert list(measured) == [4]
    assert 0.85 * peak < measured[4] < LIMIT  # peaks of equal steps were up to 13 % apart
    assert probe["chosen"] == 4


def test_a_correct_guess_needs_no_further_trace(ended: Ended) -> None:
    [probe] = ended.of_kind("probe")
    assert probe["traces"] == 1


VALUES = [1.0, -2.0, 3.0, 0.5]


def variables_of(step: Any) -> list[Any]:
    return [np.array(v.numpy()) for v in (*step.model.variables, *step.optimizer.variables(), step.global_step)]


@pytest.mark.usefixtures("tensorflow_ready")
@pytest.mark.parametrize("moving_average", [False, True])
@pytest.mark.parametrize("chosen", [1, 4])
def test_a_rehearsal_changes_nothing_in_the_training(chosen: int, moving_average: bool) -> None:
    from tests.support.training import tiny_detector
    from worker.trainer.memory import worst_batch
    from worker.trainer.step import TrainStep

    config = tiny_detector.config()
    config.train_config.optimizer.use_moving_average = moving_average
    plain = TrainStep(config, tiny_detector.TinyDetector(), accumulation=4 // chosen)
    rehearsed = TrainStep(config, tiny_detector.TinyDetector(), accumulation=2)
    rehearsed.trace(tiny_detector.batches(VALUES, 2))
    before = variables_of(rehearsed)
    with rehearsed.unchanged():
        for micro_batch in (2, 1, 4):
            rehearsed.split(4 // micro_batch)
            images = next(tiny_detector.batches(VALUES, micro_batch))
            assert rehearsed.rehearse(worst_batch.endless(images)) == ENOUGH_RUNS
        assert int(rehearsed.global_step) > 0
    for was, now in zip(before, variables_of(rehearsed), strict=True):
        np.testing.assert_array_equal(was, now)

    rehearsed.split(4 // chosen)
    rehearsed.settle()
    iterators = [tiny_detector.batches(VALUES, chosen) for _ in range(2)]
    for _ in range(3):
        for step, iterator in zip((plain, rehearsed), iterators, strict=True):
            step(iterator)
    for one, other in zip(variables_of(plain), variables_of(rehearsed), strict=True):
        np.testing.assert_array_equal(one, other)
    assert rehearsed.traces == 3


@pytest.mark.usefixtures("tensorflow_ready")
def test_the_worst_batch_has_no_padding_in_images_or_boxes() -> None:
    import tensorflow as tf

    from worker.trainer.memory import worst_batch

    boxes = np.zeros((2, 3, 4), np.float32)
    boxes[0, :2], boxes[1, 0] = [[0.1] * 4, [0.2] * 4], [0.3] * 4
    features = {"image": np.zeros((2, 64, 32, 3), np.float32), "true_image_shape": np.ones((2, 3), np.int32)}
    labels = {
        "groundtruth_boxes": boxes,
        "groundtruth_weights": np.array([[1, 1, 0], [1, 0, 0]], np.float32),
        "num_groundtruth_boxes": np.array([2, 1], np.int32),
    }
    real = iter(tf.data.Dataset.from_tensors((features, labels)))
    worst = worst_batch.endless(next(real))

    assert worst.element_spec == real.element_spec
    for _ in range(2):
        made, truth = next(worst)
        assert made["true_image_shape"].numpy().tolist() == [[64, 32, 3]] * 2
        assert truth["num_groundtruth_boxes"].numpy().tolist() == [3, 3]
        assert truth["groundtruth_weights"].numpy().min() == 1
        corners = truth["groundtruth_boxes"].numpy()[:, :, 0]
        np.testing.assert_array_equal(corners, np.array([[0.1, 0.2, 0.1], [0.3, 0.3, 0.3]], np.float32))
