"""Rate limits: a burst up to the limit, then a steady rate."""

import pytest

from api.middleware.rate_limit import LoginLimits, RateLimit
from services.errors import TooFast


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def taken(rate: RateLimit, key: str = "a", tries: int = 100) -> int:
    for number in range(tries):
        try:
            rate.take(key)
        except TooFast:
            return number
    return tries


def test_a_bucket_is_emptied_at_once_and_fills_steadily() -> None:
    clock = Clock()
    rate = RateLimit(10, clock)
    assert taken(rate) == 10
    with pytest.raises(TooFast, match="the limit is 10 requests a minute") as refused:
        rate.take("a")
    assert refused.value.retry_after_s == pytest.approx(6.0)
    clock.now += 6.0
    assert taken(rate) == 1
    clock.now += 600.0
    assert taken(rate) == 10


def test_each_key_has_its_own() -> None:
    rate = RateLimit(3, Clock())
    assert (taken(rate, "a"), taken(rate, "b")) == (3, 3)


def test_none_is_no_limit() -> None:
    assert taken(RateLimit(0, Clock()), tries=5000) == 5000


def test_keys_that_are_full_again_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.middleware.rate_limit._MAX_KEYS", 5)
    clock = Clock()
    rate = RateLimit(10, clock)
    for key in "abcde":
        rate.take(key)
    clock.now += 61.0
    assert taken(rate, "f") == 10
    assert len(rate._full_at) == 1


def tried(logins: LoginLimits, address: str, name: str, tries: int = 100) -> int:
    for number in range(tries):
        try:
            logins.take(address, name)
        except TooFast:
            return number
    return tries


def test_a_password_is_tried_ten_times_from_one_place_and_sixty_times_from_many() -> None:
    logins = LoginLimits(Clock())
    assert [tried(logins, f"192.0.2.{number}", "anna") for number in range(8)] == [10] * 6 + [0, 0]
    assert tried(logins, "192.0.2.7", "bert") == 10


def test_who_was_in_from_a_place_is_not_kept_out_there_by_tries_from_others() -> None:
    logins = LoginLimits(Clock())
    logins.succeeded("198.51.100.1", "anna")
    assert sum(tried(logins, f"192.0.2.{number}", "anna") for number in range(50)) == 60
    assert tried(logins, "198.51.100.1", "anna") == 10
    assert tried(logins, "198.51.100.2", "anna") == 0


def test_only_the_newest_places_are_remembered() -> None:
    logins = LoginLimits(Clock())
    for number in range(30):
        logins.succeeded(f"198.51.100.{number}", "anna")
        logins.succeeded("203.0.113.1", "anna")
    assert sum(tried(logins, f"192.0.2.{number}", "anna") for number in range(6)) == 60
    assert [tried(logins, place, "anna", 1) for place in ("198.51.100.1", "198.51.100.29", "203.0.113.1")] == [0, 1, 1]


def test_one_place_tries_sixty_times_whatever_the_name() -> None:
    logins = LoginLimits(Clock())
    assert sum(tried(logins, "192.0.2.1", f"user{number}", 1) for number in range(100)) == 60


def test_a_network_of_ipv6_is_one_place() -> None:
    logins = LoginLimits(Clock())
    assert sum(tried(logins, f"2001:db8:0:1::{number:x}", "anna", 1) for number in range(20)) == 10
    assert tried(logins, "2001:db8:0:2::1", "anna", 1) == 1


def test_tokens_are_not_one_account() -> None:
    logins = LoginLimits(Clock())
    assert [tried(logins, f"192.0.2.{number}", "") for number in range(10)] == [10] * 10
