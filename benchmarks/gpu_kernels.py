"""Which operations of a training step have no GPU kernel in their type, so that TensorFlow runs them on the host.

    python -m benchmarks.gpu_kernels

Traces the step of each family in each precision and looks up TensorFlow's kernel registrations: its wheel lists
those for GPUs on any machine. Nothing is run. An operation without a kernel is placed on the CPU in silence: its inputs
are copied to the host, its results back, and the GPU waits for both.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.precisions import FAMILIES, small_config
from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain.precision import Precision

Missing = Counter[tuple[str, str]]  # (operation, its types)

_STRING = 7  # of tensorflow.DataType
_GPU = ("GPU", "DEFAULT")  # kernels for DEFAULT run on any device


def missing_kernels(functions: Iterable[Any]) -> Missing:
    """How many operations of these concrete functions, and of those that they call, have no GPU kernel.

    What belongs on the host is left out: texts of assertions, and what the trainer places there (the clock that
    measures the wait for images).
    """
    return Counter(
        (node.op, ", ".join(_types(node)))
        for function in functions
        for node in _nodes(function)
        if not any(_fits(kernel, node) for kernel in _gpu_kernels(node.op)) and not _is_of_host(node)
    )


def traced_step(model: str, dataset: Dataset, precision: Precision) -> list[Any]:
    """The concrete functions of one update. `compat.install()` must have been called."""
    import tensorflow as tf

    from worker.trainer import model as models
    from worker.trainer.input import pipelines
    from worker.trainer.step import TrainStep

    tf.keras.backend.clear_session()
    config = small_config(model, dataset)
    built = models.build(config, is_training=True, precision=precision)
    step = TrainStep(config, built, accumulation=2, precision=precision)
    return step.trace(iter(pipelines.training(config, built, 2)))


def _nodes(function: Any) -> Iterator[Any]:
    graph = function.graph.as_graph_def()
    yield from graph.node
    for called in graph.library.function:
        yield from called.node_def


@cache
def _gpu_kernels(operation: str) -> list[Any]:
    from tensorflow.python.framework import kernels

    return [one for one in kernels.get_registered_kernels_for_op(operation).kernel if one.device_type in _GPU]


def _fits(kernel: Any, node: Any) -> bool:
    return all(
        set(_types_of(node.attr[constraint.name])) <= set(constraint.allowed_values.list.type)
        for constraint in kernel.constraint
    )


def _is_of_host(node: Any) -> bool:
    is_text = node.op == "Const" and node.attr["value"].tensor.dtype == _STRING
    return bool(is_text or "CPU" in node.device)


def _types_of(attribute: Any) -> list[int]:
    return [attribute.type] if attribute.type else list(attribute.list.type)


def _types(node: Any) -> list[str]:
    import tensorflow as tf

    return [
        f"{name}={'/'.join(tf.dtypes.as_dtype(one).name for one in _types_of(value))}"
        for name, value in sorted(node.attr.items())
        if _types_of(value)
    ]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    from worker.trainer import compat

    compat.install()
    with tempfile.TemporaryDirectory() as folder:
        dataset = shapes.generate(Path(folder, "shapes"), train=8, validation=1)
        for model in FAMILIES:
            for precision in Precision:
                functions = traced_step(model, dataset, precision)
                operations = sum(1 for function in functions for _ in _nodes(function))
                print(f"{model}, {precision}: {operations} operations; without a GPU kernel:", flush=True)
                for (name, types), count in sorted(missing_kernels(functions).items()):
                    print(f"  {count:5} {name:32} {types}", flush=True)


if __name__ == "__main__":
    main()
