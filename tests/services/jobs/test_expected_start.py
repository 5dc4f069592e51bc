"""When a queued job is expected to start, as the API shows it."""

from typing import Any

from services.domain.jobs.states import State
from services.jobs import queries
from services.store.models import Attempt
from tests.support.counting import counted
from tests.support.desk import Desk


def shown(desk: Desk, job_id: int) -> dict[str, Any]:
    return queries.show_job(desk.store, desk.settings, desk.admin, job_id)


def expected(desk: Desk, job_id: int) -> float | None:
    found: float | None = shown(desk, job_id)["expected_start_s"]
    return found


def runs_for(desk: Desk, job_id: int, seconds: float) -> None:
    """Give the job's running attempt a measured speed."""
    steps = desk.job(job_id).steps
    desk.change(Attempt, (job_id, 1), step=0, step_s=seconds / steps)


def test_a_job_starts_when_the_first_running_job_ends(desk: Desk) -> None:
    desk.slots(2000, 2000)
    first, second = desk.claimed().job_id, desk.claimed().job_id
    waiting = desk.submit()
    assert expected(desk, waiting) is None  # nobody knows yet how fast they are
    runs_for(desk, first, 900)
    assert expected(desk, waiting) == 900
    runs_for(desk, second, 300)
    assert expected(desk, waiting) == 300
    behind = desk.submit()
    assert [expected(desk, job_id) for job_id in (waiting, behind)] == [300, 900]


def test_jobs_ahead_that_no_device_can_hold_do_not_count(desk: Desk) -> None:
    desk.slots(2000)
    runs_for(desk, desk.claimed().job_id, 600)
    stuck = desk.submit(priority=5, device={"min_memory_mb": 9000, "wait": True})
    waiting = desk.submit()
    assert (expected(desk, stuck), expected(desk, waiting)) == (None, 600)


def test_a_job_that_waits_for_a_busy_device_is_expected_when_that_is_free(desk: Desk) -> None:
    desk.slots(1000, 64_000)
    blocker = desk.claimed(device={"min_memory_mb": 64_000}, priority=9).job_id
    runs_for(desk, blocker, 120)
    waiting = desk.submit(device={"min_memory_mb": 64_000})
    assert desk.claim() is None
    seen = shown(desk, waiting)
    assert seen["expected_start_s"] == 120
    assert (seen["waiting_for"]["kind"], seen["waiting_for"]["holder"]["job"]) == ("busy_device", blocker)


def test_the_job_that_is_tried_first_gets_the_first_device(desk: Desk) -> None:
    desk.slots(1000, 64_000)
    runs_for(desk, desk.claimed(device={"min_memory_mb": 64_000}).job_id, 120)
    urgent = desk.submit(priority=5, device={"min_memory_mb": 64_000})
    assert desk.claim() is None  # it waits for the busy device from here on, behind the others by its position
    usual = desk.submit(device={"min_memory_mb": 64_000})
    assert [shown(desk, job_id)["queue_position"] for job_id in (urgent, usual)] == [2, 1]
    assert [expected(desk, job_id) for job_id in (urgent, usual)] == [120, None]


def test_a_job_that_waits_for_the_same_is_not_written_again(desk: Desk) -> None:
    desk.slots(1000, 64_000)
    desk.claimed(device={"min_memory_mb": 64_000})
    desk.submit(device={"min_memory_mb": 64_000})
    with counted(desk.store, "UPDATE jobs") as first:
        assert desk.claim() is None
    with counted(desk.store, "UPDATE jobs") as again:
        assert desk.claim() is None
    assert (len(first), again) == (1, [])


def test_a_job_that_its_owners_limit_blocks_is_promised_nothing(desk: Desk) -> None:
    desk.slots(2000, 2000)
    settings = type(desk.settings)(**{**vars(desk.settings), "max_running": 1})
    runs_for(desk, desk.claimed().job_id, 600)
    waiting = desk.submit()
    seen = queries.show_job(desk.store, settings, desk.admin, waiting)
    assert (seen["expected_start_s"], seen["waiting_for"]["kind"]) == (None, "running_jobs")
    assert (seen["waiting_for"]["used"], seen["waiting_for"]["limit"]) == (1, 1)
    assert seen["reason"] == seen["waiting_for"]["sentence"]


def test_what_runs_or_has_ended_has_no_expected_start(desk: Desk) -> None:
    desk.slots(2000)
    job_id = desk.claimed().job_id
    runs_for(desk, job_id, 600)
    seen = shown(desk, job_id)
    assert (seen["state"], seen["expected_start_s"], seen["waiting_for"]) == (State.RUNNING, None, None)


def test_the_time_since_which_a_job_waits_stays_while_it_waits_for_the_same(desk: Desk) -> None:
    desk.slots(2000)
    stuck = desk.submit(device={"min_memory_mb": 9000, "wait": True})
    since = (desk.job(stuck).waiting_for or {})["since"]
    assert desk.claim() is None
    assert (desk.job(stuck).waiting_for or {})["since"] == since
