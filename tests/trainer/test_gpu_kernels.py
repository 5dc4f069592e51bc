"""Operations of a traced step that a GPU leaves to the host. TensorFlow lists its GPU kernels on any machine."""

from typing import Any

import pytest

from benchmarks.gpu_kernels import missing_kernels, traced_step
from benchmarks.precisions import FAMILIES
from services.domain.precision import Precision
from tests.trainer.test_loss_scale import make_step

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]

# Also in docs/trainer.md, with what each costs.
EXCEPTIONS = {
    "efficientdet_d0": set(),
    "faster_rcnn_resnet50_fpn": {"NonMaxSuppressionV5", "RandomShuffle"},
    "mask_rcnn_resnet50_fpn": {"NonMaxSuppressionV5", "RandomShuffle"},
}


def test_an_operation_without_a_kernel_in_its_type_is_found_in_called_functions_too() -> None:
    import tensorflow as tf

    def body(boxes: Any) -> Any:
        def chosen() -> Any:
            scores = tf.reduce_sum(boxes, axis=1)
            return tf.image.non_max_suppression_with_scores(boxes, scores, 1)[0]

        return tf.cond(tf.size(boxes) > 4, chosen, lambda: tf.zeros([1], tf.int32))

    traced = tf.function(body, autograph=False).get_concrete_function(tf.TensorSpec([None, 4], tf.float32))

    assert [name for name, _ in missing_kernels([traced])] == ["NonMaxSuppressionV5"]


@pytest.mark.parametrize("micro_batch", [4, 1])
def test_scaling_and_skipping_need_nothing_of_the_host(micro_batch: int) -> None:
    from tests.support.training import tiny_detector

    step, _ = make_step(Precision.FLOAT16, micro_batch=micro_batch)

    assert not missing_kernels(step.trace(tiny_detector.batches([1.0] * 4, micro_batch)))


@pytest.mark.slow
@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("model", FAMILIES)
def test_the_steps_of_all_families_have_gpu_kernels_but_for_known_exceptions(
    model: str, precision: Precision, dataset: Any
) -> None:
    found = missing_kernels(traced_step(model, dataset, precision))

    assert {name for name, _ in found} == EXCEPTIONS[model]
