"""When an attempt is probed, and how the probe's result is applied, on both databases."""

import dataclasses
from typing import Any

import pytest

from services.attempts import ingest
from services.domain.contract import Reason
from services.domain.memory import prior
from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.learning_rate import rescaled_to_batch
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever, Policy
from services.domain.planner import probe_spec as probing
from services.domain.precision import Precision
from services.scheduling.claim import Claim
from tests.support.desk import MB, Desk, Events

ASKED = Plan("efficientdet_d0", 8, 8, Precision.FLOAT32, (256, 256), 10, 0.01)
PLAN = dataclasses.replace(ASKED, micro_batch=2)
LIMIT = 1000 * MB


def probe(plan: Plan = PLAN, policy: Policy | None = None, points: Any = (), *, is_first: bool = True) -> Any:
    return probing.probe_for(ASKED, plan, policy or Policy(), points, LIMIT, is_first=is_first)


def choices(plan: Plan = PLAN, **how: Any) -> tuple[int, ...] | None:
    found = probe(plan, **how)
    return found and found.micro_batches


# When, and how far


def test_a_first_attempts_probe_goes_up_to_the_request() -> None:
    assert choices() == (8, 4, 2, 1)


def test_a_later_attempts_probe_only_goes_down() -> None:
    assert choices(is_first=False) == (2, 1)
    assert choices(dataclasses.replace(PLAN, micro_batch=1), is_first=False) is None


def test_with_another_batch_size_the_plan_is_the_largest_to_probe() -> None:
    assert choices(rescaled_to_batch(ASKED, 4, 4)) == (4, 2, 1)


def test_without_the_lever_or_planning_there_is_no_probe() -> None:
    assert choices(policy=Policy(levers=(Lever.IMAGE_SIZE, Lever.BATCH_SIZE))) is None
    assert choices(policy=Policy(plan_ahead=False)) is None
    assert choices(policy=Policy(plan_ahead=False), is_first=False) == (2, 1)


def test_a_measured_plan_needs_no_probe() -> None:
    assert choices(points=[Point.of(PLAN, 480 * MB, evaluation_bytes=200 * MB)]) is None
    assert choices(points=[Point.of(PLAN, 480 * MB, complete=False)]) is not None
    assert choices(points=[dataclasses.replace(Point.of(PLAN, 480 * MB), brief=True)]) is not None
    assert choices(points=[Point.of(dataclasses.replace(PLAN, image_size=(512, 512)), 900 * MB)]) is not None


def test_a_model_measured_in_several_shapes_needs_no_probe() -> None:
    points = [Point.of(dataclasses.replace(PLAN, micro_batch=size), (100 + 180 * size) * MB) for size in (1, 4)]
    assert choices(points=points) is None


def test_a_batch_of_one_needs_no_probe() -> None:
    assert choices(rescaled_to_batch(ASKED, 1, 1)) is None


def test_a_probe_carries_the_laws_prediction() -> None:
    found, need = probe(), prior.need(PLAN)
    assert found.limit_bytes == LIMIT
    assert found.fixed_bytes + found.sums_bytes + 2 * found.image_bytes == pytest.approx(sum(need.training))


def test_measurements_of_other_shapes_scale_the_prediction() -> None:
    other = dataclasses.replace(PLAN, micro_batch=4)
    twice = round(2 * MemoryLaw().predict(other).bytes)
    assert probe(points=[Point.of(other, twice)]).image_bytes == pytest.approx(2 * probe().image_bytes, rel=0.05)


def test_a_prediction_from_other_models_is_called_a_guess() -> None:
    unmeasured = dataclasses.replace(PLAN, model="efficientdet_d6")
    assert not probe().is_guess
    assert probe(unmeasured).is_guess
    assert not probe(unmeasured, points=[Point.of(dataclasses.replace(unmeasured, micro_batch=4), 2000 * MB)]).is_guess


# What comes of it


@pytest.fixture
def running(desk: Desk) -> Claim:
    desk.slots(1000)
    return desk.claimed()


def report_probe(desk: Desk, claim: Claim, **report: Any) -> None:
    Events(desk.folder(claim)).write("probe", **{"limit": LIMIT, "seconds": 9.5, "traces": 2, **report})
    assert ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))


def points(**peaks: int | None) -> list[dict[str, int | None]]:
    return [{"micro_batch": int(name[2:]), "peak": peak} for name, peak in peaks.items()]


def test_a_first_job_is_probed_within_its_device(running: Claim) -> None:
    assert running.probe is not None
    assert running.probe.limit_bytes == LIMIT
    assert running.plan.micro_batch in running.probe.micro_batches
    assert max(running.probe.micro_batches) == running.plan.batch_size


def test_the_probes_choice_becomes_the_plan_and_is_reported(desk: Desk, running: Claim) -> None:
    planned = running.plan.micro_batch
    other = 4 if planned != 4 else 2
    report_probe(desk, running, chosen=other, points=points(mb1=300 * MB, mb4=860 * MB, mb2=480 * MB))
    attempt, job = desk.attempt(running), desk.job(running.job_id)
    assert attempt.plan["micro_batch"] == job.plan["micro_batch"] == other
    assert attempt.plan["batch_size"] == running.plan.batch_size
    assert job.planned == attempt.planned
    [change] = [change for change in attempt.planned["changes"] if "probe" in change["reason"]]
    assert (change["field"], change["before"], change["after"]) == ("micro_batch", str(planned), str(other))
    assert "860 MB at 4" in change["reason"]
    assert f"Micro-batch {planned} → {other}: the probe measured" in attempt.planned["summary"]


def test_the_probes_measurements_are_stored_for_the_law(desk: Desk, running: Claim) -> None:
    report_probe(desk, running, chosen=4, points=points(mb2=480 * MB, mb8=None, mb4=860 * MB))
    rows = {row.micro_batch: (row.peak_bytes, row.accumulation, row.complete) for row in desk.measurements()}
    assert rows == {2: (480 * MB, 4, True), 4: (860 * MB, 2, True), 8: (LIMIT + 1, 1, False)}
    prediction = desk.attempt(running).planned["prediction"]
    assert prediction["source"] == "measured"
    assert prediction["bytes"] == pytest.approx(860 * MB, rel=0.02)


def test_a_probes_measurement_of_few_runs_is_brief(desk: Desk, running: Claim) -> None:
    """Peaks of EfficientDet-D0 at 256²: `short` after three steps, `long` after six, where it stayed."""
    short, long = 475 * MB, 539 * MB
    report_probe(desk, running, chosen=2, points=[{"micro_batch": 2, "peak": short, "runs": 3}])
    assert [row.brief for row in desk.measurements()] == [True]
    prediction = desk.attempt(running).planned["prediction"]
    assert prediction["bytes"] == pytest.approx(short, rel=0.01)
    assert prediction["high_bytes"] > long


def test_a_probes_measurement_of_enough_runs_is_not_brief(desk: Desk, running: Claim) -> None:
    tried = [{"micro_batch": 8, "peak": None, "runs": 1}, {"micro_batch": 2, "peak": 530 * MB, "runs": 10}]
    report_probe(desk, running, chosen=2, points=tried)
    assert [row.brief for row in desk.measurements()] == [False, False]
    prediction = desk.attempt(running).planned["prediction"]
    assert prediction["high_bytes"] < 1.1 * 530 * MB


def test_the_attempts_own_measurement_is_of_the_probed_plan(desk: Desk, running: Claim) -> None:
    report_probe(desk, running, chosen=4, points=points(mb2=480 * MB, mb4=860 * MB))
    Events(desk.folder(running)).step(1, peak=850 * MB)
    ingest.ingest(desk.store, running.job_id, running.attempt, running.token, desk.folder(running))
    desk.end(running, Reason.COMPLETED)
    assert [(row.micro_batch, row.peak_bytes) for row in desk.measurements()][-1] == (4, 850 * MB)


def test_the_next_job_is_planned_from_the_probe_and_not_probed_again(desk: Desk, running: Claim) -> None:
    report_probe(desk, running, chosen=4, points=points(mb2=480 * MB, mb4=860 * MB))
    desk.end(running, Reason.COMPLETED)
    after = desk.claimed()
    assert after.plan.micro_batch == 4
    assert after.probe is None


def test_a_later_attempt_keeps_the_probes_choice(desk: Desk, running: Claim) -> None:
    report_probe(desk, running, chosen=4, points=points(mb2=480 * MB, mb4=860 * MB))
    desk.end(running, Reason.HOST_MEMORY)
    desk.set("jobs", not_before=None)
    again = desk.claim()
    assert again is not None
    assert again.plan.micro_batch == 4


@pytest.mark.parametrize(
    "report",
    [
        {},
        {"chosen": 4},
        {"chosen": "4", "points": [{"micro_batch": 4, "peak": 5}]},
        {"chosen": 3, "points": [{"micro_batch": 3, "peak": 5}]},
        {"chosen": 4, "points": [{"micro_batch": 4, "peak": -5}, None, 7]},
        {"chosen": 4, "points": {"4": 5}},
    ],
)
def test_an_impossible_probe_changes_nothing(desk: Desk, running: Claim, report: dict[str, Any]) -> None:
    report_probe(desk, running, **report)
    assert desk.attempt(running).plan == running.plan.to_dict()
    assert desk.measurements() == []
