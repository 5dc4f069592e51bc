"""How fast memory grows, from series with the noise that real ones have."""

import random

import pytest

from services.domain.diagnosis.growth import Growth, Sample, growth_of, in_words

MB = 2**20


def series(slope: float, count: int = 300, noise: float = 0.0, every: int = 1) -> list[Sample]:
    values = random.Random(1)
    return [Sample(n * every, round(1000 * MB + slope * n * every + values.gauss(0, noise))) for n in range(count)]


def clear_growth(samples: list[Sample]) -> Growth:
    found = growth_of(samples)
    assert found is not None
    assert found.is_clear
    return found


def is_clear(samples: list[Sample]) -> bool:
    found = growth_of(samples)
    assert found is not None
    return found.is_clear


@pytest.mark.parametrize("slope", [0.1 * MB, 3 * MB])
@pytest.mark.parametrize("every", [1, 7])
def test_the_slope_is_found_through_noise_and_odd_values(slope: float, every: int) -> None:
    values = series(slope, noise=2 * MB, every=every)
    for number in range(0, 300, 9):  # an evaluation in between, a garbage collection
        values[number] = Sample(values[number].step, 5000 * MB if number % 2 else 0)
    assert clear_growth(values).bytes_per_step == pytest.approx(slope, rel=0.1)


def test_caches_that_fill_at_first_are_no_leak() -> None:
    assert not is_clear([Sample(step, (500 + min(step, 10) * 50) * MB) for step in range(300)])


@pytest.mark.parametrize("at", [60, 150, 240])
def test_one_jump_between_two_levels_is_no_leak(at: int) -> None:
    assert not is_clear([Sample(step, (1000 + 800 * (step >= at)) * MB + step % 7) for step in range(300)])


@pytest.mark.parametrize("noise", [0.0, 50 * MB])
def test_memory_that_stays_or_shrinks_is_no_leak(noise: float) -> None:
    assert not is_clear(series(0.0, noise=noise))
    assert not is_clear(series(-1.0 * MB, noise=noise, count=500))


def test_growth_by_less_than_two_percent_is_not_clear() -> None:
    assert not is_clear(series(0.05 * MB))
    assert is_clear(series(0.1 * MB))


def test_a_few_values_prove_nothing() -> None:
    assert growth_of([]) is None
    assert growth_of(series(3 * MB, count=7)) is None
    assert growth_of([Sample(5, MB * n) for n in range(50)]) is None


def test_the_order_of_the_samples_does_not_matter() -> None:
    values = series(MB, noise=MB)
    assert growth_of(reversed(values)) == growth_of(values)


def test_a_long_series_costs_no_more() -> None:
    assert clear_growth(series(MB, count=50_000)).steps > 44_000


def test_growth_is_described_in_a_sentence() -> None:
    found = clear_growth(series(3 * MB, count=1000))
    said = in_words("device memory", found)
    assert said.startswith("device memory grew by 3 MB a step over 89")
    assert "from 1300 MB to 3985 MB" in said
    assert found.bytes == 3 * MB * found.steps
