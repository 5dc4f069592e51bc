"""The planner: the largest configuration that fits, inside the floors, with the reason; and when it gives up."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.domain import catalogue
from services.domain.catalogue import Family
from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.plan import Plan, Precision
from services.domain.plan.policy import Lever, Policy
from services.domain.planner.planner import Decision, Failure, GiveUp, first_plan, grown_plan, ladder, next_plan
from services.domain.sizes import in_mb
from tests.support.promises import assert_inside

GB = 2**30
LAW = MemoryLaw()
D0 = Plan(
    model="efficientdet_d0",
    batch_size=16,
    micro_batch=16,
    precision=Precision.FLOAT32,
    image_size=(512, 512),
    steps=1000,
    learning_rate=0.01,
)
R101 = dataclasses.replace(
    D0, model="faster_rcnn_resnet101_fpn", image_size=(640, 640), proposals=300, second_stage_batch=64
)
IMAGES_ONLY = Policy(levers=("micro_batch", "image_size"))


def need(plan, law=LAW):
    return law.predict(plan).high


def room_for(plan):
    """A capacity that just holds `plan`."""
    return need(plan)


def but(plan, **changes):
    return dataclasses.replace(plan, **changes)


def fails(plan, limit):
    return [Failure(plan, limit)]


# ------------------------------------------------------------------------------------------ the first plan


def test_what_fits_is_left_as_it_was_asked_for():
    decision = first_plan(D0, Policy(), LAW, room_for(D0))
    assert (decision.plan, decision.changes) == (D0, ())
    assert decision.prediction == LAW.predict(D0)


@pytest.mark.parametrize(("policy", "capacity"), [(Policy(plan_ahead=False), 1), (Policy(), None)])
def test_without_planning_ahead_the_first_attempt_is_as_asked(policy, capacity):
    decision = first_plan(D0, policy, LAW, capacity)
    assert (decision.plan, decision.changes) == (D0, ())
    assert "as asked" in decision.summary


def test_the_largest_micro_batch_that_fits_is_found_at_once():
    decision = first_plan(D0, Policy(), LAW, 4 * GB)
    assert decision.plan == but(D0, micro_batch=4)
    assert need(decision.plan) <= 4 * GB < need(but(D0, micro_batch=8))
    (change,) = decision.changes
    assert (change.lever, change.field, change.before, change.after) == ("micro_batch", "micro_batch", "16", "4")
    assert change.reason.startswith("batch 16 is kept and computed in pieces of 4: predicted ")
    assert "of 4096 MB, from the catalogue (no efficientdet_d0 measured here yet)" in change.reason
    assert "; as asked it would need about " in change.reason
    assert change.reason.endswith("cost: steps take longer, and batch normalisation sees 4 images at a time")


def test_any_divisor_of_the_batch_may_be_the_micro_batch():
    asked = but(D0, batch_size=12, micro_batch=12)
    assert first_plan(asked, Policy(), LAW, room_for(but(asked, micro_batch=3))).plan.micro_batch == 3


def test_a_micro_batch_of_one_at_full_size_comes_before_a_smaller_image():
    decision = first_plan(D0, IMAGES_ONLY, LAW, room_for(but(D0, micro_batch=1)))
    assert decision.plan == but(D0, micro_batch=1)


def test_once_the_image_must_shrink_the_micro_batch_grows_again():
    less = room_for(but(D0, micro_batch=1)) - 1
    decision = first_plan(D0, IMAGES_ONLY, LAW, less)
    assert decision.plan.image_size == (384, 384)
    larger = but(decision.plan, micro_batch=2 * decision.plan.micro_batch)
    assert need(decision.plan) <= less < need(larger)


def test_the_policys_order_decides_which_lever_goes_first():
    policy = Policy(levers=("image_size", "micro_batch"))
    decision = first_plan(D0, policy, LAW, room_for(but(D0, image_size=(384, 384))))
    assert decision.plan == but(D0, image_size=(384, 384))


def test_precision_is_a_lever_only_where_the_device_is_good_at_it():
    half = but(D0, micro_batch=1, precision=Precision.BFLOAT16)
    capacity = room_for(half)
    assert first_plan(D0, Policy(), LAW, capacity, bfloat16=True).plan == half
    assert first_plan(D0, Policy(), LAW, capacity).plan.precision is Precision.FLOAT32


def test_precision_is_a_lever_where_the_second_stage_is_a_small_part():
    mask = but(R101, model="mask_rcnn_resnet101_fpn")
    for asked, precision in ((R101, Precision.BFLOAT16), (mask, Precision.FLOAT32)):
        decision = first_plan(asked, Policy(), LAW, room_for(but(asked, micro_batch=1)) - 1, bfloat16=True)
        assert decision.plan.precision is precision


def test_proposals_and_the_sample_of_them_shrink_together_in_bounds():
    policy = Policy(levers=("proposals",))
    rungs = [(step.plan.proposals, step.plan.second_stage_batch) for step in ladder(R101, policy, LAW, [])]
    assert rungs[0] == (300, 64)
    assert rungs[-1] == (64, 32)


def test_a_smaller_backbone_keeps_the_image_size():
    policy = Policy(levers=("backbone",))
    smaller = but(R101, model="faster_rcnn_resnet50_fpn")
    decision = first_plan(R101, policy, LAW, room_for(smaller))
    assert decision.plan == smaller
    assert "from resnet101_fpn to resnet50_fpn" in decision.changes[0].reason


def test_a_backbone_below_the_floor_is_never_taken():
    policy = Policy(levers=("backbone",), min_backbone="resnet101")
    assert isinstance(first_plan(R101, policy, LAW, 2 * GB), GiveUp)


def test_who_forbids_accumulation_gets_a_smaller_batch_that_sees_the_same_images():
    policy = Policy(levers=("batch_size",))
    decision = first_plan(D0, policy, LAW, room_for(but(D0, batch_size=4, micro_batch=4)))
    plan = decision.plan
    assert (plan.batch_size, plan.micro_batch, plan.steps) == (4, 4, 4000)
    assert plan.learning_rate == pytest.approx(0.0025)
    assert {change.field for change in decision.changes} == {"batch_size", "micro_batch", "steps", "learning_rate"}
    assert {change.lever for change in decision.changes} == {"batch_size"}


def test_a_change_says_what_is_done_why_and_what_it_costs_one_by_one():
    decision = first_plan(D0, Policy(levers=("batch_size",)), LAW, room_for(but(D0, batch_size=4, micro_batch=4)))
    change = next(change for change in decision.changes if change.field == "batch_size")
    assert change.what == "the batch size changes from 16 to 4"
    assert change.cost == "noisier updates, and more of them"
    assert change.reason == f"{change.what}: {change.why}; cost: {change.cost}"


def test_who_forbids_accumulation_does_not_get_more_of_it_with_another_batch():
    """15 images in pieces of 5 are 3 pieces; 7 is prime, and would be 7 pieces."""
    asked = but(D0, batch_size=15, micro_batch=5)
    steps = ladder(asked, Policy(levers=("batch_size",)), LAW, [])
    assert [(step.plan.batch_size, step.plan.micro_batch) for step in steps] == [(15, 5), (3, 3), (1, 1)]
    assert steps[1].sentence.startswith("Batch 3: about ")


def test_a_batch_floor_between_two_halves_is_reached():
    policy = Policy(levers=("batch_size",), min_batch_size=3)
    assert [step.plan.batch_size for step in ladder(D0, policy, LAW, [])] == [16, 8, 4, 3]


def test_the_batch_is_not_cut_where_that_saves_nothing():
    asked = but(D0, micro_batch=1)
    batches = {step.plan.batch_size for step in ladder(asked, Policy(levers=("batch_size",)), LAW, [])}
    assert batches == {16, 1}  # 1 needs no sums of gradients; those between need what 16 needs


def test_pieces_that_would_need_more_than_the_whole_are_not_made():
    """One image costs less than the sums of gradients that accumulation needs."""
    asked = but(R101, batch_size=2, micro_batch=2, image_size=(256, 256))
    assert need(but(asked, micro_batch=1)) > need(asked)
    levers = {step.lever for step in ladder(asked, Policy(levers=("micro_batch",)), LAW, [])}
    assert levers == {None}


# ------------------------------------------------------------------------------------------ giving up


def test_nothing_may_be_changed_and_it_does_not_fit():
    answer = first_plan(D0, Policy(levers=()), LAW, GB)
    assert isinstance(answer, GiveUp)
    assert f"needs about {in_mb(LAW.predict(D0).bytes)} " in answer.reason
    assert "the policy allows no changes" in answer.reason
    assert "does not allow micro_batch, precision, image_size, backbone, batch_size" in answer.reason


def test_giving_up_names_every_floor_and_what_it_would_have_taken():
    policy = Policy(levers=("micro_batch", "image_size", "backbone"), min_image_size=512, min_backbone="resnet50")
    answer = first_plan(R101, policy, LAW, GB // 2)
    assert isinstance(answer, GiveUp)
    assert "even at your minimums (micro-batch 1, image 512×512, backbone resnet50_fpn)" in answer.reason
    assert "the largest device has 512 MB" in answer.reason
    assert "does not allow precision, proposals, batch_size" in answer.reason


def test_what_may_fit_is_tried_once_and_says_that_it_may_not():
    policy = Policy(levers=("micro_batch",))
    smallest = but(D0, micro_batch=1)
    capacity = LAW.predict(smallest).bytes
    decision = first_plan(D0, policy, LAW, capacity)
    assert decision.plan == smallest
    assert "though it may take" in decision.summary
    assert isinstance(next_plan(D0, smallest, policy, LAW, capacity, fails(smallest, capacity), 1), GiveUp)


def test_attempts_are_counted():
    answer = next_plan(D0, D0, Policy(max_attempts=2), LAW, 8 * GB, fails(D0, 8 * GB), 2)
    assert isinstance(answer, GiveUp)
    assert answer.reason.startswith("All 2 attempts that the policy allows are used. Attempt 2 needed more than 8192 ")


# ------------------------------------------------------------------------------------------ after a failure


def test_after_running_out_the_next_plan_fits_and_says_why():
    decision = next_plan(D0, D0, Policy(), LAW, 4 * GB, fails(D0, 4 * GB), 1)
    assert decision.plan == but(D0, micro_batch=4)
    assert "; attempt 1 needed more than 4096 MB; cost: " in decision.changes[0].reason
    assert decision.summary.startswith("Micro-batch 4: predicted ")
    assert "cost: steps take longer" in decision.summary


def test_a_failure_that_the_law_did_not_expect_corrects_the_law():
    """It was predicted to fit in 4 GB and did not: everything is larger than thought, not just that plan."""
    current = but(D0, micro_batch=4)
    assert need(current) <= 4 * GB
    decision = next_plan(D0, current, Policy(), LAW, 4 * GB, fails(current, 4 * GB), 1)
    assert decision.plan == but(D0, micro_batch=2)
    assert decision.prediction.bytes > LAW.predict(decision.plan).bytes


def test_a_measured_failure_is_enough_to_jump():
    """Twice what the catalogue says: halving once would fail again."""
    point = Point.of(D0, 2 * LAW.predict(D0).bytes, complete=False)
    decision = next_plan(D0, D0, Policy(), MemoryLaw([point]), 4 * GB, fails(D0, 4 * GB), 1)
    assert decision.plan == but(D0, micro_batch=2)


def test_the_same_plan_may_go_on_where_there_is_more_room_than_where_it_failed():
    decision = next_plan(D0, D0, Policy(), LAW, 64 * GB, fails(D0, 4 * GB), 1)
    assert (decision.plan, decision.changes) == (D0, ())


def test_a_backbone_that_was_given_up_does_not_come_back():
    current = but(R101, model="faster_rcnn_resnet50_fpn")
    decision = next_plan(R101, current, Policy(), LAW, 64 * GB, fails(current, 2 * GB), 1)
    assert decision.plan == current


def test_an_evaluation_that_ran_out_is_met_with_fewer_proposals():
    asked = but(R101, model="faster_rcnn_resnet50_fpn", batch_size=1, micro_batch=1, image_size=(256, 256))
    failure = Failure(asked, GB, evaluating=True)
    decision = next_plan(asked, asked, Policy(), LAW, GB, [failure], 1)
    assert decision.plan.proposals < 300
    assert decision.plan.image_size == (256, 256)


# ------------------------------------------------------------------------------------------ what people are told


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([], "from the catalogue (no efficientdet_d0 measured here yet)"),
        (
            [Point.of(D0, 20 * GB, complete=False)],
            "from the catalogue, raised because less has already run out of memory",
        ),
        ([Point.of(D0, 12 * GB)], "scaled from one measurement of efficientdet_d0 here"),
        ([Point.of(D0, 12 * GB), Point.of(but(D0, micro_batch=2), 2 * GB)], "from 2 measurements of efficientdet_d0"),
    ],
)
def test_every_choice_says_what_its_prediction_was_made_from(points, said):
    law = MemoryLaw(points)
    assert said in first_plan(D0, Policy(), law, 4 * GB).summary
    assert said in first_plan(D0, Policy(), law, 64 * GB).summary
    assert said in first_plan(D0, Policy(plan_ahead=False), law, 64 * GB).summary
    assert said in first_plan(D0, Policy(levers=()), law, 1).reason


COSTS = {
    "micro_batch": "batch normalisation sees 1 image at a time",
    "precision": "activations are rounded",
    "proposals": "objects in crowded images may be missed",
    "image_size": "small objects get harder to find",
    "backbone": "a smaller network, usually less accurate, and the weights learnt so far are lost",
    "batch_size": "noisier updates, and more of them",
}


@pytest.mark.parametrize("lever", Lever)
def test_every_lever_says_what_it_costs(lever):
    asked = D0 if lever is Lever.PRECISION else R101
    rungs = ladder(asked, Policy(levers=(lever,)), LAW, [], bfloat16=True)
    assert len(rungs) > 1
    decision = first_plan(asked, Policy(levers=(lever,)), LAW, rungs[-1].prediction.high, bfloat16=True)
    assert COSTS[lever] in decision.summary
    assert any(COSTS[lever] in change.reason for change in decision.changes)
    assert COSTS[lever] in rungs[-1].sentence
    assert "costs" not in rungs[0].sentence


# ------------------------------------------------------------------------------------------ growing back


def grown(current, capacity, *failures, asked=R101, meant_for=2 * GB, **options):
    return grown_plan(asked, current, Policy(), LAW, capacity, failures, meant_for=meant_for, **options)


SHRUNK = but(R101, micro_batch=1, image_size=(512, 512), proposals=100, second_stage_batch=50)


def test_on_a_larger_device_a_plan_grows_back_to_what_was_asked_for():
    decision = grown(SHRUNK, room_for(R101))
    assert decision.plan == R101
    assert {change.lever for change in decision.changes} == {"micro_batch", "proposals", "image_size"}
    assert decision.summary.startswith("Raised again towards what was asked for. Micro-batch 16")
    assert "it was reduced to fit 2048 MB" in decision.summary
    assert "what it costs" not in decision.summary


def test_it_grows_as_far_as_there_is_room():
    capacity = room_for(but(R101, micro_batch=4))
    assert grown(SHRUNK, capacity).plan == but(R101, micro_batch=4)


def test_precision_comes_back_too_and_a_device_that_lacks_it_is_no_obstacle():
    half = but(D0, precision=Precision.BFLOAT16, micro_batch=1)
    assert grown(half, 64 * GB, asked=D0).plan == D0
    assert grown(half, room_for(half), asked=D0, meant_for=1) is None


def test_a_backbone_and_a_batch_stay_as_they_are_when_a_plan_grows():
    current = but(SHRUNK, model="faster_rcnn_resnet50_fpn").with_batch(4, 1)
    plan = grown(current, 200 * GB).plan
    assert plan == but(current, micro_batch=4, image_size=(640, 640), proposals=300, second_stage_batch=64)


@pytest.mark.parametrize(
    ("current", "capacity", "meant_for"),
    [(R101, 200 * GB, GB), (SHRUNK, 200 * GB, 200 * GB), (SHRUNK, room_for(SHRUNK), GB)],
    ids=["as asked already", "no larger a device", "no room for more"],
)
def test_where_nothing_is_gained_it_stays_as_it_is(current, capacity, meant_for):
    assert grown(current, capacity, meant_for=meant_for) is None


def test_what_failed_on_such_a_device_is_not_gone_back_to():
    capacity = room_for(R101)
    assert grown(SHRUNK, capacity, Failure(R101, capacity)).plan == but(R101, micro_batch=8)
    assert grown(SHRUNK, capacity, Failure(R101, 2 * GB)).plan == R101


def test_a_lever_that_the_policy_lacks_is_not_touched_by_growing():
    policy = Policy(levers=("image_size",))
    current = but(D0, image_size=(384, 384))
    decision = grown_plan(D0, current, policy, LAW, 64 * GB, [], meant_for=GB)
    assert decision.plan == D0


# ------------------------------------------------------------------------------------------ the ladder


def test_the_ladder_goes_down_from_what_was_asked_for_and_answers_for_each_device():
    steps = ladder(R101, Policy(), LAW, [2 * GB, 64 * GB])
    assert steps[0].plan == R101
    assert steps[0].lever is None
    assert steps[0].sentence.startswith("As asked: about ")
    assert steps[1].lever == Lever.MICRO_BATCH
    highs = [step.prediction.high for step in steps]
    assert highs == sorted(highs, reverse=True)
    assert all(step.fits == (step.prediction.high <= 2 * GB, True) for step in steps)


def test_each_rung_is_what_the_planner_chooses_where_just_that_much_is_free():
    for step in ladder(R101, Policy(), LAW, []):
        assert first_plan(R101, Policy(), LAW, step.prediction.high).plan == step.plan


def test_the_last_rung_is_the_floor():
    steps = ladder(D0, IMAGES_ONLY, LAW, [])
    assert steps[-1].plan == but(D0, micro_batch=1, image_size=(256, 256))


# ------------------------------------------------------------------------------------------ for any job


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
    return asked, policy, draw(st.integers(GB // 8, 16 * GB)), draw(st.booleans())


@given(cases())
def test_however_often_it_fails_it_ends_never_repeats_itself_and_keeps_the_floors(case):
    asked, policy, capacity, bfloat16 = case
    answer = first_plan(asked, policy, LAW, capacity, bfloat16=bfloat16)
    failures = []
    while isinstance(answer, Decision):
        plan = answer.plan
        assert_inside(plan, asked, policy)
        assert plan not in [failure.plan for failure in failures]
        known = LAW.knowing(failure.point for failure in failures)
        assert all(known.predict(plan).bytes < known.predict(failure.plan).bytes for failure in failures)
        failures.append(Failure(plan, capacity))
        assert len(failures) <= policy.max_attempts
        answer = next_plan(asked, plan, policy, LAW, capacity, failures, len(failures), bfloat16=bfloat16)
    assert answer.reason.endswith(".")


@st.composite
def histories(draw, asked, policy):
    """Whatever may have been measured of the models that the job can come down to."""
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
def test_for_any_policy_history_devices_and_outcomes_it_ends_keeps_the_floors_and_repeats_no_failure(data):
    """A job's whole life: planned, placed on a device that should hold it, grown there, interrupted or too large."""
    asked, policy, _, bfloat16 = data.draw(cases())
    law = MemoryLaw(data.draw(histories(asked, policy)))
    devices = data.draw(st.lists(st.integers(GB // 8, 32 * GB), min_size=1, max_size=4))
    interrupted = data.draw(st.integers(0, 4))
    meant_for, failures = max(devices), []
    answer = first_plan(asked, policy, law, meant_for, bfloat16=bfloat16)
    while isinstance(answer, Decision):
        plan, known = answer.plan, law.knowing(failure.point for failure in failures)
        as_asked = not failures and not policy.plan_ahead
        limit = data.draw(
            st.sampled_from([at for at in devices if as_asked or at >= min(meant_for, known.predict(plan).high)])
        )
        grown = grown_plan(asked, plan, policy, law, limit, failures, meant_for=meant_for, bfloat16=bfloat16)
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
        failures.append(Failure(plan, limit))
        assert len(failures) <= policy.max_attempts
        meant_for = data.draw(st.sampled_from([at for at in devices if at >= limit]))
        answer = next_plan(asked, plan, policy, law, meant_for, failures, len(failures), bfloat16=bfloat16)
    assert answer.reason.endswith(".")


@given(cases())
def test_nothing_less_pulled_that_fits_is_passed_over(case):
    """Putting any one lever back to where it was asked for does not fit: no lever is pulled for nothing."""
    asked, policy, capacity, bfloat16 = case
    answer = first_plan(asked, policy, LAW, capacity, bfloat16=bfloat16)
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
def test_changes_tell_every_field_that_differs_and_by_which_lever(case):
    asked, policy, capacity, bfloat16 = case
    answer = first_plan(asked, policy, LAW, capacity, bfloat16=bfloat16)
    if isinstance(answer, Decision):
        before, after = asked.to_dict(), answer.plan.to_dict()
        assert {change.field for change in answer.changes} == {name for name in before if before[name] != after[name]}
        assert {change.lever for change in answer.changes} <= set(policy.levers)
        assert all(change.before != change.after for change in answer.changes)
