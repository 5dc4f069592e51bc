"""What devices were like lately."""

import datetime

import pytest

from services.attempts import finish, ingest
from services.devices import history
from services.domain.memory.shares import Use, use_of
from services.errors import NotFound
from services.store.models import DevicePast
from tests.support.counting import counted
from tests.support.desk import GB, MB, Desk, Events, ago, gpu


def past(desk: Desk) -> list[DevicePast]:
    return desk.rows(DevicePast)


def later(desk: Desk, seconds: float = 60) -> None:
    """As if what is written down had been written down `seconds` earlier."""
    with desk.store.transaction() as session:
        for row in session.query(DevicePast):
            row.at = row.at - datetime.timedelta(seconds=seconds)


def test_it_is_written_down_every_so_often_and_not_with_every_report(desk: Desk) -> None:
    for _ in range(3):
        desk.report(gpu(0, 24 * GB, 20 * GB))
    assert len(past(desk)) == 1
    later(desk)
    desk.report(gpu(0, 24 * GB, 18 * GB))
    assert [row.others_bytes for row in past(desk)] == [4 * GB, 6 * GB]


def test_a_report_costs_one_query_more(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 20 * GB), gpu(1, 24 * GB, 20 * GB))
    with counted(desk.store) as asked:
        desk.report(gpu(0, 24 * GB, 20 * GB), gpu(1, 24 * GB, 20 * GB))
    assert sum("device_history" in statement for statement in asked) == 1


def test_a_day_is_kept(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 20 * GB))
    later(desk, 25 * 3600)
    desk.report(gpu(0, 24 * GB, 20 * GB))
    [row] = past(desk)
    assert row.at > ago(60)


def test_memory_is_ours_while_a_job_of_ours_is_there(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 20 * GB, others=3 * GB))  # and 1 GB that the driver keeps for itself
    claim = desk.claimed()
    later(desk)
    desk.report(gpu(0, 24 * GB, 8 * GB, others=3 * GB))
    before, now = past(desk)
    assert (before.ours_bytes, before.others_bytes, before.job_id) == (0, 4 * GB, None)
    assert (now.ours_bytes, now.others_bytes, now.job_id) == (12 * GB, 4 * GB, claim.job_id)
    assert (now.temperature, now.utilisation) == (40, 0)


def test_of_a_slot_the_trainer_s_word_is_taken(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    Events(desk.folder(claim)).step(1, peak=700 * MB)
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    later(desk)
    desk.slots(4000)
    assert past(desk)[-1].ours_bytes == 700 * MB


def test_between_steps_a_slot_holds_its_peak(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    device = {"limit": 4000 * MB, "current": 77 * MB, "peak": 700 * MB}
    Events(desk.folder(claim)).write("step", step=1, losses={}, step_s=0.5, device=device)
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    later(desk)
    desk.slots(4000)
    assert past(desk)[-1].ours_bytes == 700 * MB


@pytest.mark.parametrize("kind", ["slot", "gpu"])
def test_the_peak_of_an_attempt_that_ran_out_is_seen_though_no_report_fell_into_it(desk: Desk, kind: str) -> None:
    reported = (lambda: desk.slots(8192)) if kind == "slot" else (lambda: desk.report(gpu(0, 8 * GB, 8 * GB)))
    reported()
    claim = desk.claimed(train={"steps": 10, "batch_size": 1})
    desk.ran_out(claim, 8000 * MB)

    assert past(desk)[-1].job_id == claim.job_id
    shown = history.show(desk.store, desk.owner, claim.device_id, 1, 10)
    assert (max(shown["ours_bytes"]), shown["total_bytes"]) == (8000 * MB, 8 * GB)


def test_of_a_trainer_that_was_killed_the_log_says_what_it_held(desk: Desk) -> None:
    desk.slots(900)
    claim = desk.claimed(train={"steps": 10, "batch_size": 1})
    log = (
        "Allocator (bfc_cpu_allocator_for_gpu) ran out of memory trying to allocate 64.00MiB (rounded to 67108864)\n"
        "Limit:                       943718400\nInUse:                       880803840\n"
        "MaxInUse:                    880803840\nNumAllocs: 1\n"
    )
    finish.record_end(desk.store, claim.job_id, claim.attempt, claim.token, desk.left(claim, 134, log=log))
    assert max(row.ours_bytes for row in past(desk)) == 880803840


def test_it_is_shown_in_columns_and_peaks_stay(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 24 * GB))
    with desk.store.transaction() as session:
        [row] = session.query(DevicePast)
        for number in range(1, 1000):
            held = 20 * GB if number == 500 else GB
            session.add(
                DevicePast(
                    device_id=row.device_id,
                    at=row.at - datetime.timedelta(seconds=20 * number),
                    total_bytes=24 * GB,
                    ours_bytes=held,
                    others_bytes=0,
                )
            )
    shown = history.show(desk.store, desk.owner, "box/gpu-0", 24, 50)
    assert {len(shown[name]) for name in ("at", "ours_bytes", "others_bytes", "utilisation", "job")} == {50}
    assert max(shown["ours_bytes"]) == 20 * GB
    assert shown["at"] == sorted(shown["at"])
    assert len(history.show(desk.store, desk.owner, "box/gpu-0", 1, 5000)["at"]) in (180, 181)
    with pytest.raises(NotFound):
        history.show(desk.store, desk.owner, "box/gpu-7", 1, 50)


@pytest.mark.parametrize(
    ("free", "others", "leased", "before", "use"),
    [
        (20, 0, False, 0, Use(20, 0, 4)),
        (20, 3, True, 0, Use(20, 1, 3)),
        (20, 3, True, 1, Use(20, 0, 4)),
        (20, 30, True, 0, Use(20, 0, 4)),
        (24, 0, True, 5, Use(24, 0, 0)),
    ],
)
def test_no_more_is_held_than_is_not_free(free: int, others: int, leased: bool, before: int, use: Use) -> None:
    assert use_of(24, free, [{"used_bytes": others}, {"used_bytes": None}], leased, before) == use
