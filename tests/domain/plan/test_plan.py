"""Plans: what they refuse, and how they are applied to a configuration and read back."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import catalogue
from services.domain.catalogue import Family
from services.domain.pipeline_config import apply, build_config, check, compare, image_size, parse, plan_of, to_text
from services.domain.plan.learning_rate import rescaled_to_batch
from services.domain.plan.plan import Plan, PlanError
from services.domain.precision import Precision

MODELS = list(catalogue.MODELS.values())
PLAN = Plan(
    model="faster_rcnn_resnet50",
    batch_size=8,
    micro_batch=4,
    precision=Precision.FLOAT32,
    image_size=(640, 640),
    steps=1000,
    learning_rate=0.005,
    proposals=300,
    second_stage_batch=64,
)


@st.composite
def plans(draw, family=None):
    model = draw(st.sampled_from([model for model in MODELS if family in (None, model.family)]))
    micro = draw(st.integers(1, 4))
    two_stage = model.family is not Family.EFFICIENTDET
    proposals = draw(st.integers(64, 300)) if two_stage else None
    return Plan(
        model=model.name,
        batch_size=micro * draw(st.integers(1, 8)),
        micro_batch=micro,
        precision=draw(st.sampled_from(Precision)),
        image_size=draw(st.sampled_from(model.image_sizes)),
        steps=draw(st.integers(1, 100_000)),
        learning_rate=draw(st.floats(1e-6, 1.0)),
        proposals=proposals,
        second_stage_batch=draw(st.integers(1, 64)) if two_stage else None,
    )


@st.composite
def plans_for_a_config(draw):
    plan = draw(plans())
    family = catalogue.get(plan.model).family
    start = draw(st.sampled_from([model for model in MODELS if model.family is family]))
    return plan, build_config(start, 3)


@given(plans_for_a_config())
def test_applying_a_plan_is_idempotent(case):
    plan, config = case
    before = to_text(config)
    once = apply(plan, config)
    check(once)
    assert to_text(config) == before
    assert apply(plan, once) == once
    assert compare(once, apply(plan, once)) == []
    assert apply(plan, parse(to_text(once))) == once


@given(plans_for_a_config())
def test_the_plan_of_a_config_is_the_plan_that_was_applied(case):
    plan, config = case
    back = plan_of(apply(plan, config), plan.micro_batch)
    assert back.learning_rate == pytest.approx(plan.learning_rate, rel=1e-6)
    same = dataclasses.replace(back, learning_rate=plan.learning_rate)
    if plan.model in ("efficientdet_d6", "efficientdet_d7"):  # one network: the size alone tells which
        assert same.model == f"efficientdet_d{7 if plan.image_size >= (1536, 1536) else 6}"
        same = dataclasses.replace(same, model=plan.model)
    if plan.precision is Precision.FLOAT16:  # only the attempt's spec says it
        same = dataclasses.replace(same, precision=Precision.FLOAT16)
    assert same == plan


@given(st.sampled_from(MODELS))
def test_a_configs_own_plan_changes_nothing(model):
    config = build_config(model, 3)
    assert compare(config, apply(plan_of(config), config)) == []


def test_a_users_own_config_follows_its_own_plan_unchanged():
    config = build_config(catalogue.get("efficientdet_d7"), 3)
    config.model.ssd.feature_extractor.type = "ssd_efficientnet-b7_bifpn_keras"
    config.model.ssd.feature_extractor.bifpn.num_filters = 300
    assert apply(plan_of(config), config) == config


def test_a_smaller_plan_changes_its_own_settings_only():
    config = build_config(catalogue.get("faster_rcnn_resnet101"), 3, batch_size=8)
    plan = dataclasses.replace(PLAN, batch_size=4, micro_batch=2, precision=Precision.BFLOAT16, image_size=(512, 512))
    smaller = apply(plan, config)
    assert image_size(smaller) == (512, 512)
    changed = {change.field.rpartition(".")[2] for change in compare(config, smaller)}
    assert changed == {
        "type",
        "min_dimension",
        "max_dimension",
        "batch_size",
        "use_bfloat16",
        "num_steps",
        "total_steps",
        "warmup_steps",
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"micro_batch": 3}, "micro_batch: must divide the batch of 8"),
        ({"batch_size": 0}, "batch_size: must be a whole number of at least 1"),
        ({"steps": 0}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"batch_size": True}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"precision": "float8"}, "precision: one of float32, bfloat16, float16"),
        ({"image_size": (100, 640)}, "image_size: height and width must be between 256 and 2048"),
        ({"second_stage_batch": 301}, "second_stage_batch: at most the 300"),
        ({"model": "efficientdet_d0"}, "no second stage"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(change, words):
    with pytest.raises(PlanError, match=words) as caught:
        dataclasses.replace(PLAN, **change)
    assert caught.value.code == "bad_plan"


def test_an_efficientdet_plan_keeps_to_multiples_of_128():
    boxes_only = dataclasses.replace(
        PLAN, model="efficientdet_d0", image_size=(512, 512), proposals=None, second_stage_batch=None
    )
    with pytest.raises(PlanError, match="multiples of 128"):
        dataclasses.replace(boxes_only, image_size=(576, 576))


def test_another_batch_keeps_the_images_seen():
    smaller = rescaled_to_batch(PLAN, 2, 2)
    assert (smaller.batch_size, smaller.micro_batch, smaller.steps) == (2, 2, 4000)
    assert smaller.learning_rate == pytest.approx(0.00125)
    assert rescaled_to_batch(smaller, 8, micro_batch=4) == PLAN
    with pytest.raises(PlanError, match="batch_size"):
        rescaled_to_batch(PLAN, 0, 1)


def test_accumulation_is_batch_over_micro_batch():
    assert PLAN.accumulation == 2


@pytest.mark.parametrize(
    ("steps", "evaluations", "every"),
    [(2000, 1, 0), (2000, 4, 500), (7, 3, 3), (3, 10, 1), (50_000, None, 5000), (1000, None, 200), (399, None, 0)],
)
def test_evaluations_are_spread_over_the_training_and_the_last_is_at_its_end(steps, evaluations, every):
    assert dataclasses.replace(PLAN, steps=steps).evaluate_every(evaluations) == every


@given(plans())
def test_a_plan_survives_plain_values(plan):
    assert Plan(**plan.to_dict()) == plan
