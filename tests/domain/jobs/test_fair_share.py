"""Recent device time, and the limits of a user."""

import datetime

import pytest

from services.domain.jobs.fair_share import STARTED_S, by_day, day_of, in_week, lately
from services.domain.jobs.limits import Limits, blocked_by

NOON = datetime.datetime(2026, 5, 20, 12, tzinfo=datetime.UTC)
TODAY = day_of(NOON)
HOUR = 3600.0


def hours_ago(hours: float) -> datetime.datetime:
    return NOON - datetime.timedelta(hours=hours)


def test_a_span_is_cut_at_midnight() -> None:
    assert by_day(hours_ago(2), NOON) == {TODAY: 2 * HOUR}
    assert by_day(hours_ago(40), NOON) == {TODAY - 2: 4 * HOUR, TODAY - 1: 24 * HOUR, TODAY: 12 * HOUR}


def test_an_empty_or_negative_span_has_no_seconds() -> None:
    assert by_day(NOON, NOON) == {}
    assert by_day(NOON, hours_ago(1)) == {}


def test_device_time_counts_half_one_day_after_its_day() -> None:
    midnight = NOON.replace(hour=0)
    assert lately({TODAY: 100.0}, [], NOON) == 100.0
    assert lately({TODAY - 1: 100.0}, [], midnight) == pytest.approx(100.0)  # no step at midnight
    assert lately({TODAY - 2: 100.0}, [], midnight) == pytest.approx(50.0)


def test_a_running_job_counts_as_at_least_an_hour() -> None:
    assert lately({}, [NOON], NOON) == STARTED_S
    assert lately({}, [hours_ago(0.5)], NOON) == STARTED_S
    assert lately({}, [hours_ago(3)], NOON) == 3 * HOUR
    assert lately({TODAY: 10.0}, [NOON, NOON], NOON) == 2 * STARTED_S + 10.0


def test_a_week_is_seven_days_with_today_and_counts_what_runs() -> None:
    used = {TODAY - 7: 1.0, TODAY - 6: 10.0, TODAY: 100.0}
    assert in_week(used, [], NOON) == 110.0
    assert in_week(used, [hours_ago(1)], NOON) == 110.0 + HOUR


def test_a_users_own_limit_overrides_the_default() -> None:
    defaults = Limits(10, 2, 50.0)
    assert Limits().over(defaults) == defaults
    assert Limits(max_running=0).over(defaults) == Limits(10, 0, 50.0)


@pytest.mark.parametrize(
    ("limits", "running", "week_s", "says"),
    [
        (Limits(), 99, 1e9, None),
        (Limits(max_queued=0), 0, 0.0, None),
        (Limits(max_running=2), 1, 0.0, None),
        (Limits(max_running=2), 2, 0.0, "anna already runs 2 of 2 allowed jobs"),
        (Limits(max_running=1), 1, 0.0, "anna already runs 1 of 1 allowed jobs"),
        (Limits(device_hours_week=1.5), 0, 5000.0, None),
        (
            Limits(device_hours_week=1.5),
            0,
            5400.0,
            "anna has used 1.5 of 1.5 device hours in the last seven days",
        ),
    ],
)
def test_a_reached_limit_is_the_reason(limits: Limits, running: int, week_s: float, says: str | None) -> None:
    blocked = blocked_by("anna", limits, running, week_s)
    assert (blocked and blocked.sentence) == says
