"""Whole lives of jobs, made up: any policy, any devices, any ends of attempts; claimed, followed and claimed again."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.domain.contract import Reason
from services.domain.jobs.states import FINAL, State
from services.domain.memory.law import MemoryLaw
from services.domain.plan.policy import Lever, Policy, Prefer
from services.errors import Invalid
from services.planning import plan_job
from services.planning.plan_json import plan_of_job
from services.store.engine import Store
from services.store.models import Attempt
from tests.support.desk import Desk, empty
from tests.support.promises import assert_inside

MOST_ENDS = 12  # that are drawn; from then on memory runs out each time
POLICIES = st.fixed_dictionaries(
    {
        "levers": st.lists(st.sampled_from([str(lever) for lever in Lever]), unique=True),
        "min_batch_size": st.integers(1, 4),
        "max_attempts": st.integers(1, 6),
        "prefer": st.sampled_from([str(prefer) for prefer in Prefer]),
        "plan_ahead": st.booleans(),
    }
)
BOXES = st.lists(st.integers(200, 6000), min_size=1, max_size=3)
ENDS = st.sampled_from([Reason.DEVICE_MEMORY, Reason.DEVICE_MEMORY, Reason.STOPPED, Reason.DISK_FULL])


@pytest.fixture(scope="session")
def fresh(desk_sqlite: Store, desk_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    def make() -> Desk:
        empty(desk_sqlite)
        home = tmp_path_factory.mktemp("life")
        (home / "datasets").symlink_to(desk_home / "datasets")
        return Desk(desk_sqlite, home)

    return make


@pytest.mark.lengthy
@settings(max_examples=25)
@given(
    model=st.sampled_from(["efficientdet_d1", "faster_rcnn_resnet101_fpn"]),
    policy=POLICIES,
    boxes=st.lists(BOXES, min_size=1, max_size=3),
    ends=st.lists(ENDS, max_size=MOST_ENDS),
)
def test_whatever_happens_to_a_job_it_ends_keeps_its_floors_and_repeats_no_failure(
    fresh: Any, model: str, policy: dict[str, Any], boxes: list[list[int]], ends: list[Reason]
) -> None:
    desk: Desk = fresh()
    desk.slots(*boxes[0])
    try:
        job_id = desk.submit(model=model, policy=policy, train={"steps": 1000, "batch_size": 8})
    except Invalid as refused:
        if "no device can hold this job" not in refused.faults[0].message:
            raise
        return
    ends_left, boxes_left = iter(ends), itertools.cycle(boxes)
    while (job := desk.job(job_id)).state not in FINAL:
        desk.slots(*next(boxes_left))  # another box each time, with the same or other slots
        desk.set("jobs", not_before=None)
        claim = desk.claim()
        if claim is None:
            break
        assert_inside(claim.plan, plan_of_job(job.asked), Policy.from_dict(job.policy))
        *before, now = desk.attempts(job_id)
        assert_nothing_failed_comes_again(before, now)
        end = next(ends_left, Reason.DEVICE_MEMORY)
        if end is Reason.DEVICE_MEMORY:
            desk.ran_out(claim, in_use=desk.attempt(claim).limit_bytes)
        else:
            desk.end(claim, end)
    assert desk.job(job_id).state == State.FAILED
    assert desk.job(job_id).reason
    ran_out = [attempt for attempt in desk.attempts(job_id) if attempt.diagnosis == "too_large"]
    assert len(ran_out) <= policy["max_attempts"]


def assert_nothing_failed_comes_again(before: list[Attempt], now: Attempt) -> None:
    """Failures that are made up may contradict each other between models: there, the catalogue is asked."""
    failures, plan = plan_job.failures(before), plan_of_job(now.plan)
    of_one_model, of_any = MemoryLaw([failure.point for failure in failures]), MemoryLaw([])
    for failure in failures:
        if failure.limit_bytes >= now.limit_bytes:
            assert plan != failure.plan
            known = of_one_model if plan.model == failure.plan.model else of_any
            assert known.predict(plan).bytes < known.predict(failure.plan).bytes
