"""The planner for any job: it ends, keeps the floors and repeats no failure."""

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from services.domain import catalogue
from services.domain.catalogue import Family
from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever, Policy
from services.domain.planner.decision import Decision, GiveUp
from services.domain.planner.first_plan import first_plan
from services.domain.planner.grown_plan import grown_plan
from services.domain.planner.next_plan import next_plan
from services.domain.planner.request import Failure, PlanRequest
from services.domain.precision import Precision
from tests.support.plans import GB, LAW, but, need
from tests.support.promises import assert_inside

HALVES = (None, Precision.BFLOAT16, Precision.FLOAT16)  # what devices compute fast


@st.composite
def cases(draw):
    model = draw(st.sampled_from(sorted(catalogue.MODELS.values(), key=lambda model: model.name)))
    micro = draw(st.integers(1, 8))
    two_stage = model.family is not Family.EFFICIENTDET
    asked = Plan(
        model=model.name,
        batch_size=micro * draw(st.integers(1, 3)),
        micro_batch=micro,
        precision=draw(st.sampled_from(Precision)),
        image_size=draw(st.sampled_from(model.image_sizes[:6])),
        steps=1000,
        learning_rate=0.01,
        proposals=draw(st.integers(64, 300)) if two_stage else None,
        second_stage_batch=draw(st.integers(1, 64)) if two_stage else None,
    )
    ladder_of_models = (model, *catalogue.smaller_models(model))
    policy = Policy(
        levers=draw(st.lists(st.sampled_from(Lever), unique=True)),
        min_batch_size=draw(st.integers(1, 8)),
        min_image_size=draw(st.sampled_from([1, 256, 300, 512])),
        min_backbone=draw(st.none() | st.sampled_from([rung.name for rung in ladder_of_models])),
        max_attempts=draw(st.integers(1, 20)),
        plan_ahead=draw(st.booleans()),
    )
    return asked, policy, draw(st.integers(GB // 8, 16 * GB)), draw(st.sampled_from(HALVES))


@given(cases())
def test_repeated_failures_end_without_repeating_a_plan_or_passing_a_floor(case):
    asked, policy, capacity, half = case
    answer = first_plan(PlanRequest(asked, policy, LAW, half), capacity)
    failures: list[Failure] = []
    while isinstance(answer, Decision):
        plan = answer.plan
        assert_inside(plan, asked, policy)
        assert plan not in [failure.plan for failure in failures]
        known = LAW.knowing(failure.point for failure in failures)
        assert all(known.predict(plan).bytes < known.predict(failure.plan).bytes for failure in failures)
        failures.append(Failure(plan, capacity, attempt=len(failures) + 1))
        assert len(failures) <= policy.max_attempts
        answer = next_plan(PlanRequest(asked, policy, LAW, half), capacity, failures, len(failures))
    assert answer.reason.endswith(".")


@st.composite
def histories(draw, asked, policy):
    """Any measurements of the models that the job may use."""
    models = [rung.name for rung in policy.models(catalogue.get(asked.model))]
    shapes = st.builds(
        lambda model, micro, precision: but(
            asked, model=model, batch_size=micro, micro_batch=micro, precision=precision
        ),
        st.sampled_from(models),
        st.integers(1, 8),
        st.sampled_from(Precision),
    )
    peaks = st.integers(GB // 4, 32 * GB)
    return draw(st.lists(st.builds(Point.of, shapes, peaks, complete=st.booleans()), max_size=4))


@settings(max_examples=150)
@given(st.data())
def test_any_history_ends_keeps_the_floors_and_repeats_no_failure(data):
    """A job's whole life: planned, placed on a device, grown there, interrupted or too large."""
    asked, policy, _, half = data.draw(cases())
    law = MemoryLaw(data.draw(histories(asked, policy)))
    devices = data.draw(st.lists(st.integers(GB // 8, 32 * GB), min_size=1, max_size=4))
    interrupted = data.draw(st.integers(0, 4))
    failures: list[Failure] = []
    meant_for = max(devices)
    answer = first_plan(PlanRequest(asked, policy, law, half), meant_for)
    while isinstance(answer, Decision):
        plan, known = answer.plan, law.knowing(failure.point for failure in failures)
        as_asked = not failures and not policy.plan_ahead
        limit = data.draw(
            st.sampled_from([at for at in devices if as_asked or at >= min(meant_for, known.predict(plan).high)])
        )
        grown = grown_plan(PlanRequest(asked, policy, law, half), plan, meant_for, limit, failures)
        if grown is not None:
            assert (grown.plan.model, grown.plan.batch_size) == (plan.model, plan.batch_size)
            assert grown.prediction.high <= limit
            plan, meant_for = grown.plan, limit
        assert_inside(plan, asked, policy)
        for failure in failures:
            if failure.limit_bytes >= limit:
                assert plan != failure.plan
                assert known.predict(plan).bytes < known.predict(failure.plan).bytes
        if interrupted:
            interrupted -= 1
            answer = dataclasses.replace(answer, plan=plan)
            continue
        failures.append(Failure(plan, limit, attempt=len(failures) + 1))
        assert len(failures) <= policy.max_attempts
        meant_for = data.draw(st.sampled_from([at for at in devices if at >= limit]))
        answer = next_plan(PlanRequest(asked, policy, law, half), meant_for, failures, len(failures))
    assert answer.reason.endswith(".")


@given(cases())
def test_no_lever_is_used_without_need(case):
    """Resetting any single lever to the asked value does not fit."""
    asked, policy, capacity, half = case
    answer = first_plan(PlanRequest(asked, policy, LAW, half), capacity)
    if isinstance(answer, GiveUp) or answer.prediction.high > capacity:
        return
    plan = answer.plan
    back = [
        {"precision": asked.precision},
        {"proposals": asked.proposals, "second_stage_batch": asked.second_stage_batch},
        {"image_size": asked.image_size},
        {"model": asked.model},
    ]
    for values in back:
        less_pulled = but(plan, **values)
        assert less_pulled == plan or need(less_pulled) > capacity
    if plan.batch_size == asked.batch_size and plan.micro_batch != asked.micro_batch:
        assert need(but(plan, micro_batch=asked.micro_batch)) > capacity


@given(cases())
def test_changes_list_every_field_that_differs_with_its_lever(case):
    asked, policy, capacity, half = case
    answer = first_plan(PlanRequest(asked, policy, LAW, half), capacity)
    if isinstance(answer, Decision):
        before, after = asked.to_dict(), answer.plan.to_dict()
        assert {change.field for change in answer.changes} == {name for name in before if before[name] != after[name]}
        assert {change.lever for change in answer.changes} <= set(policy.levers)
        assert all(change.before != change.after for change in answer.changes)
