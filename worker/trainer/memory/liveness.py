"""Simulate a graph of operations to find its peak memory, from the sizes of results and the order of execution.

A buffer lives from the operation that creates it to the last one that reads it. Operations that only view their input
create none; those that may overwrite their input do so where nothing else reads it. Operations are scheduled as by
TensorFlow's executor: a thread continues with what it has just made ready, cheap operations first. It keeps one
expensive operation and queues the others; threads take the newest of their own queue first, then the oldest of others.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

__all__ = ["Node", "Peak", "constants", "peak", "simplified"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GRANULE = 256  # the allocator rounds sizes up to it
_LARGEST_FOLDED = 100 * 1024  # TensorFlow computes larger constants in every step
_LASTING = _names("Const Placeholder")
_SAME_BUFFER = _names(
    "EnsureShape ExpandDims Identity IdentityN PreventGradient ReadVariableOp Reshape Snapshot Squeeze StopGradient "
    "View"
)
_CHEAP = _LASTING | _SAME_BUFFER | _names("NoOp")
_IN_PLACE = _names(
    "Abs Add AddN AddV2 BiasAdd Cast Cos Div DivNoNan Elu EluGrad Exp Expm1 Floor FloorDiv FloorMod LeakyRelu "
    "LeakyReluGrad Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul Neg Pow RealDiv Reciprocal "
    "Relu Relu6 Relu6Grad ReluGrad Round Rsqrt RsqrtGrad Select SelectV2 Sigmoid SigmoidGrad Sign Sin Softmax Softplus "
    "SoftplusGrad Sqrt SqrtGrad Square SquaredDifference Sub Tanh TanhGrad TensorScatterAdd TensorScatterUpdate"
)
_EFFECTS = ("Apply", "Assign", "Iterator")  # run even if nothing reads their results
_NOT_FOLDED = (*_EFFECTS, "Random", "Stateless", "Placeholder", "Variable", "Assert")


@dataclass(frozen=True)
class Node:
    """An operation. `inputs` are `a` (the first output of node a), `a:1` (its second) or `^a` (a control dependency).

    `outputs` are their sizes in bytes; `scratch` is needed only while the operation runs. `cost` is its time, in any
    unit. `of_images`: the outputs grow with the number of images. The op `View` returns its input without a copy.
    """

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[int, ...] = ()
    scratch: int = 0
    cost: float = 0.0
    of_images: bool = False


@dataclass(frozen=True)
class Peak:
    """`bytes` at the peak, and how many of them grow with the number of images."""

    bytes: int
    of_images: int


def simplified(nodes: Iterable[Node], wanted: Iterable[str]) -> list[Node]:
    """The nodes that TensorFlow runs after folding small constants and pruning what no wanted node or effect needs.

    Each of `nodes` must come after its inputs.
    """
    left: dict[str, Node] = {}
    filled: dict[tuple[int, ...], str] = {}
    for node in nodes:
        if all(left[_source(name)[0]].op == "Const" for name in node.inputs):
            left[node.name] = _folded(node, filled)
        else:
            left[node.name] = node
    reached: set[str] = set()
    ahead = [*wanted, *(node.name for node in left.values() if _is_any(node.op, _EFFECTS))]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += [_source(name)[0] for name in left[name].inputs]
    return [node for node in left.values() if node.name in reached]


def _folded(node: Node, filled: dict[tuple[int, ...], str]) -> Node:
    """What folding makes of a node that reads only constants. Filled tensors of the same size are stored once."""
    constant = Node(node.name, "Const", outputs=node.outputs)
    if node.op == "Fill":
        first = filled.setdefault(node.outputs, node.name)
        return constant if first == node.name else replace(constant, op="View", inputs=(first,))
    is_small = sum(node.outputs) <= _LARGEST_FOLDED
    return constant if node.inputs and is_small and not _is_any(node.op, _NOT_FOLDED) else node


def constants(nodes: Iterable[Node]) -> int:
    """The bytes of constants. They stay allocated while other graphs run."""
    return sum(_rounded(size) for node in nodes if node.op == "Const" for size in node.outputs)


def peak(nodes: Sequence[Node], threads: int = 2) -> Peak:
    """The peak of one run. Constants and placeholders stay allocated until the end."""
    return _Run(nodes, threads).peak()


def _source(name: str) -> tuple[str, int]:
    """The node that an input refers to, and the index of its output; -1 for a control dependency."""
    if name.startswith("^"):
        return name[1:], -1
    source, _, output = name.partition(":")
    return source, int(output or 0)


def _is_any(op: str, words: Iterable[str]) -> bool:
    return any(word in op for word in words)


def _rounded(size: int) -> int:
    return -(-size // _GRANULE) * _GRANULE


class _Buffer:
    __slots__ = ("of_images", "readers", "size")

    def __init__(self, size: int, of_images: bool) -> None:
        self.size = size
        self.of_images = of_images
        self.readers = 0  # that have not finished


class _Memory:
    """The bytes held now, and the peak so far."""

    def __init__(self) -> None:
        self._held = 0
        self._of_images = 0
        self.most = Peak(0, 0)

    def make(self, size: int, of_images: bool) -> _Buffer:
        buffer = _Buffer(_rounded(size), of_images)
        self._held += buffer.size
        self._of_images += buffer.size * of_images
        return buffer

    def release(self, buffer: _Buffer) -> None:
        """Remove one reader; free the buffer after the last."""
        buffer.readers -= 1
        if buffer.readers == 0:
            self._held -= buffer.size
            self._of_images -= buffer.size * buffer.of_images

    def note(self) -> None:
        if self._held > self.most.bytes:
            self.most = Peak(self._held, self._of_images)


class _Run:
    """One run of the nodes on `threads` threads."""

    def __init__(self, nodes: Sequence[Node], threads: int) -> None:
        self._nodes = nodes
        number = {node.name: index for index, node in enumerate(nodes)}
        self._inputs = [[(number[name], output) for name, output in map(_source, node.inputs)] for node in nodes]
        self._waits_for = [len(inputs) for inputs in self._inputs]
        self._followers: list[list[int]] = [[] for _ in nodes]
        self._readers: dict[tuple[int, int], int] = {}
        for index, inputs in enumerate(self._inputs):
            for source in inputs:
                self._followers[source[0]].append(index)
                self._readers[source] = self._readers.get(source, 0) + 1
        self._memory = _Memory()
        self._buffers: dict[tuple[int, int], _Buffer] = {}
        self._mine: dict[int, list[_Buffer]] = {}  # buffers that a running node holds until it finishes
        self._at_once: list[deque[int]] = [deque() for _ in range(threads)]
        self._later: list[deque[int]] = [deque() for _ in range(threads)]

    def peak(self) -> Peak:
        ready = [index for index, waits_for in enumerate(self._waits_for) if not waits_for]
        for place, index in enumerate(ready):
            self._later[place % len(self._later)].append(index)
        idle = list(range(len(self._later)))
        running: list[tuple[float, int, int, int]] = []
        now, count = 0.0, 0
        while True:
            for thread in list(idle):
                taken = self._next(thread)
                if taken is not None:
                    idle.remove(thread)
                    self._start(taken)
                    heapq.heappush(running, (now + self._nodes[taken].cost, count, thread, taken))
                    count += 1
            if not running:
                return self._memory.most
            now, _, thread, index = heapq.heappop(running)
            self._share(thread, self._finish(index))
            idle.append(thread)
            idle.sort()

    def _next(self, thread: int) -> int | None:
        for own in (self._at_once[thread], self._later[thread]):
            if own:
                return own.popleft()
        return next((others.pop() for others in self._later if others), None)

    def _share(self, thread: int, ready: list[int]) -> None:
        cheap = [index for index in ready if self._nodes[index].op in _CHEAP]
        expensive = [index for index in ready if self._nodes[index].op not in _CHEAP]
        self._at_once[thread].extend(cheap)
        if expensive and not self._at_once[thread]:
            self._at_once[thread].append(expensive.pop())
        self._later[thread].extendleft(expensive)

    def _start(self, index: int) -> None:
        node = self._nodes[index]
        read = [self._buffers[source] for source in self._inputs[index] if source[1] >= 0]
        mine = self._mine[index] = [self._memory.make(node.scratch, of_images=False)] if node.scratch else []
        overwritten: list[_Buffer] = []
        for output, size in enumerate(node.outputs):
            buffer = self._reused(node, output, _rounded(size), read, overwritten)
            if buffer is None:
                buffer = self._memory.make(size, node.of_images)
            if node.op in _LASTING:
                buffer.readers += 1
            else:
                mine.append(buffer)
            buffer.readers += self._readers.get((index, output), 0)
            self._buffers[index, output] = buffer
        for buffer in mine:
            buffer.readers += 1
        self._memory.note()

    def _reused(
        self, node: Node, output: int, size: int, read: list[_Buffer], overwritten: list[_Buffer]
    ) -> _Buffer | None:
        if node.op in _SAME_BUFFER and read:
            return read[output if node.op == "IdentityN" else 0]
        if node.op not in _IN_PLACE:
            return None
        for buffer in read:
            if buffer.readers == 1 and buffer.size == size and buffer not in overwritten:
                overwritten.append(buffer)
                return buffer
        return None

    def _finish(self, index: int) -> list[int]:
        """Release the node's buffers; returns the nodes that can run now."""
        for buffer in self._mine.pop(index):
            self._memory.release(buffer)
        ready = []
        for source in self._inputs[index]:
            if source[1] >= 0:
                self._memory.release(self._buffers[source])
        for follower in self._followers[index]:
            self._waits_for[follower] -= 1
            if not self._waits_for[follower]:
                ready.append(follower)
        return ready
