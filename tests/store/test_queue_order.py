"""The order of the queue on both databases: jobs start in the order that users are shown."""

import datetime
import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from services import usage
from services.clock import utc_now
from services.domain.contract import Reason
from services.domain.jobs.fair_share import by_day, day_of
from services.domain.jobs.states import State
from services.errors import LimitReached
from services.jobs import actions, queries
from services.jobs import submit as submission
from services.preload import warm_up
from services.scheduling import claim as scheduling
from services.scheduling.claim import Claim
from services.settings import Settings
from services.store.devices import use as device_use
from services.store.models import DeviceUse, Lease, User
from services.users.principal import Principal
from tests.support.desk import Desk, ago

HOUR = 3600.0


def submit(desk: Desk, owner: Principal, **request: Any) -> int:
    return submission.submit(desk.store, desk.settings, owner, desk.request(**request)).job_id


def used(desk: Desk, owner: Principal, hours: float, days_ago: int = 0) -> None:
    with desk.store.transaction() as session:
        device_use.add(session, owner.user_id, {day_of(utc_now()) - days_ago: hours * HOUR})


def queue(desk: Desk, principal: Principal | None = None) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = queries.list_queue(desk.store, desk.settings, principal or desk.admin, 100)["items"]
    return items


def shown(desk: Desk) -> list[int]:
    items = queue(desk)
    assert [item["queue_position"] for item in items] == list(range(1, len(items) + 1))
    for item in items:
        alone = queries.show_job(desk.store, desk.settings, desk.admin, item["id"])
        assert alone["queue_position"] == item["queue_position"]
    return [item["id"] for item in items]


def started(desk: Desk) -> list[int]:
    found = []
    while (claim := desk.claim()) is not None:
        found.append(claim.job_id)
    return found


def in_parallel(*calls: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def limit(desk: Desk, owner: Principal, **limits: Any) -> None:
    desk.change(User, owner.user_id, **limits)


@pytest.fixture
def anna(desk: Desk) -> Principal:
    return desk.user("anna")


@pytest.fixture
def bert(desk: Desk) -> Principal:
    return desk.user("bert")


def test_the_next_job_is_of_the_user_with_the_least_device_time(desk: Desk, anna: Principal, bert: Principal) -> None:
    used(desk, anna, 5)
    jobs = [submit(desk, anna), submit(desk, bert)]
    assert shown(desk) == jobs[::-1]
    desk.slots(2000)
    assert started(desk) == [jobs[1]]


def test_users_take_turns_even_if_one_sends_many_jobs(desk: Desk, anna: Principal, bert: Principal) -> None:
    many = [submit(desk, anna) for _ in range(4)]
    few = [submit(desk, bert) for _ in range(2)]
    order = [many[0], few[0], many[1], few[1], many[2], many[3]]
    assert shown(desk) == order
    desk.slots(*[2000] * 6)
    assert started(desk) == order


def test_jobs_start_in_the_order_that_is_shown(desk: Desk, anna: Principal, bert: Principal) -> None:
    """For any device time and priorities. The remaining jobs keep their order while others start."""
    carl = desk.user("carl")
    used(desk, anna, 2.5)
    used(desk, bert, 30, days_ago=3)
    used(desk, carl, 0.2)
    for number, owner in enumerate([anna, anna, carl, bert, carl, carl, anna, bert, carl]):
        submit(desk, owner, priority=number % 3 - 2)
    expected = shown(desk)
    for count in range(1, len(expected) + 1):
        desk.slots(*[2000] * count)
        assert started(desk) == [expected[count - 1]]
        assert shown(desk) == expected[count:]


def test_priority_overrides_turns(desk: Desk, anna: Principal, bert: Principal) -> None:
    used(desk, anna, 100)
    low, high = submit(desk, bert, priority=-1), submit(desk, anna)
    assert shown(desk) == [high, low]


def test_old_device_time_counts_less_than_todays(desk: Desk, anna: Principal, bert: Principal) -> None:
    used(desk, anna, 10, days_ago=5)
    used(desk, bert, 2)
    later, sooner = submit(desk, bert), submit(desk, anna)
    assert shown(desk) == [sooner, later]


def test_the_time_of_running_jobs_counts_too(desk: Desk, anna: Principal, bert: Principal) -> None:
    desk.slots(2000)
    submit(desk, anna)
    claim = desk.claim()
    assert claim is not None
    second, first = submit(desk, anna), submit(desk, bert)
    assert shown(desk) == [first, second]


def test_the_end_of_an_attempt_is_charged_to_the_job_s_owner_by_day(desk: Desk, anna: Principal) -> None:
    desk.slots(2000)
    submit(desk, anna)
    claim = desk.claim()
    assert claim is not None
    since = ago(30 * HOUR)
    desk.change(Lease, desk.leases()[0].device_id, created_at=since)
    desk.end(claim, Reason.COMPLETED)
    kept = {row.day: row.seconds for row in desk.rows(DeviceUse)}
    assert kept == pytest.approx(by_day(since, utc_now()), abs=30)
    assert {row.user_id for row in desk.rows(DeviceUse)} == {anna.user_id}
    assert desk.finish(claim, desk.left(claim, 0)) is None  # a second end changes nothing
    assert {row.day: row.seconds for row in desk.rows(DeviceUse)} == kept


def test_uses_of_one_day_add_up(desk: Desk, anna: Principal) -> None:
    used(desk, anna, 1)
    used(desk, anna, 2)
    assert [row.seconds for row in desk.rows(DeviceUse)] == [3 * HOUR]


def test_a_job_cancelled_without_its_host_is_charged_until_its_last_report(desk: Desk, anna: Principal) -> None:
    desk.slots(2000)
    job = submit(desk, anna)
    assert desk.claim() is not None
    heard = ago(2 * HOUR)
    desk.change(Lease, desk.leases()[0].device_id, created_at=ago(3 * HOUR), expires_at=heard)
    actions.cancel(desk.store, anna, job)
    assert sum(row.seconds for row in desk.rows(DeviceUse)) == pytest.approx(HOUR, abs=30)


def test_a_job_that_may_not_start_yet_is_last(desk: Desk, anna: Principal) -> None:
    first, second = submit(desk, anna), submit(desk, anna)
    desk.set("jobs", f"id = {first}", not_before=(utc_now() + datetime.timedelta(hours=1)).isoformat(sep=" "))
    assert shown(desk) == [second, first]


class TestLimits:
    def test_no_more_run_than_the_limit_and_the_rest_says_why(
        self, desk: Desk, anna: Principal, bert: Principal
    ) -> None:
        limit(desk, anna, max_running=1)
        annas = [submit(desk, anna) for _ in range(3)]
        berts = [submit(desk, bert) for _ in range(2)]
        assert shown(desk) == [annas[0], *berts, *annas[1:]]
        desk.slots(*[2000] * 5)
        assert started(desk) == [annas[0], *berts]
        for job in annas[1:]:
            said = queries.show_job(desk.store, desk.settings, anna, job)
            assert (said["state"], said["reason"]) == (
                State.QUEUED,
                "anna already runs 1 of 1 allowed jobs",
            )

    def test_the_next_starts_when_one_has_ended(self, desk: Desk, anna: Principal) -> None:
        limit(desk, anna, max_running=1)
        desk.slots(2000, 2000)
        jobs = [submit(desk, anna) for _ in range(2)]
        claim = desk.claim()
        assert claim is not None
        assert desk.claim() is None
        desk.end(claim, Reason.COMPLETED)
        assert queries.show_job(desk.store, desk.settings, anna, jobs[1])["reason"] is None
        desk.slots(2000, 2000)
        assert started(desk) == [jobs[1]]

    def test_the_settings_give_the_limit_of_those_who_have_none(self, desk: Desk, anna: Principal) -> None:
        limit(desk, anna, max_running=3)
        settings = Settings(**{**vars(desk.settings), "max_running": 1})
        desk.slots(*[2000] * 9)
        for owner in (anna, desk.owner):
            for _ in range(4):
                submit(desk, owner)
        found: list[Claim] = []
        while (claim := scheduling.claim(desk.store, settings, "boot")) is not None:
            found.append(claim)
        owners = [desk.job(claim.job_id).owner_id for claim in found]
        assert (owners.count(anna.user_id), owners.count(desk.owner.user_id)) == (3, 1)

    def test_hours_of_the_week_that_are_used_up_hold_jobs_back(self, desk: Desk, anna: Principal) -> None:
        desk.slots(2000)
        limit(desk, anna, device_hours_week=10.0)
        used(desk, anna, 8, days_ago=6)
        used(desk, anna, 99, days_ago=7)
        job = submit(desk, anna)
        assert queue(desk)[0]["reason"] is None
        used(desk, anna, 2)
        assert started(desk) == []
        assert queries.show_job(desk.store, desk.settings, anna, job)["reason"] == (
            "anna has used 10.0 of 10 device hours in the last seven days"
        )
        limit(desk, anna, device_hours_week=None)
        assert started(desk) == [job]

    def test_more_jobs_than_may_wait_are_refused(self, desk: Desk, anna: Principal) -> None:
        limit(desk, anna, max_queued=2)
        first = submit(desk, anna)
        submit(desk, anna)
        with pytest.raises(LimitReached, match="anna already has 2 of 2 queued jobs"):
            submit(desk, anna)
        actions.pause(desk.store, anna, first)
        submit(desk, anna)
        with pytest.raises(LimitReached):  # a resumed job waits again
            actions.resume(desk.store, desk.settings, anna, first)

    def test_requests_at_once_do_not_get_past_it(self, desk: Desk, anna: Principal) -> None:
        limit(desk, anna, max_queued=2)
        refused: list[LimitReached] = []

        def send() -> None:
            try:
                submit(desk, anna)
            except LimitReached as error:
                refused.append(error)

        warm_up()
        in_parallel(*[send] * 6)
        assert len(refused) == 4

    def test_a_host_that_claims_in_between_is_counted(
        self, desk: Desk, anna: Principal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if desk.store.engine.dialect.name == "sqlite":
            pytest.skip("SQLite lets one in at a time")
        limit(desk, anna, max_running=1)
        first, second = submit(desk, anna), submit(desk, anna)
        desk.slots(2000)
        desk.slots(2000, host="other")
        count, between = usage.of_everybody, [lambda: desk.claim("other")]
        claimed: list[Claim | None] = []

        def count_and_be_late(*given: Any) -> Any:
            counted = count(*given)
            if between:
                claimed.append(between.pop()())
            return counted

        monkeypatch.setattr(usage, "of_everybody", count_and_be_late)
        assert desk.claim() is None
        assert [claim.job_id for claim in claimed if claim] == [first]
        assert desk.job(second).state == State.QUEUED


# Jobs that cannot start at present


def test_a_job_that_finds_no_device_lets_others_be_next(desk: Desk, anna: Principal, bert: Principal) -> None:
    desk.slots(4000)
    stuck = submit(desk, anna, device={"min_memory_mb": 9000, "wait": True})
    assert desk.claim() is None
    usual, theirs = submit(desk, anna), submit(desk, bert)
    assert shown(desk) == [usual, theirs, stuck]
    assert queue(desk)[-1]["reason"] == "Waits for a device with at least 9000 MB of memory"
    desk.slots(4000, 9000)
    assert desk.claim().job_id == stuck  # type: ignore[union-attr]  # it is still tried first


def test_a_job_that_finds_no_device_does_not_use_up_its_owners_limit(desk: Desk, anna: Principal) -> None:
    limit(desk, anna, max_running=1)
    desk.slots(4000)
    stuck = submit(desk, anna, device={"min_memory_mb": 9000, "wait": True})
    usual = submit(desk, anna)
    assert desk.claim().job_id == usual  # type: ignore[union-attr]
    assert shown(desk) == [stuck]
    assert desk.claim() is None


def test_jobs_without_a_device_are_read_from_an_index(desk: Desk) -> None:
    desk.submit()
    statements: list[Any] = []
    listen = lambda _, __, statement, parameters, *___: statements.append((statement, parameters))  # noqa: E731
    event.listen(desk.store.engine, "before_cursor_execute", listen)
    queue(desk)
    event.remove(desk.store.engine, "before_cursor_execute", listen)
    [(statement, parameters)] = [one for one in statements if "waiting_for IS NOT NULL" in one[0]][:1]
    with desk.store.engine.connect() as connection:
        if desk.store.engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SET enable_seqscan = off")
            plan = str(connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).all())
        else:
            plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all())
        assert "ix_jobs_waiting_for" in plan
        assert "SCAN jobs" not in plan
