"""float16 on a model small enough to compute by hand: scaled losses, skipped updates, and the end of both."""

import math
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services.domain.contract import AllocatorStats, Reason
from services.domain.precision import Precision
from tests.support.training.trainings import read_events
from tests.trainer.test_step import VALUES, expected_weights, weights
from worker.trainer.failures import AttemptEnd
from worker.trainer.report import Reporter

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]

TOLERANCE = {Precision.FLOAT32: 1e-5, Precision.BFLOAT16: 2e-2, Precision.FLOAT16: 2e-3}
NOT_FINITE = [math.nan] * 4


def make_step(
    precision: Precision,
    *,
    micro_batch: int = 4,
    scale: float | None = None,
    moving_average: bool = False,
    values: list[float] = VALUES,
) -> tuple[Any, Any]:
    from tests.support.training import tiny_detector
    from worker.trainer.model import compute_in
    from worker.trainer.step import TrainStep

    config = tiny_detector.config()
    config.train_config.optimizer.use_moving_average = moving_average
    model = tiny_detector.TinyDetector()
    if precision is not Precision.FLOAT32:
        compute_in(model, precision)
    step = TrainStep(config, model, accumulation=4 // micro_batch, precision=precision)
    iterator = tiny_detector.batches(values, micro_batch)
    step.trace(iterator)
    if scale:
        step.loss_scale.scale.assign(scale)
    return step, iterator


def everything(step: Any) -> list[Any]:
    averaged = getattr(step.optimizer, "_optimizer", step.optimizer)
    found = (*step.model.variables, *step.optimizer.variables(), *averaged.variables(), *step._sums)
    return [np.array(variable.numpy()) for variable in found]


@pytest.mark.parametrize("micro_batch", [4, 1])
@pytest.mark.parametrize("precision", Precision)
def test_updates_in_every_precision_are_those_of_float32_but_for_rounding(
    precision: Precision, micro_batch: int
) -> None:
    step, iterator = make_step(precision, micro_batch=micro_batch, scale=2.0**8)
    for _ in range(3):
        step(iterator)

    assert weights(step) == pytest.approx(expected_weights(3), rel=TOLERANCE[precision])
    assert int(step.loss_scale.applied) == (3 if precision is Precision.FLOAT16 else 0)
    assert step.traces == 1


@pytest.mark.parametrize("moving_average", [False, True])
@pytest.mark.parametrize("micro_batch", [4, 1])
def test_a_scale_that_is_too_large_is_halved_until_updates_are_finite_and_grows_again(
    micro_batch: int, moving_average: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worker.trainer import loss_scale

    monkeypatch.setattr(loss_scale, "DOUBLED_AFTER", 3)
    step, iterator = make_step(Precision.FLOAT16, micro_batch=micro_batch, scale=2.0**24, moving_average=moving_average)
    untouched = everything(step)
    scales = []
    while int(step.loss_scale.applied) == 0:
        for was, now in zip(untouched, everything(step), strict=True):
            np.testing.assert_array_equal(was, now)
        scales.append(float(step.loss_scale.scale))
        step(iterator)
    skipped = len(scales) - 1

    assert scales == [2.0 ** (24 - number) for number in range(len(scales))]
    assert 2**10 <= scales[-1] <= 2**15  # the gradient of an image is about 10, and float16 ends at 65,504
    assert int(step.loss_scale.skipped) == skipped
    assert weights(step) == pytest.approx(expected_weights(1), rel=TOLERANCE[Precision.FLOAT16])
    for _ in range(2):
        step(iterator)
    assert float(step.loss_scale.scale) == 2 * scales[-1]
    assert int(step.loss_scale.applied) == 0
    assert int(step.global_step) == skipped + 3
    assert weights(step) == pytest.approx(expected_weights(3), rel=TOLERANCE[Precision.FLOAT16])


class Memory:
    def counters(self) -> AllocatorStats:
        return AllocatorStats(limit=3, in_use=1, peak=2)


def meter(step: Any, folder: Path) -> Any:
    from worker.trainer.memory.meter import Meter

    memory: Any = Memory()
    return Meter(step, 100, 0.0, Reporter(folder), memory)


def test_skipped_updates_are_reported_and_are_no_nan_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step, iterator = make_step(Precision.FLOAT16, values=NOT_FINITE)
    reports = meter(step, tmp_path)
    for number in range(1, 4):
        reports.count(number, step(iterator))

    events = [event for event in read_events(tmp_path) if event["kind"] == "step"]
    assert [(event["loss_scale"], event["skipped_updates"]) for event in events] == [
        (2.0**14, 1),
        (2.0**13, 2),
        (2.0**12, 3),
    ]
    assert "Loss/total_loss" not in events[-1]["losses"]
    assert "loss nan" in capsys.readouterr().out.splitlines()[-1]
    assert weights(step) == (0.5, 0.0)


def test_a_step_in_float32_reports_no_loss_scale(tmp_path: Path) -> None:
    step, iterator = make_step(Precision.FLOAT32)
    meter(step, tmp_path).count(1, step(iterator))

    (event,) = [event for event in read_events(tmp_path) if event["kind"] == "step"]
    assert not {"loss_scale", "skipped_updates"} & event.keys()


def test_gradients_that_are_not_finite_at_the_smallest_scale_end_the_attempt(tmp_path: Path) -> None:
    step, iterator = make_step(Precision.FLOAT16, scale=2.0, values=NOT_FINITE)
    reports = meter(step, tmp_path)
    reports.count(1, step(iterator))
    assert float(step.loss_scale.scale) == 1.0

    with pytest.raises(AttemptEnd) as raised:
        reports.count(2, step(iterator))
    assert raised.value.reason is Reason.NAN_LOSS
    assert "2 updates skipped" in raised.value.message
    assert "float16" in raised.value.message
    assert "policy.levers" in raised.value.message


def test_a_rehearsal_leaves_the_loss_scale_as_it_was() -> None:
    step, iterator = make_step(Precision.FLOAT16, scale=2.0**24)
    with step.unchanged():
        step.rehearse(iterator)
        assert float(step.loss_scale.scale) < 2.0**24

    assert float(step.loss_scale.scale) == 2.0**24
    assert int(step.loss_scale.skipped) == 0


@pytest.mark.parametrize("synchronised", [False, True])
def test_an_activation_that_overflows_leaves_no_trace_in_the_moving_statistics(synchronised: bool) -> None:
    import tensorflow as tf

    from worker.trainer.model import compute_in

    layer = tf.keras.layers.BatchNormalization(
        momentum=0.5, dtype="mixed_float16", synchronized=synchronised, gamma_initializer="ones"
    )
    model = types.SimpleNamespace(predict=tf.function(lambda images: layer(images, training=True), autograph=False))
    compute_in(model, Precision.FLOAT16)
    images = np.full((1, 2, 2, 2), 3.0, np.float32)
    images[..., 1] = 1e6

    assert model.predict(images).dtype is tf.float32

    mean, variance = layer.moving_mean.numpy(), layer.moving_variance.numpy()
    assert mean.tolist() == [1.5, 0.0]
    assert variance[1] == 1.0
    assert variance[0] < 1.0
