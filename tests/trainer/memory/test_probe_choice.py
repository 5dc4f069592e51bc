"""Which micro-batch the probe chooses, on simulated devices."""

import dataclasses
import math

import pytest

from services.domain.contract import Probe
from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.plan import Plan
from services.domain.precision import Precision
from worker.trainer.memory import probe as probing
from worker.trainer.memory.graph_memory import Walk

MB = 10**6
FIXED, IMAGE, SUMS = 107 * MB, 188 * MB, 24 * MB


def probe(limit_mb: int, *micro_batches: int) -> Probe:
    return Probe(micro_batches or (8, 4, 2, 1), limit_mb * MB, FIXED, IMAGE, SUMS)


class Device:
    """Needs `fixed` and `image` times the expected bytes; records which micro-batches were tried."""

    def __init__(self, limit_mb: int, fixed: float = 1.0, image: float = 1.0, batch: int = 8) -> None:
        self.limit, self.fixed, self.image, self.batch = limit_mb * MB, fixed, image, batch
        self.tried: list[int] = []

    def peak(self, micro_batch: int) -> int | None:
        self.tried.append(micro_batch)
        sums = SUMS if micro_batch < self.batch else 0
        peak = round(FIXED * self.fixed + IMAGE * self.image * micro_batch + sums)
        return peak if peak <= self.limit else None


def choose(device: Device, *micro_batches: int) -> int:
    chosen, points = probing.choose(probe(device.limit // MB, *micro_batches), device.batch, device.peak)
    assert list(points) == device.tried
    return chosen


def test_a_correct_expectation_needs_one_measurement() -> None:
    device = Device(1000)
    assert choose(device) == 4
    assert device.tried == [4]


def test_if_much_less_is_needed_than_expected_it_grows_at_once() -> None:
    device = Device(1300, fixed=0.6, image=0.6)
    assert choose(device) == 8
    assert device.tried == [4, 8]


def test_a_few_steps_that_need_a_little_less_than_expected_prove_nothing() -> None:
    """Scaled by them, 8 images would need 1140 of the 1228 usable MB, but many steps need more: not worth a trace."""
    device = Device(1300, fixed=0.7, image=0.708)
    assert choose(device) == 4
    assert device.tried == [4]


def test_it_shrinks_after_running_out_of_memory() -> None:
    device = Device(1000, fixed=1.3, image=1.6)
    assert choose(device) == 2
    assert device.tried == [4, 2]


def test_a_failure_decides_how_far_it_shrinks() -> None:
    """Micro-batch 10 was expected to fit but needs at least the limit, so 6 is the next to try."""
    device = Device(2200, fixed=1.2, image=1.5, batch=30)
    assert choose(device, 30, 15, 10, 6, 5, 3, 2, 1) == 6
    assert device.tried == [10, 6]


def test_two_points_separate_fixed_memory_from_memory_per_image() -> None:
    """By the first point alone, 8 images would not fit; by both, most memory is fixed and little grows with images."""
    device = Device(700, fixed=2.0, image=0.2)
    assert choose(device) == 8
    assert device.tried == [2, 4, 8]


def test_a_micro_batch_that_barely_fits_is_not_chosen() -> None:
    device = Device(960, image=1.08)  # 4 needs 943
    assert choose(device) == 2
    assert device.tried == [4, 2]


def test_the_memory_law_agrees_that_the_choice_fits() -> None:
    """Otherwise the next job of the model, planned from this measurement, would get a smaller plan."""
    plan = Plan("efficientdet_d0", 8, 4, Precision.FLOAT32, (256, 256), 10, 0.01)
    for limit_mb in range(880, 1000):
        device = Device(limit_mb)
        if choose(device) == 4:
            peak = Device(limit_mb).peak(4)
            assert peak is not None
            assert MemoryLaw([Point.of(plan, peak)]).predict(plan).high < limit_mb * MB
    assert choose(Device(940)) == 4  # 883 are needed


def test_if_nothing_fits_the_smallest_is_chosen() -> None:
    device = Device(200)
    assert choose(device) == 1
    assert device.tried == [1]


def test_only_allowed_micro_batches_are_tried() -> None:
    assert choose(Device(100_000), 4, 2) == 4
    assert choose(Device(200), 4, 2) == 2


@pytest.mark.parametrize("batch", [8, 12, 30])
@pytest.mark.parametrize("fixed", [0.5, 1.0, 1.6])
@pytest.mark.parametrize("image", [0.6, 1.0, 1.9])
def test_on_any_device_it_chooses_the_largest_that_leaves_a_margin(batch: int, fixed: float, image: float) -> None:
    sizes = [size for size in range(batch, 0, -1) if batch % size == 0]
    for limit_mb in range(300, 6000, 150):
        device = Device(limit_mb, fixed, image, batch)
        chosen = choose(device, *sizes)
        needs = {size: Device(limit_mb, fixed, image, batch).peak(size) or math.inf for size in sizes}
        assert len(set(device.tried)) == len(device.tried)
        assert chosen == 1 or needs[chosen] < limit_mb * MB
        assert not [size for size in sizes if size > chosen and needs[size] < 0.7 * limit_mb * MB]


def test_the_graphs_estimate_replaces_a_guess_from_other_models() -> None:
    guess = dataclasses.replace(probe(1000), is_guess=True)
    twice = Walk(FIXED + SUMS, 2 * IMAGE, micro_batch=4)
    known = probing.with_walk(guess, 8, twice)
    assert (known.fixed_bytes, known.image_bytes) == (FIXED, 2 * IMAGE)
    assert probing.best_guess(guess, 8) == 4
    assert probing.best_guess(known, 8) == 2


def test_the_graphs_estimate_does_not_replace_measurements() -> None:
    twice = Walk(FIXED, 2 * IMAGE, micro_batch=4)
    assert probing.with_walk(probe(1000), 8, twice) == probe(1000)
    guess = dataclasses.replace(probe(1000), is_guess=True)
    assert probing.with_walk(guess, 8, None) == guess
