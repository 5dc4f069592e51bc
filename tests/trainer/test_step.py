"""The arithmetic of the training step, on a model small enough to compute by hand, and once on a real one."""

import time
from typing import Any

import numpy as np
import pytest

from services.domain.contract import Reason
from services.domain.pipeline_config import build_config
from services.domain.precision import Precision
from worker.trainer.failures import AttemptEnd

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]

VALUES = [1.0, -2.0, 3.0, 0.5]


def make_step(config: Any, micro_batch: int = 4) -> tuple[Any, Any]:
    from tests.support.training import tiny_detector
    from worker.trainer.step import TrainStep

    step = TrainStep(config, tiny_detector.TinyDetector(), accumulation=4 // micro_batch)
    iterator = tiny_detector.batches(VALUES, micro_batch)
    step.trace(iterator)
    return step, iterator


def weights(step: Any) -> tuple[float, float]:
    return float(step.model.a), float(step.model.b)


def expected_weights(steps: int, rate: float = 0.1, clip: float | None = None) -> tuple[float, float]:
    """Momentum descent on the mean loss of VALUES and the penalty on a, in plain numpy."""
    x, w, velocity = np.array(VALUES), np.array([0.5, 0.0]), np.zeros(2)
    for _ in range(steps):
        error = w[0] * x + w[1] - 1
        gradient = np.array([2 * np.mean(error * x) + 0.02 * w[0], 2 * np.mean(error)])
        norm = np.linalg.norm(gradient)
        if clip and norm > clip:
            gradient *= clip / norm
        velocity = 0.9 * velocity - rate * gradient
        w = w + velocity
    return w[0], w[1]


@pytest.mark.parametrize("micro_batch", [4, 2, 1])
def test_any_micro_batch_gives_the_update_of_the_whole_batch(micro_batch: int) -> None:
    from tests.support.training import tiny_detector

    step, iterator = make_step(tiny_detector.config(), micro_batch)
    for _ in range(3):
        losses = step(iterator)

    assert weights(step) == pytest.approx(expected_weights(3), rel=1e-5)
    assert len(losses) == 4 // micro_batch
    assert int(step.global_step) == 3


@pytest.mark.parametrize("micro_batch", [4, 2])
def test_the_wait_for_images_is_measured(micro_batch: int) -> None:
    import tensorflow as tf

    from tests.support.training import tiny_detector

    def slowly(image: Any) -> Any:
        time.sleep(0.02)
        return image

    step, iterator = make_step(tiny_detector.config(), micro_batch)
    spec = iterator.element_spec
    batch = next(iterator)

    def delayed(number: Any) -> Any:
        with tf.control_dependencies([tf.numpy_function(slowly, [number], tf.int64)]):
            return tf.nest.map_structure(tf.identity, batch)

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False  # each element is made when it is asked for
    slow = iter(tf.data.Dataset.range(100).map(delayed).with_options(options))
    assert slow.element_spec == spec
    before = step.input_wait_s()
    step(slow)

    assert step.input_wait_s() - before >= 0.9 * 0.02 * (4 // micro_batch)
    assert step.traces == 1


@pytest.mark.parametrize("micro_batch", [4, 2])
def test_the_step_is_traced_once(micro_batch: int) -> None:
    from tests.support.training import tiny_detector

    step, iterator = make_step(tiny_detector.config(), micro_batch)
    for _ in range(3):
        step(iterator)

    assert step.traces == 1


@pytest.mark.parametrize("micro_batch", [4, 2])
def test_gradients_are_clipped_after_they_are_summed_up(micro_batch: int) -> None:
    from tests.support.training import tiny_detector

    config = tiny_detector.config()
    config.train_config.gradient_clipping_by_norm = 0.25
    step, iterator = make_step(config, micro_batch)
    for _ in range(2):
        step(iterator)

    assert weights(step) == pytest.approx(expected_weights(2, clip=0.25), rel=1e-5)


def test_a_frozen_variable_stays_as_it_is() -> None:
    from tests.support.training import tiny_detector

    config = tiny_detector.config()
    config.train_config.freeze_variables.append("backbone")
    step, iterator = make_step(config)
    step(iterator)

    assert weights(step)[0] == 0.5
    assert weights(step)[1] != 0.0


def test_freezing_everything_is_refused() -> None:
    from tests.support.training import tiny_detector

    config = tiny_detector.config()
    config.train_config.freeze_variables.append(".*")

    with pytest.raises(AttemptEnd) as raised:
        make_step(config)
    assert raised.value.reason is Reason.BAD_CONFIG
    assert "freeze_variables" in raised.value.message


def test_regularization_losses_are_left_out_if_the_config_says_so() -> None:
    from tests.support.training import tiny_detector

    config = tiny_detector.config()
    config.train_config.add_regularization_loss = False
    step, iterator = make_step(config)

    assert "Loss/regularization_loss" not in step(iterator)[0]
    assert "Loss/regularization_loss" in make_step(tiny_detector.config())[0](iterator)[0]


def test_the_decay_of_rms_prop_does_not_decay_the_learning_rate() -> None:
    from tests.support.training import tiny_detector

    config = tiny_detector.config()
    rms_prop = config.train_config.optimizer.rms_prop_optimizer
    rms_prop.learning_rate.constant_learning_rate.learning_rate = 0.01
    rms_prop.decay, rms_prop.momentum_optimizer_value, rms_prop.epsilon = 0.9, 0.0, 1e-7
    step, iterator = make_step(config)
    before = weights(step)
    step(iterator)
    first = abs(weights(step)[1] - before[1])

    # rate / sqrt(1 - rho): RMSprop's first update, whatever the size of the gradient
    assert first == pytest.approx(0.01 / np.sqrt(0.1), rel=1e-3)
    assert float(step.optimizer._decayed_lr("float32")) == pytest.approx(0.01)


def test_moving_averages_follow_the_weights_and_swap_back_bit_for_bit() -> None:
    from tests.support.training import tiny_detector

    config = tiny_detector.config()
    config.train_config.optimizer.use_moving_average = True
    step, iterator = make_step(config, micro_batch=2)
    for _ in range(5):
        step(iterator)
    trained = weights(step)

    step.swap_averages()
    averaged = weights(step)
    step.swap_averages()

    assert weights(step) == trained
    assert averaged != trained
    assert averaged == pytest.approx(trained, abs=0.5)


def test_a_step_of_a_real_faster_rcnn_is_the_same_in_two_micro_batches(dataset: Any) -> None:
    """The losses of two-stage models are means over images. With frozen batch statistics, and every anchor and proposal
    sampled (so nothing is random), batch 4 and 2 × micro-batch 2 differ only by float32 rounding.
    """
    from benchmarks.accumulation import compare_updates

    assert compare_updates("faster_rcnn_resnet50_fpn", dataset, batch_norm="frozen").relative_difference < 1e-3


def test_the_second_stage_crops_features_of_every_precision() -> None:
    """TensorFlow's crop operation does not support bfloat16, and its crops are always float32."""
    import tensorflow as tf

    from services.domain import catalogue
    from worker.trainer import model

    config = build_config(catalogue.get("faster_rcnn_resnet50_fpn"), 1, (256, 256), 1, 1)
    box = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])
    crops = {}
    for precision in Precision:
        kind = tf.dtypes.as_dtype(str(precision))
        features = tf.cast(tf.reshape(tf.range(64.0), [1, 8, 8, 1]), kind)
        with tf.GradientTape() as tape:
            tape.watch(features)
            built = model.build(config, is_training=True, precision=precision)
            crop = built._crop_and_resize_fn([features], box, None, [4, 4])
        assert crop.dtype is tape.gradient(crop, features).dtype is kind
        crops[precision] = tf.cast(crop, tf.float32).numpy()
    for precision in (Precision.BFLOAT16, Precision.FLOAT16):
        assert np.allclose(crops[Precision.FLOAT32], crops[precision], rtol=0.01)
