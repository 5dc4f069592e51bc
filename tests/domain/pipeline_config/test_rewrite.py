"""Rewriting configurations: each setter changes its own fields only and is idempotent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import catalogue
from services.domain.catalogue import Family
from services.domain.pipeline_config import (
    ConfigError,
    apply,
    build_config,
    check,
    comments,
    compare,
    identify,
    image_size,
    input_sizes,
    parse,
    plan_of,
    set_backbone,
    set_checkpoint,
    set_data,
    set_input_readers,
    size_input_readers,
    steps_of,
    to_text,
)
from services.domain.pipeline_config.readers import decoded_bytes
from services.domain.pipeline_config.resize import set_image_size
from services.domain.pipeline_config.rewrite import set_batch_size, set_precision, set_proposals
from services.domain.pipeline_config.schedule import peak_learning_rate, set_schedule
from services.domain.plan.learning_rate import rescaled_to_batch

MODELS = list(catalogue.MODELS.values())
TWO_STAGE = [model for model in MODELS if model.family is not Family.EFFICIENTDET]

RATES = {
    "constant": "constant_learning_rate { learning_rate: 0.02 }",
    "cosine": """cosine_decay_learning_rate { learning_rate_base: 0.02 total_steps: 1000 warmup_steps: 100
        warmup_learning_rate: 0.002 hold_base_rate_steps: 50 }""",
    "exponential": """exponential_decay_learning_rate { initial_learning_rate: 0.02 decay_steps: 200 burnin_steps: 20
        burnin_learning_rate: 0.004 min_learning_rate: 0.0002 }""",
    "manual": """manual_step_learning_rate { initial_learning_rate: 0.002 warmup: true
        schedule { step: 100 learning_rate: 0.02 } schedule { step: 600 learning_rate: 0.002 } }""",
}
OPTIMIZERS = ["momentum_optimizer", "adam_optimizer", "rms_prop_optimizer"]


def _config(name="faster_rcnn_resnet50", **settings):
    return build_config(catalogue.get(name), 3, **settings)


def _at_batch(config, batch):
    """The same training at another batch size, by applying a plan."""
    return apply(rescaled_to_batch(plan_of(config), batch, batch), config)


def _with_rate(kind, optimizer="momentum_optimizer", steps=1000, batch=8):
    config = _config(batch_size=batch)
    text = f"train_config {{ optimizer {{ {optimizer} {{ learning_rate {{ {RATES[kind]} }} }} }} }}"
    config.train_config.optimizer.CopyFrom(parse(text).train_config.optimizer)
    config.train_config.num_steps = steps
    check(config)
    return config


def _rate(config):
    optimizer = config.train_config.optimizer
    rate = getattr(optimizer, optimizer.WhichOneof("optimizer")).learning_rate
    return getattr(rate, rate.WhichOneof("learning_rate"))


SETTERS = {
    "batch": lambda c: set_batch_size(c, 3),
    "precision": lambda c: set_precision(c, bfloat16=True),
    "size": lambda c: set_image_size(c, (512, 512)),
    "schedule": lambda c: set_schedule(c, 777, 0.0123),
    "checkpoint": lambda c: set_checkpoint(c, "/ckpt/ckpt-0"),
    "no checkpoint": lambda c: set_checkpoint(c, None),
    "data": lambda c: set_data(c, ["/a", "/b"], ["/c"], "/labels", 5, masks=True),
    "readers": lambda c: set_input_readers(c, _sizes()),
}


def _sizes(**changes):
    given: dict[str, Any] = {
        "records": 1000,
        "record_bytes": 50_000,
        "files": 4,
        "host_memory_mb": 16_000,
        "image_size": (640, 640),
        "masks": False,
        "batch": 8,
    }
    return size_input_readers(**(given | changes))


@pytest.mark.parametrize("setter", SETTERS.values(), ids=SETTERS)
@pytest.mark.parametrize("name", ["efficientdet_d1", "faster_rcnn_resnet101_fpn", "mask_rcnn_inception_resnet_v2"])
def test_a_setter_leaves_its_argument_alone_and_may_be_repeated(name, setter):
    config = _config(name)
    before = to_text(config)
    once = setter(config)
    assert to_text(config) == before
    assert setter(once) == once
    check(once)


# --- batch, precision, proposals


@given(st.integers(1, 512))
def test_the_batch_is_set_and_nothing_else(batch):
    config = _config(batch_size=7)
    changed = set_batch_size(config, batch)
    assert changed.train_config.batch_size == batch
    assert {change.field for change in compare(config, changed)} <= {"train_config.batch_size"}


def test_precision_can_be_set_and_reset():
    config = _config()
    half = set_precision(config, bfloat16=True)
    assert half.train_config.use_bfloat16
    assert compare(config, set_precision(half, bfloat16=False)) == []


def test_proposals_are_set_for_two_stages_only():
    changed = set_proposals(_config(), 100, 32)
    assert changed.model.faster_rcnn.first_stage_max_proposals == 100
    assert changed.model.faster_rcnn.second_stage_batch_size == 32
    assert set_proposals(changed, None, 16).model.faster_rcnn.first_stage_max_proposals == 100
    with pytest.raises(ConfigError, match="no second stage"):
        set_proposals(_config("efficientdet_d0"), 100)
    with pytest.raises(ConfigError, match="samples 64 from 50 proposals"):
        set_proposals(_config(), 50)


@pytest.mark.parametrize("setter", [lambda c: set_batch_size(c, 0), lambda c: set_proposals(c, 0, 0)])
def test_a_count_of_zero_is_refused(setter):
    with pytest.raises(ConfigError, match="at least 1"):
        setter(_config())


# --- image size


@given(st.sampled_from(MODELS), st.data())
def test_a_legal_size_is_set_and_read_back(model, data):
    size = data.draw(st.sampled_from(model.image_sizes))
    config = build_config(model, 3)
    changed = set_image_size(config, size)
    check(changed)
    assert image_size(changed) == size
    resizer = getattr(changed.model, changed.model.WhichOneof("model")).image_resizer
    assert resizer.keep_aspect_ratio_resizer.pad_to_max_dimension
    assert set_image_size(changed, model.image_size) == config


def _resized(text, size, batch=1):
    config = _config(batch_size=batch)
    block = parse(f"model {{ faster_rcnn {{ image_resizer {{ {text} }} }} }}").model.faster_rcnn.image_resizer
    config.model.faster_rcnn.image_resizer.CopyFrom(block)
    check(config)
    return set_image_size(config, size).model.faster_rcnn.image_resizer


def test_a_padded_resizer_keeps_the_proportion_of_its_sides():
    kept = _resized(
        "keep_aspect_ratio_resizer { min_dimension: 800 max_dimension: 1333 pad_to_max_dimension: true "
        "resize_method: BICUBIC per_channel_pad_value: [1, 2, 3] }",
        (640, 640),
        batch=4,
    ).keep_aspect_ratio_resizer
    assert (kept.min_dimension, kept.max_dimension) == (384, 640)
    assert kept.pad_to_max_dimension
    assert (kept.resize_method, list(kept.per_channel_pad_value)) == (2, [1, 2, 3])


def test_a_padded_resizer_refuses_an_oblong():
    with pytest.raises(ConfigError, match="makes squares, got 512x640"):
        set_image_size(_config(), (512, 640))


def test_an_unpadded_resizer_takes_the_shorter_and_the_longer_side():
    kept = _resized("keep_aspect_ratio_resizer { min_dimension: 600 max_dimension: 1024 }", (448, 768))
    kept = kept.keep_aspect_ratio_resizer
    assert (kept.min_dimension, kept.max_dimension, kept.pad_to_max_dimension) == (448, 768, False)


def test_fixed_and_conditional_resizers_keep_their_kind():
    fixed = _resized("fixed_shape_resizer { height: 480 width: 640 convert_to_grayscale: false }", (384, 512), batch=4)
    assert (fixed.fixed_shape_resizer.height, fixed.fixed_shape_resizer.width) == (384, 512)
    bound = _resized("conditional_shape_resizer { condition: GREATER size_threshold: 800 }", (640, 640))
    assert bound.conditional_shape_resizer.size_threshold == 640


@pytest.mark.parametrize("size", [(500, 500), (128, 128), (4096, 4096), (512, 520)])
def test_efficientdet_refuses_illegal_sizes(size):
    with pytest.raises(ConfigError, match=r"model\.ssd\.image_resizer: height and width must be multiples of 128"):
        set_image_size(_config("efficientdet_d0"), size)


def test_crops_follow_the_image_size_unless_they_had_another_size():
    config = _config("efficientdet_d0")
    crop = set_image_size(config, (384, 384)).train_config.data_augmentation_options[1]
    assert crop.random_scale_crop_and_pad_to_square.output_size == 384
    config.train_config.data_augmentation_options[1].random_scale_crop_and_pad_to_square.output_size = 700
    crop = set_image_size(config, (384, 384)).train_config.data_augmentation_options[1]
    assert crop.random_scale_crop_and_pad_to_square.output_size == 700


# --- backbone


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_smaller_backbone_at_every_size_passes_the_check(model):
    for target in catalogue.smaller_models(model):
        for size in model.image_sizes:
            config = set_backbone(build_config(model, 3, image_size=size), target)
            check(config)
            assert identify(config) == target.name
            assert image_size(config) == size


@given(st.sampled_from(MODELS), st.data())
def test_a_changed_backbone_equals_the_catalogues_own(model, data):
    target = data.draw(st.sampled_from([other for other in MODELS if other.family is model.family]))
    settings: dict[str, Any] = {"image_size": (512, 512), "batch_size": 4, "steps": 100, "learning_rate": 0.01}
    config = set_backbone(build_config(model, 3, **settings), target)
    check(config)
    wanted = build_config(target, 3, **settings)
    heads = "model.faster_rcnn.second_stage_box_predictor"  # the zoo shares boxes across classes without FPN only
    assert [change for change in compare(config, wanted) if not change.field.startswith(heads)] == []
    assert set_backbone(config, target) == config


def test_the_users_other_fields_survive_a_change_of_backbone():
    config = _config("faster_rcnn_resnet152")
    network = config.model.faster_rcnn
    network.first_stage_anchor_generator.grid_anchor_generator.scales[:] = [0.1, 0.3]
    network.initial_crop_size = 28
    network.second_stage_localization_loss_weight = 7.0
    config.train_config.freeze_variables.append("conv1")
    fields = {change.field for change in compare(config, set_backbone(config, catalogue.get("faster_rcnn_resnet50")))}
    assert fields == {"model.faster_rcnn.feature_extractor.type"}


def test_efficientdet_changes_network_pyramid_and_head_together():
    ssd = set_backbone(_config("efficientdet_d7"), catalogue.get("efficientdet_d4")).model.ssd
    bifpn, head = ssd.feature_extractor.bifpn, ssd.box_predictor.weight_shared_convolutional_box_predictor
    assert ssd.feature_extractor.type == "ssd_efficientnet-b4_bifpn_keras"
    assert (bifpn.num_iterations, bifpn.num_filters, bifpn.combine_method) == (7, 224, "fast_attention")
    assert (head.depth, head.num_layers_before_predictor) == (224, 4)


def test_the_users_own_fusion_is_kept():
    config = _config("efficientdet_d3")
    config.model.ssd.feature_extractor.bifpn.combine_method = "sum"
    changed = set_backbone(config, catalogue.get("efficientdet_d2"))
    assert changed.model.ssd.feature_extractor.bifpn.combine_method == "sum"


def test_inception_features_every_8_pixels_become_every_16_with_their_anchors():
    config = _config("faster_rcnn_inception_resnet_v2")
    network = config.model.faster_rcnn
    network.feature_extractor.first_stage_features_stride = 8
    grid = network.first_stage_anchor_generator.grid_anchor_generator
    grid.height_stride = grid.width_stride = 8
    changed = set_backbone(config, catalogue.get("faster_rcnn_resnet101")).model.faster_rcnn
    grid = changed.first_stage_anchor_generator.grid_anchor_generator
    assert changed.feature_extractor.first_stage_features_stride == 16
    assert (grid.height_stride, grid.width_stride) == (16, 16)


def test_adding_or_removing_fpn_changes_the_anchors():
    config = _config("mask_rcnn_resnet50_fpn")
    config.model.faster_rcnn.feature_extractor.batch_norm_trainable = False
    plain = set_backbone(config, catalogue.get("mask_rcnn_resnet50"))
    check(plain)
    assert plain.model.faster_rcnn.first_stage_anchor_generator.HasField("grid_anchor_generator")
    assert not plain.model.faster_rcnn.feature_extractor.HasField("fpn")
    assert not plain.model.faster_rcnn.feature_extractor.batch_norm_trainable
    check(set_backbone(plain, catalogue.get("mask_rcnn_resnet101_fpn")))


@pytest.mark.parametrize("target", ["mask_rcnn_resnet50", "efficientdet_d0"])
def test_a_change_of_family_is_refused(target):
    with pytest.raises(ConfigError, match="family"):
        set_backbone(_config("faster_rcnn_resnet101"), catalogue.get(target))


def test_a_checkpoint_of_the_old_backbone_is_dropped():
    config = set_checkpoint(_config("faster_rcnn_resnet101"), "/r101/ckpt-0")
    assert not set_backbone(config, catalogue.get("faster_rcnn_resnet50")).train_config.fine_tune_checkpoint
    assert set_backbone(config, catalogue.get("faster_rcnn_resnet101")) == config
    shared = set_checkpoint(_config("efficientdet_d7"), "/d7/ckpt-0")
    assert set_backbone(shared, catalogue.get("efficientdet_d6")) == shared  # the same network: the checkpoint fits


# --- schedule


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", RATES)
@given(steps=st.integers(1, 10**6), rate=st.floats(1e-7, 10))
def test_any_schedule_takes_any_length_and_rate(kind, optimizer, steps, rate):
    config = _with_rate(kind, optimizer)
    changed = set_schedule(config, steps, rate)
    check(changed)
    assert steps_of(changed) == steps
    assert peak_learning_rate(changed) == pytest.approx(rate, rel=1e-5)
    assert set_schedule(changed, steps, rate) == changed


@pytest.mark.parametrize("kind", RATES)
def test_a_schedules_own_length_and_rate_change_nothing(kind):
    config = _with_rate(kind)
    assert set_schedule(config, 1000, 0.02) == config


def test_cosine_scales_warm_up_and_length_in_proportion():
    rate = _rate(set_schedule(_with_rate("cosine"), 500, 0.04))
    assert (rate.total_steps, rate.warmup_steps, rate.hold_base_rate_steps) == (500, 50, 25)
    assert rate.warmup_learning_rate == pytest.approx(0.004)


def test_a_cosine_longer_than_the_training_stays_longer():
    rate = _rate(set_schedule(_with_rate("cosine", steps=500), 250, 0.02))
    assert rate.total_steps == 500


def test_exponential_scales_decay_and_burn_in():
    rate = _rate(set_schedule(_with_rate("exponential"), 2000, 0.01))
    assert (rate.decay_steps, rate.burnin_steps) == (400, 40)
    assert rate.burnin_learning_rate == pytest.approx(0.002)
    assert rate.min_learning_rate == pytest.approx(0.0001)


def test_manual_boundaries_scale_and_stay_apart():
    rate = _rate(set_schedule(_with_rate("manual"), 500, 0.01))
    assert [(stage.step, round(stage.learning_rate, 6)) for stage in rate.schedule] == [(50, 0.01), (300, 0.001)]
    short = _rate(set_schedule(_with_rate("manual"), 1, 0.01))
    assert [stage.step for stage in short.schedule] == [1, 2]


@given(total=st.integers(1, 1000), warmup=st.integers(0, 1000), hold=st.integers(0, 1000), steps=st.integers(1, 1000))
def test_a_cosine_always_keeps_a_step_to_decay_in(total, warmup, hold, steps):
    config = _with_rate("cosine", steps=total)
    rate = _rate(config)
    rate.total_steps, rate.warmup_steps = total, min(warmup, total - 1)
    rate.hold_base_rate_steps = min(hold, total - 1 - rate.warmup_steps)
    check(config)
    changed = set_schedule(config, steps, 0.02)
    check(changed)
    assert _rate(changed).warmup_steps + _rate(changed).hold_base_rate_steps < _rate(changed).total_steps == steps


def test_a_long_warm_up_shrinks_below_a_short_training():
    config = _with_rate("cosine", steps=100)
    rate = _rate(config)
    rate.total_steps, rate.warmup_steps, rate.hold_base_rate_steps = 100, 95, 0
    short = _rate(set_schedule(config, 5, 0.02))
    assert (short.warmup_steps, short.total_steps) == (4, 5)
    config.train_config.batch_size = 1
    check(_at_batch(config, 20))


def test_boundaries_far_beyond_the_training_still_rise():
    config = _with_rate("manual", steps=1)
    changed = set_schedule(config, 2**31 - 1, 0.02)
    assert [stage.step for stage in _rate(changed).schedule] == [2**32 - 2, 2**32 - 1]
    check(changed)


@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize("rate", [float("inf"), float("nan"), 1e39, 1e-50, -1.0])
def test_a_rate_that_is_not_positive_and_finite_is_refused(kind, rate):
    with pytest.raises(ConfigError, match="the learning rate must be a finite number above 0"):
        set_schedule(_with_rate(kind), 10, rate)


@pytest.mark.parametrize("rate", [float("inf"), float("nan")])
def test_a_config_with_an_infinite_rate_is_not_scaled(rate):
    config = _with_rate("cosine")
    _rate(config).learning_rate_base = rate
    with pytest.raises(ConfigError, match="finite number above 0"):
        set_schedule(config, 10, 0.1)
    config = _with_rate("cosine")
    _rate(config).warmup_learning_rate = rate
    with pytest.raises(ConfigError, match="warmup_learning_rate would become"):
        _at_batch(config, 4)


def test_the_least_rate_of_an_exponential_may_be_its_highest():
    config = _with_rate("exponential")
    _rate(config).min_learning_rate = 0.5
    assert peak_learning_rate(config) == 0.5
    check(set_schedule(config, 1000, 3e38))


@pytest.mark.parametrize(
    "setter",
    [
        lambda config: set_batch_size(config, 2**40),
        lambda config: set_schedule(config, 2**40, 0.1),
        lambda config: set_data(config, ["/t"], ["/v"], "/l", 2**40, masks=False),
        lambda config: set_proposals(config, 2**40),
        lambda config: set_proposals(config, None, 2**40),
    ],
)
def test_counts_above_the_schemas_range_are_refused_with_the_bound(setter):
    with pytest.raises(ConfigError, match=r"must be at most 2147483647, got 1099511627776"):
        setter(_config())


@pytest.mark.parametrize("kind", RATES)
@given(old=st.integers(1, 64), new=st.integers(1, 64))
def test_another_batch_sees_as_many_images_at_a_proportional_rate(kind, old, new):
    config = _with_rate(kind, steps=10_000, batch=old)
    changed = _at_batch(config, new)
    assert changed.train_config.batch_size == new
    assert changed.train_config.num_steps * new == pytest.approx(10_000 * old, rel=0.01)
    assert peak_learning_rate(changed) == pytest.approx(0.02 * new / old, rel=1e-5)
    assert _at_batch(changed, new) == changed


def test_a_schedule_without_steps_rate_or_optimizer_is_refused():
    for steps, rate in ((0, 0.1), (10, 0.0), (10, float("nan"))):
        with pytest.raises(ConfigError, match=r"train_config\."):
            set_schedule(_config(), steps, rate)
    config = _config()
    config.train_config.ClearField("optimizer")
    with pytest.raises(ConfigError, match=r"train_config\.optimizer: is missing"):
        set_schedule(config, 10, 0.1)


# --- data, checkpoint, readers


def test_data_is_written_to_both_readers():
    config = set_data(_config(), ["/t-0", "/t-1"], ["/v"], "/labels.pbtxt", 5, masks=True)
    assert list(config.train_input_reader.tf_record_input_reader.input_path) == ["/t-0", "/t-1"]
    assert list(config.eval_input_reader[0].tf_record_input_reader.input_path) == ["/v"]
    assert config.train_input_reader.label_map_path == config.eval_input_reader[0].label_map_path == "/labels.pbtxt"
    assert config.model.faster_rcnn.num_classes == 5
    assert not config.train_input_reader.load_instance_masks  # a box model has no use for them
    assert not config.eval_input_reader[0].shuffle


def test_data_for_masks_is_read_as_png_and_evaluated():
    config = _config("mask_rcnn_resnet50")
    for field in ("train_input_reader", "eval_input_reader", "eval_config"):
        config.ClearField(field)
    config = set_data(config, ["/t"], ["/v"], "/l", 5, masks=True)
    check(config)
    for reader in (config.train_input_reader, config.eval_input_reader[0]):
        assert (reader.load_instance_masks, reader.mask_type) == (True, 2)
    assert list(config.eval_config.metrics_set) == ["coco_mask_metrics"]


def test_readers_keep_the_users_settings_but_not_further_files():
    config = _config()
    config.train_input_reader.shuffle_buffer_size = 77
    config.train_input_reader.sample_from_datasets_weights.append(0.5)
    config.eval_input_reader.add(label_map_path="/etc/passwd")
    config = set_data(config, ["/t"], ["/v"], "/l", 5, masks=False)
    assert config.train_input_reader.shuffle_buffer_size == 77
    assert not config.train_input_reader.sample_from_datasets_weights
    assert len(config.eval_input_reader) == 1


@pytest.mark.parametrize(
    ("name", "train", "evaluation", "classes", "masks", "words"),
    [
        ("mask_rcnn_resnet50", ["/t"], ["/v"], 3, False, "needs a dataset with masks"),
        ("faster_rcnn_resnet50", [], ["/v"], 3, False, "train_input_reader: no file"),
        ("faster_rcnn_resnet50", ["/t"], [], 3, False, "eval_input_reader: no file"),
        ("faster_rcnn_resnet50", ["/t"], ["/v"], 0, False, "num_classes"),
    ],
)
def test_data_that_does_not_fit_is_refused(name, train, evaluation, classes, masks, words):
    with pytest.raises(ConfigError, match=words):
        set_data(_config(name), train, evaluation, "/l", classes, masks=masks)


def test_a_checkpoint_is_v2_and_can_be_removed():
    config = set_checkpoint(_config(), "/ckpt-0")
    train = config.train_config
    assert (train.fine_tune_checkpoint, train.fine_tune_checkpoint_type) == ("/ckpt-0", "detection")
    assert train.fine_tune_checkpoint_version == 2
    assert not set_checkpoint(config, None).train_config.HasField("fine_tune_checkpoint")


def test_reader_sizes_are_written_to_all_readers():
    config = set_input_readers(_config(), _sizes())
    train, evaluation = config.train_input_reader, config.eval_input_reader[0]
    assert (train.shuffle_buffer_size, train.num_readers, train.num_prefetch_batches) == (1000, 4, 2)
    assert evaluation.num_readers == 1
    assert train.max_number_of_boxes == evaluation.max_number_of_boxes == config.train_config.max_number_of_boxes == 100


@given(
    records=st.integers(1, 10**7),
    record_bytes=st.integers(1, 10**7),
    files=st.integers(1, 1000),
    host_memory_mb=st.integers(256, 10**6),
    side=st.integers(256, 2048),
    masks=st.booleans(),
    batch=st.integers(1, 128),
)
def test_readers_fit_the_data_and_the_host(records, record_bytes, files, host_memory_mb, side, masks, batch):
    sizes = _sizes(
        records=records,
        record_bytes=record_bytes,
        files=files,
        host_memory_mb=host_memory_mb,
        image_size=(side, side),
        masks=masks,
        batch=batch,
    )
    assert 1 <= sizes.num_readers <= files
    assert 1 <= sizes.shuffle_buffer_size <= records
    assert sizes.shuffle_buffer_size == 1 or sizes.shuffle_buffer_size * record_bytes <= host_memory_mb * 2**20 / 10
    batches = sizes.num_prefetch_batches + sizes.num_parallel_batches
    in_flight = batches * batch * decoded_bytes((side, side), 100, masks)
    smallest = (sizes.num_prefetch_batches, sizes.num_parallel_batches) == (1, 1)
    assert smallest or in_flight <= host_memory_mb * 2**20 / 4


@pytest.mark.parametrize(
    ("threads", "changes", "calls"),
    [
        (None, {}, None),  # before the host is known
        (16, {}, 16),
        (16, {"batch": 1}, 16),  # whatever the batch
        (16, {"batch": 64}, 16),
        (16, {"masks": True, "image_size": (1024, 1024)}, 4),  # 432 MB each, in an eighth of 16,000 MB
        (16, {"masks": True, "image_size": (1024, 1024), "host_memory_mb": 500}, 1),
    ],
)
def test_as_many_images_are_decoded_at_once_as_cores_and_memory_allow(threads, changes, calls):
    sizes = _sizes(threads=threads, **changes)
    assert sizes.num_parallel_map_calls == calls
    config = set_input_readers(_config(), sizes)
    assert input_sizes(config).num_parallel_map_calls == calls
    assert config.eval_input_reader[0].num_parallel_map_calls == (calls or 64)  # the OD API's default


def _boxes(config):
    evaluation = config.eval_input_reader[0].max_number_of_boxes
    return config.train_config.max_number_of_boxes, config.train_input_reader.max_number_of_boxes, evaluation


@pytest.mark.parametrize(("most", "kept"), [(400, 400), (7, 7), (0, 1)])
def test_no_box_of_the_dataset_is_cut_off(most, kept):
    assert _boxes(set_input_readers(_config(), _sizes(most_boxes=most))) == (kept, kept, kept)


def test_where_the_boxes_are_not_counted_the_owners_number_stays():
    config = _config()
    config.train_config.max_number_of_boxes = 300
    config.train_input_reader.max_number_of_boxes = 350
    config.eval_input_reader[0].max_number_of_boxes = 400
    assert _boxes(set_input_readers(config, _sizes())) == (300, 350, 400)


def test_many_boxes_with_masks_mean_fewer_batches_in_flight():
    few, many = (_sizes(masks=True, host_memory_mb=32_000, most_boxes=boxes) for boxes in (50, 400))
    assert (few.num_parallel_batches, few.num_prefetch_batches) == (2, 2)
    assert (many.num_parallel_batches, many.num_prefetch_batches) == (1, 1)


def test_masks_are_prefetched_sparingly():
    assert _sizes(masks=True, image_size=(1024, 1024)).num_prefetch_batches == 1
    assert _sizes(masks=False, image_size=(1024, 1024)).num_prefetch_batches == 2
    assert _sizes(masks=True, most_boxes=3).max_number_of_boxes == 3


def test_a_users_comments_and_rare_fields_survive_all_rewrites():
    plain = to_text(_config("efficientdet_d1"))
    text = plain.replace("  batch_size: 8", "  # as on the old machine\n  batch_size: 8", 1)
    config = parse(text)
    config.model.ssd.negative_class_weight = 0.75
    smaller = set_backbone(set_image_size(set_batch_size(config, 4), (512, 512)), catalogue.get("efficientdet_d0"))
    written = to_text(smaller, comments(text))
    assert "# as on the old machine\n  batch_size: 4" in written
    assert parse(written).model.ssd.negative_class_weight == 0.75
