"""Policies: defaults, what they refuse, how far they let a backbone shrink."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import catalogue
from services.domain.plan.policy import Lever, Policy, PolicyError, Prefer

R152_FPN = catalogue.get("mask_rcnn_resnet152_fpn")


@st.composite
def policies(draw):
    return Policy(
        levers=draw(st.lists(st.sampled_from(Lever), unique=True)),
        min_batch_size=draw(st.integers(1, 64)),
        min_image_size=draw(st.integers(1, 2048)),
        min_backbone=draw(st.none() | st.sampled_from(sorted(catalogue.MODELS))),
        max_attempts=draw(st.integers(1, 20)),
        prefer=draw(st.sampled_from(Prefer)),
        plan_ahead=draw(st.booleans()),
    )


def test_by_default_every_lever_is_allowed_the_least_harmful_first():
    policy = Policy()
    assert policy.levers == ("micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size")
    assert (policy.min_batch_size, policy.min_image_size, policy.min_backbone) == (1, 256, None)
    assert (policy.max_attempts, policy.prefer, policy.plan_ahead) == (6, "shrink", True)


@given(policies())
def test_a_policy_survives_json(policy):
    values = json.loads(json.dumps(policy.to_dict()))
    assert Policy.from_dict(values) == Policy(**values) == policy


def test_an_owner_may_forbid_every_change():
    assert Policy(levers=()).levers == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"levers": ["micro_batch", "image_size", "micro_batch"]}, "levers: micro_batch is listed twice"),
        ({"levers": ["optimizer"]}, "levers: must be one of micro_batch, .*got 'optimizer'"),
        ({"levers": "micro_batch"}, "levers: must be a list"),
        ({"levers": None}, "levers: must be a list"),
        ({"levers": [["micro_batch"]]}, "levers: must be one of"),
        ({"min_batch_size": 0}, "min_batch_size: must be a whole number from 1"),
        ({"min_batch_size": True}, "min_batch_size"),
        ({"min_image_size": 256.0}, "min_image_size"),
        ({"min_image_size": 2**31}, "min_image_size"),
        ({"max_attempts": 21}, "max_attempts: must be a whole number from 1 to 20, got 21"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"prefer": "hope"}, "prefer: must be one of shrink, wait, got 'hope'"),
        ({"plan_ahead": 1}, "plan_ahead: must be true or false"),
        ({"min_backbone": "resnet18"}, "min_backbone: there is no 'resnet18'; choose one of .*resnet50"),
        ({"min_backbone": 50}, "min_backbone: there is no 50"),
        ({"min_loss": 1}, "min_loss: no such field; a policy has levers"),
    ],
)
def test_a_policy_that_cannot_be_followed_is_refused(change, words):
    with pytest.raises(PolicyError, match=words) as caught:
        Policy.from_dict(change)
    assert caught.value.code == "bad_policy"


@pytest.mark.parametrize("floor", ["resnet101", "resnet101_fpn", "mask_rcnn_resnet101_fpn"])
def test_a_floor_is_a_backbone_with_or_without_fpn_or_a_model(floor):
    allowed = Policy(min_backbone=floor).models(R152_FPN)
    assert [model.backbone for model in allowed] == ["resnet152_fpn", "resnet101_fpn"]


def test_without_a_floor_the_whole_ladder_is_allowed():
    assert [model.backbone for model in Policy().models(R152_FPN)] == ["resnet152_fpn", "resnet101_fpn", "resnet50_fpn"]


@pytest.mark.parametrize("floor", ["efficientnet-b0", "inception_resnet_v2", "faster_rcnn_resnet50_fpn"])
def test_a_floor_off_the_models_ladder_is_refused(floor):
    with pytest.raises(PolicyError, match=r"min_backbone: .* is not among .*resnet152_fpn, .*, resnet50_fpn"):
        Policy(min_backbone=floor).check(R152_FPN)


@given(st.sampled_from(sorted(catalogue.MODELS)))
def test_every_models_own_names_are_floors_that_stop_at_it(name):
    model = catalogue.get(name)
    for floor in (model.name, model.backbone, model.backbone.removesuffix("_fpn")):
        assert Policy(min_backbone=floor).models(model) == (model,)
