"""So many a minute, and then a little at a time."""

import pytest

from api.rate import Rate
from services.errors import TooFast


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def taken(rate: Rate, key: str = "a", tries: int = 100) -> int:
    for number in range(tries):
        try:
            rate.take(key)
        except TooFast:
            return number
    return tries


def test_a_bucket_is_emptied_at_once_and_fills_steadily() -> None:
    clock = Clock()
    rate = Rate(10, clock)
    assert taken(rate) == 10
    with pytest.raises(TooFast, match="10 requests a minute are the limit") as refused:
        rate.take("a")
    assert refused.value.retry_after_s == pytest.approx(6.0)
    clock.now += 6.0
    assert taken(rate) == 1
    clock.now += 600.0
    assert taken(rate) == 10


def test_each_key_has_its_own() -> None:
    rate = Rate(3, Clock())
    assert (taken(rate, "a"), taken(rate, "b")) == (3, 3)


def test_none_is_no_limit() -> None:
    assert taken(Rate(0, Clock()), tries=5000) == 5000


def test_keys_that_are_full_again_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.rate._MOST_KEYS", 5)
    clock = Clock()
    rate = Rate(10, clock)
    for key in "abcde":
        rate.take(key)
    clock.now += 61.0
    assert taken(rate, "f") == 10
    assert len(rate._full_at) == 1
