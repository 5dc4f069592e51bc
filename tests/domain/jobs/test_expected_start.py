"""Expected starts from the remaining time of running jobs."""

from hypothesis import given
from hypothesis import strategies as st

from services.domain.jobs.expected_start import Opening, Turn, expected_starts

SMALL, LARGE = 4000, 8000


def device(size: int, free_in_s: float | None) -> Opening:
    return Opening(size, size - 500, free_in_s)


def test_each_job_takes_the_device_that_is_free_first() -> None:
    devices = [device(LARGE, 300.0), device(LARGE, 100.0)]
    assert expected_starts(devices, [Turn(1, 2000, 0), Turn(2, 2000, 0), Turn(3, 2000, 0)]) == {1: 100.0, 2: 300.0}


def test_a_free_device_starts_the_next_job_at_once_and_the_smallest_is_taken() -> None:
    devices = [device(LARGE, 0.0), device(SMALL, 0.0)]
    assert expected_starts(devices, [Turn(1, 2000, 0), Turn(2, 7000, 0)]) == {1: 0.0, 2: 0.0}


def test_jobs_ahead_that_no_device_holds_do_not_count() -> None:
    stuck = [Turn(1, 9000, 0), Turn(2, 1000, 9000)]
    assert expected_starts([device(LARGE, 60.0)], [*stuck, Turn(3, 2000, 0)]) == {3: 60.0}


def test_a_job_that_starts_as_asked_takes_the_largest_free_device() -> None:
    devices = [device(SMALL, 100.0), device(LARGE, 100.0)]
    assert expected_starts(devices, [Turn(1, 0, 0, takes_largest=True), Turn(2, 7000, 0)]) == {1: 100.0}


def test_a_job_waits_for_a_device_that_holds_it() -> None:
    devices = [device(SMALL, 10.0), device(LARGE, 500.0)]
    assert expected_starts(devices, [Turn(1, 5000, 0), Turn(2, 1000, 0)]) == {1: 500.0, 2: 10.0}


def test_a_job_of_known_length_gives_its_device_back() -> None:
    queue = [Turn(1, 1000, 0, runs_s=50.0), Turn(2, 1000, 0), Turn(3, 1000, 0)]
    assert expected_starts([device(SMALL, 100.0)], queue) == {1: 100.0, 2: 150.0}


def test_a_device_that_is_free_at_an_unknown_time_promises_nothing() -> None:
    assert expected_starts([device(SMALL, None)], [Turn(1, 1000, 0)]) == {}


@given(
    st.lists(st.tuples(st.integers(0, 9000), st.none() | st.floats(0, 1e6)), max_size=6),
    st.lists(st.tuples(st.integers(0, 9000), st.none() | st.floats(0, 1e6)), max_size=12),
)
def test_nobody_starts_on_a_device_before_it_is_free(
    sizes: list[tuple[int, float | None]], needs: list[tuple[int, float | None]]
) -> None:
    devices = [device(size, free_in) for size, free_in in sizes]
    queue = [Turn(number, need, 0, runs) for number, (need, runs) in enumerate(needs)]
    for number, start in expected_starts(devices, queue).items():
        fitting = [one for one in devices if one.usable_bytes >= needs[number][0] and one.free_in_s is not None]
        assert start >= min(one.free_in_s or 0.0 for one in fitting)
