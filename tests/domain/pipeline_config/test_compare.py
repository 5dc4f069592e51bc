"""Differences between two configurations, field by field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import catalogue
from services.domain.pipeline_config import (
    FieldChange,
    build_config,
    compare,
    parse,
    set_backbone,
)
from services.domain.pipeline_config.resize import set_image_size
from services.domain.pipeline_config.rewrite import set_batch_size
from services.domain.pipeline_config.schema.floats import float32, shortest


def _config(name="faster_rcnn_resnet50", **settings):
    return build_config(catalogue.get(name), 3, **settings)


@pytest.mark.parametrize("model", catalogue.MODELS.values(), ids=lambda model: model.name)
def test_a_config_does_not_differ_from_itself(model):
    assert compare(build_config(model, 3), build_config(model, 3)) == []


def test_one_changed_field_is_one_change():
    config = _config(batch_size=8)
    assert compare(config, set_batch_size(config, 4)) == [FieldChange("train_config.batch_size", "8", "4")]


def test_floats_are_printed_as_people_write_them():
    a, b = _config(learning_rate=0.01), _config(learning_rate=0.1)
    base = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate.learning_rate_base"
    assert FieldChange(base, "0.01", "0.1") in compare(a, b)


def test_repeated_fields_have_their_index_and_may_be_added_or_removed():
    a = parse("model { ssd { anchor_generator { multiscale_anchor_generator { aspect_ratios: [1.0, 2.0] } } } }")
    b = parse("model { ssd { anchor_generator { multiscale_anchor_generator { aspect_ratios: [1.0, 0.5, 3.0] } } } }")
    where = "model.ssd.anchor_generator.multiscale_anchor_generator.aspect_ratios"
    assert compare(a, b) == [FieldChange(f"{where}[1]", "2.0", "0.5"), FieldChange(f"{where}[2]", None, "3.0")]


def test_writing_out_a_default_is_no_change():
    assert compare(parse("train_config { }"), parse("train_config { batch_size: 32 }")) == []
    assert compare(parse("train_config { }"), parse("train_config { use_bfloat16: true }")) == [
        FieldChange("train_config.use_bfloat16", "false", "true")
    ]


def test_an_empty_block_and_one_choice_among_several_are_changes():
    flip = "train_config { data_augmentation_options { random_horizontal_flip { } } }"
    where = "train_config.data_augmentation_options[0]"
    upside_down = flip.replace("horizontal", "vertical")
    assert compare(parse(flip), parse(upside_down)) == [
        FieldChange(f"{where}.random_horizontal_flip", "{ }", None),
        FieldChange(f"{where}.random_vertical_flip", None, "{ }"),
    ]


def test_enums_strings_and_maps_are_written_as_in_the_config():
    a = parse('train_config { fine_tune_checkpoint: "a" fine_tune_checkpoint_version: V1 }')
    b = parse('train_config { fine_tune_checkpoint: "b" fine_tune_checkpoint_version: V2 }')
    assert compare(a, b) == [
        FieldChange("train_config.fine_tune_checkpoint", '"a"', '"b"'),
        FieldChange("train_config.fine_tune_checkpoint_version", "V1", "V2"),
    ]
    c = parse('eval_config { super_categories { key: "car" value: "van" } }')
    d = parse('eval_config { super_categories { key: "car" value: "bus" } }')
    assert compare(c, d) == [FieldChange("eval_config.super_categories[car]", '"van"', '"bus"')]


def test_a_smaller_backbone_lists_all_dependent_changes():
    config = _config("faster_rcnn_inception_resnet_v2")
    changed = set_backbone(config, catalogue.get("faster_rcnn_resnet101"))
    fields = {change.field: change.after for change in compare(config, changed)}
    assert fields == {
        "model.faster_rcnn.feature_extractor.type": '"faster_rcnn_resnet101_keras"',
        "model.faster_rcnn.initial_crop_size": "14",
        "model.faster_rcnn.maxpool_kernel_size": "2",
        "model.faster_rcnn.maxpool_stride": "2",
    }


def test_comparing_in_reverse_swaps_before_and_after():
    a = _config("efficientdet_d2")
    b = set_image_size(set_backbone(a, catalogue.get("efficientdet_d1")), (512, 512))
    there, back = compare(a, b), compare(b, a)
    assert there
    assert [FieldChange(c.field, c.after, c.before) for c in there] == back


def test_a_change_reads_as_a_sentence():
    assert str(FieldChange("a.b", "1", None)) == "a.b: 1 → not set"


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_shortest_float_is_the_same_float(value):
    assert float32(shortest(value)) == value
