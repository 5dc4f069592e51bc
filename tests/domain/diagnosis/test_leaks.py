"""How fast memory grows, from series with the noise that real ones have."""

import random

import pytest

from services.domain.diagnosis.leaks import fit, in_words

MB = 2**20


def series(slope: float, count: int = 300, noise: float = 0.0, every: int = 1) -> list[tuple[int, float]]:
    values = random.Random(1)
    return [(n * every, 1000 * MB + slope * n * every + values.gauss(0, noise)) for n in range(count)]


@pytest.mark.parametrize("slope", [0.1 * MB, 3 * MB])
@pytest.mark.parametrize("every", [1, 7])
def test_the_slope_is_found_through_noise_and_odd_values(slope: float, every: int) -> None:
    values = series(slope, noise=2 * MB, every=every)
    for number in range(0, 300, 9):  # an evaluation in between, a garbage collection
        values[number] = (values[number][0], 5000 * MB if number % 2 else 0.0)
    found = fit(values)
    assert found is not None
    assert found.bytes_per_step == pytest.approx(slope, rel=0.1)


def test_caches_that_fill_at_first_are_no_leak() -> None:
    values = [(step, (500 + min(step, 10) * 50) * MB) for step in range(300)]
    assert fit(values) is None


@pytest.mark.parametrize("noise", [0.0, 50 * MB])
def test_memory_that_stays_or_shrinks_is_no_leak(noise: float) -> None:
    assert fit(series(0.0, noise=noise)) is None
    assert fit(series(-1.0 * MB, noise=noise, count=500)) is None


def test_a_few_values_prove_nothing() -> None:
    assert fit([]) is None
    assert fit(series(3 * MB, count=7)) is None
    assert fit([(5, 1.0 * MB * n) for n in range(50)]) is None


def test_a_long_series_costs_no_more() -> None:
    found = fit(series(MB, count=50_000))
    assert found is not None
    assert found.steps > 44_000


def test_it_is_told_in_words() -> None:
    found = fit(series(3 * MB, count=1000))
    assert found is not None
    said = in_words("device memory", found)
    assert said.startswith("device memory grew by 3 MB a step over 89")
    assert "from 1300 MB to 3985 MB" in said
