"""Memory estimates of graphs that TensorFlow traced. test_families compares them with real steps."""

from dataclasses import dataclass
from typing import Any

import pytest

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]

SIDE = 32
MB = 10**6


@dataclass(frozen=True)
class Step:
    """A concrete function, and its variables, which it does not keep alive itself."""

    function: Any
    kernels: list[Any]

    def walk(self, images: int, held: int = 0) -> Any:
        from worker.trainer.memory.graph_memory import walk

        return walk([self.function], images, held=held)


def step_of(images: int, depth: int = 32) -> Step:
    """A training step of three convolutions; the middle one has 9 × `depth`² weights."""
    import tensorflow as tf

    shapes = [(3, 3, 3, depth), (3, 3, depth, depth), (3, 3, depth, 1)]
    kernels = [tf.Variable(tf.zeros(shape), name=f"kernel{number}") for number, shape in enumerate(shapes)]

    def step(iterator: Any) -> Any:
        with tf.GradientTape() as tape:
            value = next(iterator)
            for kernel in kernels:
                value = tf.nn.relu(tf.nn.conv2d(value, kernel, 1, "SAME"))
            loss = tf.reduce_mean(value)
        for kernel, gradient in zip(kernels, tape.gradient(loss, kernels), strict=True):
            kernel.assign_sub(0.1 * gradient)
        return loss

    dataset = tf.data.Dataset.from_tensors(tf.zeros([images, SIDE, SIDE, 3])).repeat()
    return Step(tf.function(step, autograph=False).get_concrete_function(iter(dataset)), kernels)


def test_two_activations_are_kept_for_the_gradients_of_each_image() -> None:
    one = SIDE * SIDE * 32 * 4
    assert 2 * one <= step_of(4).walk(4).image_bytes <= 4.5 * one


def test_the_estimate_for_another_micro_batch_equals_that_of_its_own_graph() -> None:
    assert step_of(64).walk(64).peak_of(128) == pytest.approx(step_of(128).walk(128).peak_bytes, rel=0.1)


def test_weights_and_their_gradients_do_not_grow_with_the_images() -> None:
    weights = 9 * 512 * 512 * 4
    assert 2 * weights < step_of(1, depth=512).walk(1).fixed_bytes


def test_bytes_that_the_allocator_holds_replace_those_of_the_variables() -> None:
    step = step_of(1)
    variables = sum(kernel.shape.num_elements() * 4 for kernel in step.kernels)
    held = 500 * MB
    assert step.walk(1, held=held).fixed_bytes == step.walk(1).fixed_bytes - variables + held


def test_loops_count_one_iteration_and_branches_the_largest() -> None:
    import tensorflow as tf

    from worker.trainer.memory.graph_memory import walk

    size = 1000

    def turn(count: Any, total: Any) -> tuple[Any, Any]:
        large = tf.random.uniform([size, size])
        return count + 1, total + tf.reduce_sum(tf.linalg.matmul(large, large))

    def loop(start: Any) -> Any:
        total = tf.while_loop(lambda count, _: count < 3, turn, [tf.constant(0), start])[1]
        return tf.cond(total > 0, lambda: tf.reduce_sum(tf.random.uniform([size, 3 * size])), lambda: total)

    function = tf.function(loop, autograph=False).get_concrete_function(tf.TensorSpec([]))
    assert 3 * 4 * size**2 <= walk([function], 1).peak_bytes <= 4 * 4 * size**2
