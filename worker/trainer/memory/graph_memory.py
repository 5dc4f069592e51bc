"""Estimate the peak memory of a traced training step from its graph, without running it.

Weights, slots and sums are held throughout; `liveness` gives the rest. A CPU's convolutions need buffers of known size.
A GPU chooses its own at run time: for it the estimate leaves them out.
"""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from worker.trainer.memory.liveness import Node, Peak, constants, peak, simplified

__all__ = ["Walk", "walk"]

_BY_SHAPE = {
    "Shape": "Const",
    "ShapeN": "Const",
    "Size": "Const",
    "Rank": "Const",
    "ZerosLike": "Fill",
    "OnesLike": "Fill",
}
_BODIES = ("body", "cond", "then_branch", "else_branch", "f")
_L2_BYTES, _L3_BYTES = 256 * 2**10, 30 * 2**20  # the CPU cache sizes that TensorFlow's convolutions assume
_COMPUTED = 8.0  # cost of convolutions and matrix products, per byte moved; other operations cost 1
_UNSPLIT = 1.06  # allocated bytes per requested byte: the allocator does not split off small remainders


@dataclass(frozen=True)
class Walk:
    """Estimated bytes: `fixed_bytes` for any micro-batch, plus `image_bytes` for each image."""

    fixed_bytes: int
    image_bytes: int
    micro_batch: int

    @property
    def peak_bytes(self) -> int:
        return self.peak_of(self.micro_batch)

    def peak_of(self, micro_batch: int) -> int:
        """The estimate for another micro-batch."""
        return self.fixed_bytes + micro_batch * self.image_bytes


def walk(functions: Sequence[Any], micro_batch: int, *, held: int = 0, on_gpu: bool = False) -> Walk:
    """Estimate a step whose concrete functions, traced with `micro_batch` images, run one after the other.

    `held` is what the allocator holds before the step: on a CPU slot that includes the input pipeline's tensors.
    """
    variables = {id(v): v.shape.num_elements() * v.dtype.size for f in functions for v in f.graph.variables}
    graphs = [_nodes_of(function.graph, on_gpu) for function in functions]
    largest = max((_passing(nodes) for nodes in graphs), key=lambda found: found.bytes)
    lasting = max(sum(variables.values()), held) + sum(constants(nodes) for nodes in graphs)
    return Walk(
        fixed_bytes=lasting + round(_UNSPLIT * (largest.bytes - largest.of_images)),
        image_bytes=round(_UNSPLIT * largest.of_images / micro_batch),
        micro_batch=micro_batch,
    )


def _nodes_of(graph: Any, on_gpu: bool) -> list[Node]:
    return simplified(_read(graph, on_gpu), [tensor.op.name for tensor in graph.outputs])


def _passing(nodes: Sequence[Node]) -> Peak:
    """The peak of what is freed before the end: without constants."""
    found = peak(nodes, _threads())
    return replace(found, bytes=found.bytes - constants(nodes))


def _threads() -> int:
    return len(os.sched_getaffinity(0))


def _read(graph: Any, on_gpu: bool) -> list[Node]:
    """The operations of a traced graph in the order of tracing. Variables have no size here."""
    operations = graph.get_operations()
    boxes = _most_boxes(operations)
    parameters = {tuple(t.shape.as_list()) for o in operations if o.type == "ReadVariableOp" for t in o.outputs}
    of_images: set[str] = set()
    nodes = []
    for operation in operations:
        if operation.type == "IteratorGetNext" or any(tensor.op.name in of_images for tensor in operation.inputs):
            of_images.add(operation.name)
        is_gradient = any(_shape(tensor, boxes) in parameters for tensor in operation.outputs[:1])
        scratch = _bodies(operation, on_gpu) + (0 if on_gpu else _columns(operation))
        nodes.append(_node(operation, boxes, scratch, of_images=operation.name in of_images and not is_gradient))
    return nodes


def _node(operation: Any, boxes: int, scratch: int, *, of_images: bool) -> Node:
    kind = operation.type
    inputs = [tensor.name.removesuffix(":0") for tensor in operation.inputs]
    controls = [f"^{other.name}" for other in operation.control_inputs]
    sizes = tuple(_size(tensor, boxes) for tensor in operation.outputs)
    shapes_are_known = all(tensor.shape.is_fully_defined() for tensor in operation.inputs)
    if kind in _BY_SHAPE and shapes_are_known:
        return Node(operation.name, _BY_SHAPE[kind], outputs=sizes)
    if kind == "Unpack" and operation.get_attr("axis") == 0:
        kind = "View"
    return Node(
        operation.name,
        kind,
        (*inputs, *controls),
        sizes,
        scratch=scratch,
        cost=_cost(operation, sizes, boxes),
        of_images=of_images,
    )


def _size(tensor: Any, boxes: int) -> int:
    shape = _shape(tensor, boxes)
    return 0 if shape is None else math.prod(shape) * int(tensor.dtype.size)


def _shape(tensor: Any, boxes: int) -> tuple[int, ...] | None:
    """Take an unknown dimension for the number of boxes: nothing else in a detection step depends on the data."""
    if tensor.shape.rank is None:
        return None
    return tuple(boxes if length is None else length for length in tensor.shape.as_list())


def _most_boxes(operations: Iterable[Any]) -> int:
    """The number of boxes that the examples are padded to."""
    examples = [tensor.shape for each in operations if each.type == "IteratorGetNext" for tensor in each.outputs]
    return max([shape[1] or 1 for shape in examples if shape.rank == 3 and shape[2] == 4], default=1)


def _cost(operation: Any, sizes: Iterable[int], boxes: int) -> float:
    moved = float(sum(sizes) + sum(_size(tensor, boxes) for tensor in operation.inputs))
    computes = operation.type.startswith("Conv2D") or "MatMul" in operation.type
    return moved * _COMPUTED if computes else moved


def _columns(operation: Any) -> int:
    """The im2col buffer of a convolution's gradients on a CPU: the image patches side by side."""
    if operation.type not in ("Conv2DBackpropInput", "Conv2DBackpropFilter"):
        return 0
    gradient = operation.inputs[2]
    of_weights = operation.type == "Conv2DBackpropFilter"
    weights = operation.outputs[0] if of_weights else operation.inputs[1]
    if not (gradient.shape.is_fully_defined() and weights.shape.is_fully_defined()):
        return 0
    batch, height, width, depth = (int(length) for length in gradient.shape.as_list())
    patch: int = math.prod(weights.shape.as_list()[:3])
    columns, item = height * width * patch, int(gradient.dtype.size)
    image = columns + height * width * depth + patch * depth
    if not of_weights and (batch == 1 or image // _threads() >= _L2_BYTES // item):
        return columns * item
    return math.ceil(_L3_BYTES // item / image) * columns * item


def _bodies(operation: Any, on_gpu: bool) -> int:
    """The peak of the largest branch, or of one iteration of a loop."""
    attributes = operation.node_def.attr if operation.type.endswith(("If", "While", "PartitionedCall")) else {}
    names = [attributes[key].func.name for key in _BODIES if key in attributes]
    graphs = [_nodes_of(operation.graph._get_function(name).graph, on_gpu) for name in names]
    return max((peak(nodes, _threads()).bytes for nodes in graphs), default=0)
