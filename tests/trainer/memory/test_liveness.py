"""Peaks of small graphs, computed by hand."""

import random

import pytest

from worker.trainer.memory.liveness import Node, constants, peak, simplified

KB = 1024


def node(name: str, *inputs: str, op: str = "Conv2D", size: int = KB, cost: float = 1.0, scratch: int = 0) -> Node:
    return Node(name, op, inputs, (size,), scratch=scratch, cost=cost)


def test_a_chain_holds_two_buffers_at_once() -> None:
    chain = [node("a"), node("b", "a"), node("c", "b"), node("d", "c")]
    assert peak(chain).bytes == 2 * KB


def test_a_buffer_is_kept_until_its_last_reader() -> None:
    forward = [node("a"), node("b", "a"), node("c", "b")]
    backward = [node("dc", "c", "b"), node("db", "dc", "a")]
    assert peak(forward + backward).bytes == 4 * KB  # a, b, c and dc


def test_a_control_dependency_does_not_keep_the_result() -> None:
    assert peak([node("a"), node("b", "a"), node("c", "b", "^a")], threads=1).bytes == 2 * KB


def test_a_result_that_nothing_reads_is_freed_at_once() -> None:
    assert peak([node("a", cost=1), node("b", "^a"), node("c", "^b")]).bytes == KB


def test_sizes_are_rounded_up_to_what_the_allocator_gives() -> None:
    assert peak([node("a", size=1)]).bytes == 256


def test_a_view_allocates_nothing_and_keeps_its_input() -> None:
    nodes = [node("a"), node("flat", "a", op="Reshape"), node("b", "^flat"), node("c", "flat", "b")]
    assert peak(nodes).bytes == 3 * KB


def test_each_output_of_identity_n_is_its_own_input() -> None:
    both = Node("both", "IdentityN", ("a", "b"), (KB, 4 * KB))
    nodes = [node("a"), node("b", "^a", size=4 * KB), both, node("c", "both:1"), node("d", "both", "^c")]
    assert peak(nodes, threads=1).bytes == 6 * KB  # a waits for d, b for c


@pytest.mark.parametrize(
    ("op", "expected"),
    [("Relu", KB), ("AddV2", KB), ("Conv2D", 2 * KB)],
)
def test_the_last_reader_overwrites_its_input_if_the_operation_can(op: str, expected: int) -> None:
    assert peak([node("a"), node("b", "a", op=op)]).bytes == expected


def test_an_input_is_not_overwritten_while_another_operation_reads_it() -> None:
    nodes = [node("a"), node("b", "a", op="Relu"), node("c", "a", "b")]
    assert peak(nodes).bytes == 3 * KB


def test_an_input_of_another_size_is_not_overwritten() -> None:
    assert peak([node("a"), node("b", "a", op="AddV2", size=4 * KB)]).bytes == 5 * KB


def test_constants_are_neither_overwritten_nor_freed() -> None:
    nodes = [node("a", op="Const"), node("b", "a", op="Relu"), node("c", "b"), node("d", "c")]
    assert peak(nodes).bytes == 3 * KB


def test_scratch_memory_counts_while_its_operation_runs() -> None:
    nodes = [node("a", scratch=10 * KB), node("b", "a", scratch=KB)]
    assert peak(nodes).bytes == 11 * KB


def test_two_threads_hold_the_work_of_both() -> None:
    branches = [node("a"), node("b", "a", scratch=10 * KB), node("c", "a", scratch=10 * KB), node("d", "b", "c")]
    assert peak(branches, threads=1).bytes < 20 * KB < peak(branches, threads=2).bytes


def test_bytes_that_grow_with_the_images_are_counted_separately() -> None:
    weights, image = node("weights"), Node("image", "Conv2D", (), (3 * KB,), of_images=True)
    found = peak([weights, image, node("c", "weights", "image")])
    assert (found.bytes, found.of_images) == (5 * KB, 3 * KB)


def test_a_small_result_of_constants_is_a_constant_and_a_large_one_is_computed() -> None:
    nodes = [
        node("a", op="Const"),
        node("small", "a", op="Range"),
        node("large", "small", op="Tile", size=10**6),
        node("b", "large", op="RandomUniform"),
    ]
    assert [left.op for left in simplified(nodes, ["b"])] == ["Const", "Tile", "RandomUniform"]


def test_large_constants_of_one_value_are_held_once() -> None:
    zeros = [node(name, "a", op="Fill", size=10**6) for name in ("zeros", "others")]
    left = simplified([node("a", op="Const"), *zeros], ["zeros", "others"])
    assert [each.op for each in left] == ["Const", "View"]
    assert 10**6 <= constants(left) == peak(left).bytes < 2 * 10**6


def test_random_numbers_are_no_constants() -> None:
    nodes = [node("shape", op="Const"), node("drawn", "shape", op="RandomUniform")]
    assert [left.op for left in simplified(nodes, ["drawn"])] == ["Const", "RandomUniform"]


def test_operations_without_a_wanted_result_or_effect_are_dropped() -> None:
    update = Node("update", "ResourceApplyKerasMomentum", ("gradient",))
    nodes = [node("gradient"), node("forgotten", "gradient"), update, node("loss")]
    assert [left.name for left in simplified(nodes, ["loss"])] == ["gradient", "update", "loss"]


@pytest.mark.parametrize("seed", range(20))
def test_the_peak_of_any_graph_is_between_its_largest_node_and_the_sum(seed: int) -> None:
    chance = random.Random(seed)
    ops = ("Conv2D", "Relu", "Reshape", "Const", "AddN", "NoOp")
    nodes: list[Node] = []
    for number in range(200):
        inputs = [f"{chance.choice('^ ').strip()}{chance.choice(nodes[-20:]).name}" for _ in range(2) if nodes]
        size = 256 * chance.randrange(40)
        nodes.append(node(str(number), *inputs, op=chance.choice(ops), size=size, cost=chance.random()))
    made = [each.outputs[0] for each in nodes if each.op != "Reshape"]
    for threads in (1, 2, 8):
        assert max(made) <= peak(nodes, threads).bytes <= sum(each.outputs[0] for each in nodes)
