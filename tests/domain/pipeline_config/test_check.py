"""Which configurations are accepted, and the problems of the others."""

import ast
import importlib.util
from pathlib import Path

import pytest

from services.domain import catalogue
from services.domain.catalogue import Family
from services.domain.pipeline_config import (
    ConfigError,
    build_config,
    check,
    identify,
    parse,
    to_text,
    without_paths,
)
from services.domain.pipeline_config.families import family_of
from services.domain.pipeline_config.metrics import BOX_METRICS, MASK_METRICS

MODELS = list(catalogue.MODELS.values())


def _config(name="faster_rcnn_resnet50", **settings):
    return build_config(catalogue.get(name), 3, **settings)


def _problems(config):
    with pytest.raises(ConfigError) as caught:
        check(config)
    return {problem.field: problem.message for problem in caught.value.problems}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_model_at_every_size_is_accepted_and_recognised(model):
    for size in model.image_sizes:
        config = build_config(model, 3, image_size=size)
        check(config)
        assert family_of(config) is model.family
        if model.backbone == "efficientnet-b6":  # D6 and D7 are one network: the size alone tells which
            assert identify(config) == f"efficientdet_d{7 if size >= (1536, 1536) else 6}"
        else:
            assert identify(config) == model.name


def test_a_config_on_efficientnet_b7_is_the_largest_efficientdet():
    config = _config("efficientdet_d7")
    config.model.ssd.feature_extractor.type = "ssd_efficientnet-b7_bifpn_keras"
    check(config)
    assert identify(config) == "efficientdet_d7"


def test_another_network_is_refused_with_what_is_accepted():
    problems = _problems(parse("model { center_net { } } train_config { num_steps: 3 }"))
    assert "EfficientDet" in problems["model.center_net"]
    config = _config("efficientdet_d0")
    config.model.ssd.feature_extractor.type = "ssd_mobilenet_v2_keras"
    message = _problems(config)["model.ssd.feature_extractor.type"]
    assert "'ssd_mobilenet_v2_keras' is not supported" in message
    assert "ssd_efficientnet-b0_bifpn_keras" in message


def test_a_missing_model_or_train_config_is_a_problem():
    assert "is missing" in _problems(parse("train_config { num_steps: 3 }"))["model"]
    assert _problems(parse("model { ssd { } }"))["train_config"] == "is missing"


def test_all_problems_are_reported_at_once():
    config = _config("mask_rcnn_resnet50")
    config.model.faster_rcnn.num_classes = 0
    config.train_config.num_steps = 0
    config.train_config.ClearField("optimizer")
    config.train_input_reader.load_instance_masks = False
    assert set(_problems(config)) == {
        "model.faster_rcnn.num_classes",
        "train_config.num_steps",
        "train_config.optimizer",
        "train_input_reader.load_instance_masks",
    }


# model, edit of the config as text, field of the problem, words of the message
REFUSED = [
    ("faster_rcnn_resnet50", ("batch_size: 8", "batch_size: 0"), "train_config.batch_size", "at least 1"),
    ("faster_rcnn_resnet50", ("second_stage_batch_size: 64", "second_stage_batch_size: 301"), "batch_size", "300"),
    ("faster_rcnn_resnet50", ("number_of_stages: 2", "number_of_stages: 1"), "number_of_stages", "2 for boxes"),
    ("faster_rcnn_resnet50", ("number_of_stages: 2", "number_of_stages: 3"), "predict_instance_masks", "true"),
    ("mask_rcnn_resnet50", ("number_of_stages: 3", "number_of_stages: 2"), "number_of_stages", "3"),
    ("mask_rcnn_resnet50", ("predict_instance_masks: true", ""), "predict_instance_masks", "needs it"),
    ("faster_rcnn_resnet50", ("initial_crop_size: 14", ""), "initial_crop_size", "missing"),
    ("faster_rcnn_resnet50", ("features_stride: 16", "features_stride: 8"), "first_stage_features_stride", "16"),
    ("faster_rcnn_resnet50_fpn", ("50_fpn_keras", "50_keras"), "first_stage_anchor_generator", "grid_anchor_generator"),
    ("faster_rcnn_resnet50_fpn", ("50_fpn_keras", "50_keras"), "feature_extractor.fpn", "remove"),
    ("faster_rcnn_resnet50", ("50_keras", "50_fpn_keras"), "first_stage_anchor_generator", "multiscale"),
    ("faster_rcnn_resnet50", ("50_keras", "50_fpn_keras"), "conv_hyperparams", "missing"),
    ("faster_rcnn_resnet50_fpn", ("min_level: 2", "min_level: 3"), "multiscale_anchor_generator", "must be"),
    ("efficientdet_d0", ("num_filters: 64", ""), "bifpn", "at least 1"),
    ("efficientdet_d0", ("max_dimension: 512", "max_dimension: 500"), "image_resizer", "the nearest is 512x512"),
    ("efficientdet_d0", ("pad_to_max_dimension: true", ""), "image_resizer", "different shapes"),
    ("faster_rcnn_resnet50", ("pad_to_max_dimension: true", ""), "image_resizer", "a batch of 8"),
    ("faster_rcnn_resnet50", ("min_dimension: 640", "min_dimension: 641"), "min_dimension", "max_dimension"),
    ("faster_rcnn_resnet50", ("max_dimension: 640", "max_dimension: 64"), "image_resizer", "between 256 and 2048"),
    ("faster_rcnn_resnet50", ("total_steps: 25000", "total_steps: 10"), "warmup_steps", "total_steps"),
    ("faster_rcnn_resnet50", ("learning_rate_base: 0.005", "learning_rate_base: 1e-6"), "warmup_learning_rate", "base"),
    (
        "faster_rcnn_resnet50",
        ("batch_size: 8", "batch_size: 4000000000"),
        "train_config.batch_size",
        "at most 2147483647",
    ),
    ("faster_rcnn_resnet50", ("num_steps: 25000", "num_steps: 4000000000"), "num_steps", "at most 2147483647"),
    ("faster_rcnn_resnet50", ("fine_tune_checkpoint_version: V2", 'fine_tune_checkpoint: "a"'), "version", "V2"),
    ("faster_rcnn_resnet50", ("num_steps", "load_all_detection_checkpoint_vars: true num_steps"), "vars", "TF2"),
    ("faster_rcnn_resnet50", ("num_steps", 'fine_tune_checkpoint_type: "x" num_steps'), "checkpoint_type", "one of"),
    ("faster_rcnn_resnet50", ("train_input_reader {", "graph_rewriter { } train_input_reader {"), "rewriter", "TF2"),
]


@pytest.mark.parametrize(("name", "edit", "field", "words"), REFUSED, ids=[f"{r[0]}-{r[1][1][:40]}" for r in REFUSED])
def test_a_config_that_cannot_train_is_refused_with_the_field(name, edit, field, words):
    text = to_text(_config(name))
    assert edit[0] in text
    problems = _problems(parse(text.replace(edit[0], edit[1], 1)))
    assert any(path.endswith(field) and words in message for path, message in problems.items()), problems


def test_resizers_without_a_bound_are_refused():
    for resizer in ("identity_resizer { }", "pad_to_multiple_resizer { multiple: 32 }"):
        config = _config(batch_size=1)
        config.model.faster_rcnn.image_resizer.CopyFrom(
            parse(f"model {{ faster_rcnn {{ image_resizer {{ {resizer} }} }} }}").model.faster_rcnn.image_resizer
        )
        assert "no bound" in _problems(config)["model.faster_rcnn.image_resizer"]
    config.model.faster_rcnn.ClearField("image_resizer")
    assert "is missing" in _problems(config)["model.faster_rcnn.image_resizer"]


def test_images_of_different_shapes_are_fine_one_at_a_time():
    config = _config(batch_size=1)
    kept = config.model.faster_rcnn.image_resizer.keep_aspect_ratio_resizer
    kept.min_dimension, kept.max_dimension, kept.pad_to_max_dimension = 600, 1024, False
    check(config)


def test_a_manual_schedule_must_rise():
    config = _config()
    manual = config.train_config.optimizer.momentum_optimizer.learning_rate.manual_step_learning_rate
    manual.initial_learning_rate = 0.01
    assert any("missing" in message for message in _problems(config).values())
    for step in (100, 100):
        manual.schedule.add(step=step, learning_rate=0.001)
    assert any("rise" in message for message in _problems(config).values())
    manual.schedule[1].step = 200
    check(config)


# a schedule, the field of the problem, words of the message
RATES = [
    ("constant_learning_rate { learning_rate: 0 }", "learning_rate", "above 0, got 0.0"),
    ("constant_learning_rate { learning_rate: inf }", "learning_rate", "above 0, got inf"),
    ("constant_learning_rate { learning_rate: nan }", "learning_rate", "above 0, got nan"),
    ("constant_learning_rate { learning_rate: -0.1 }", "learning_rate", "above 0, got -0.1"),
    ("exponential_decay_learning_rate { initial_learning_rate: inf }", "initial_learning_rate", "above 0"),
    ("exponential_decay_learning_rate { initial_learning_rate: 0 }", "initial_learning_rate", "above 0"),
    ("exponential_decay_learning_rate { decay_factor: nan }", "decay_factor", "above 0"),
    ("exponential_decay_learning_rate { decay_steps: 0 }", "decay_steps", "at least 1"),
    ("exponential_decay_learning_rate { burnin_learning_rate: inf }", "burnin_learning_rate", "at least 0, got inf"),
    ("exponential_decay_learning_rate { burnin_learning_rate: -1 }", "burnin_learning_rate", "at least 0"),
    ("exponential_decay_learning_rate { min_learning_rate: nan }", "min_learning_rate", "at least 0"),
    ("manual_step_learning_rate { initial_learning_rate: inf schedule { step: 5 } }", "initial_learning_rate", "above"),
    ("manual_step_learning_rate { initial_learning_rate: 0 schedule { step: 5 } }", "initial_learning_rate", "above"),
    ("manual_step_learning_rate { schedule { step: 5 learning_rate: nan } }", "schedule[0].learning_rate", "above 0"),
    (
        "manual_step_learning_rate { warmup: true initial_learning_rate: -1 schedule { step: 5 } }",
        "_rate",
        "at least 0",
    ),
    ("cosine_decay_learning_rate { learning_rate_base: inf }", "learning_rate_base", "above 0, got inf"),
    ("cosine_decay_learning_rate { learning_rate_base: nan }", "learning_rate_base", "above 0, got nan"),
    ("cosine_decay_learning_rate { warmup_learning_rate: nan }", "warmup_learning_rate", "at least 0, got nan"),
    ("cosine_decay_learning_rate { warmup_learning_rate: -1 }", "warmup_learning_rate", "at least 0, got -1.0"),
    ("cosine_decay_learning_rate { total_steps: 9 warmup_steps: 9 }", "warmup_steps", "before total_steps (9), got 9"),
    (
        "cosine_decay_learning_rate { total_steps: 9 warmup_steps: 4 hold_base_rate_steps: 5 }",
        "warmup_steps",
        "before total_steps (9), got 4 and hold_base_rate_steps of 5",
    ),
    ("cosine_decay_learning_rate { total_steps: 0 warmup_steps: 0 }", "warmup_steps", "total_steps (0)"),
]


def _with_schedule(schedule, optimizer="momentum_optimizer"):
    config = _config()
    text = f"train_config {{ optimizer {{ {optimizer} {{ learning_rate {{ {schedule} }} }} }} }}"
    config.train_config.optimizer.CopyFrom(parse(text).train_config.optimizer)
    return config


@pytest.mark.parametrize("optimizer", ["momentum_optimizer", "adam_optimizer", "rms_prop_optimizer"])
@pytest.mark.parametrize(("schedule", "field", "words"), RATES, ids=[rate[0] for rate in RATES])
def test_an_impossible_learning_rate_is_refused(schedule, field, words, optimizer):
    problems = _problems(_with_schedule(schedule, optimizer))
    where = f"train_config.optimizer.{optimizer}.learning_rate.{schedule.split()[0]}"
    assert any(p.startswith(where) and p.endswith(field) and words in message for p, message in problems.items()), (
        problems
    )


@pytest.mark.parametrize(
    "schedule",
    [
        "constant_learning_rate { }",
        "exponential_decay_learning_rate { burnin_learning_rate: 0 min_learning_rate: 0 }",
        "manual_step_learning_rate { warmup: true initial_learning_rate: 0 schedule { step: 5 } }",
        "cosine_decay_learning_rate { warmup_learning_rate: 0 }",
        "cosine_decay_learning_rate { total_steps: 10 warmup_steps: 4 hold_base_rate_steps: 5 }",
    ],
)
def test_a_learning_rate_may_start_from_zero(schedule):
    check(_with_schedule(schedule))


@pytest.mark.parametrize("kind", ["NUMERICAL_MASKS", "DEFAULT", None])
def test_masks_must_be_read_as_png(kind):
    config = _config("mask_rcnn_resnet50")
    for reader in (config.train_input_reader, config.eval_input_reader[0]):
        reader.ClearField("mask_type")
        if kind is not None:
            reader.mask_type = reader.DESCRIPTOR.fields_by_name["mask_type"].enum_type.values_by_name[kind].number
    message = f"masks are read as PNG images: set PNG_MASKS, got {kind or 'NUMERICAL_MASKS'}"
    assert _problems(config) == {"train_input_reader.mask_type": message, "eval_input_reader[0].mask_type": message}


def test_a_box_model_accepts_any_mask_type():
    config = _config()
    config.train_input_reader.mask_type = 1
    check(config)


def test_metrics_that_cannot_be_computed_are_refused():
    config = _config("mask_rcnn_resnet50")
    config.eval_config.metrics_set[:] = ["coco_detection_metrics", "coco_metrics", "coco_keypoint_metrics"]
    problems = _problems(config)
    assert set(problems) == {"eval_config.metrics_set[1]", "eval_config.metrics_set[2]"}
    assert problems["eval_config.metrics_set[1]"].startswith("'coco_metrics' is not supported; it may be one of coco_")


def test_metrics_of_masks_need_a_model_with_masks():
    masks, boxes = _config("mask_rcnn_resnet50"), _config("efficientdet_d0")
    masks.eval_config.metrics_set[:] = [*BOX_METRICS, *MASK_METRICS]
    check(masks)
    boxes.eval_config.metrics_set[:] = BOX_METRICS
    check(boxes)
    boxes.eval_config.ClearField("metrics_set")  # the OD API's default is COCO's
    check(boxes)
    boxes.eval_config.metrics_set[:] = ["coco_mask_metrics"]
    assert "needs a model with masks" in _problems(boxes)["eval_config.metrics_set[0]"]


def test_the_accepted_metrics_are_names_of_the_od_api():
    package = importlib.util.find_spec("object_detection")
    assert package is not None
    assert package.submodule_search_locations is not None
    source = (Path(package.submodule_search_locations[0]) / "eval_util.py").read_text()
    classes = next(
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EVAL_METRICS_CLASS_DICT"
    )
    assert isinstance(classes, ast.Dict)
    names = {key.value for key in classes.keys if isinstance(key, ast.Constant)}
    assert names >= {*BOX_METRICS, *MASK_METRICS}


@pytest.mark.parametrize("name", ["train_input_reader", "eval_input_reader[0]"])
def test_readers_of_another_kind_are_refused(name):
    config = _config()
    reader = config.train_input_reader if name == "train_input_reader" else config.eval_input_reader[0]
    reader.input_type = 2
    reader.tf_record_input_reader.input_path[:] = ["/a", "/b"]
    reader.sample_from_datasets_weights[:] = [0.5, 0.25, 0.25]
    assert _problems(config) == {
        f"{name}.input_type": "TF_SEQUENCE_EXAMPLE is not supported: set TF_EXAMPLE",
        f"{name}.sample_from_datasets_weights": "must have one weight for each of the 2 input_path, got 3",
    }
    reader.input_type = 1
    reader.sample_from_datasets_weights[:] = [0.5, 0.5]
    check(config)
    check(without_paths(config)[0])  # the weights wait for `set_data`, which drops them


def test_paths_are_dropped_at_any_depth_and_listed():
    config = parse(
        """train_config { fine_tune_checkpoint: "/etc/passwd" batch_size: 3 }
        train_input_reader { label_map_path: "/a" tf_record_input_reader { input_path: ["/b", "/c"] } shuffle: false }
        eval_config { export_path: "/d" visualization_export_dir: "/e" eval_master: "grpc://x" num_examples: 5 }
        eval_input_reader { } eval_input_reader { label_map_path: "/f" external_input_reader { } }
        model { center_net { keypoint_label_map_path: "/g" } }"""
    )
    before = to_text(config)
    cleared, dropped = without_paths(config)
    assert dropped == [
        "model.center_net.keypoint_label_map_path",
        "train_config.fine_tune_checkpoint",
        "train_input_reader.label_map_path",
        "train_input_reader.tf_record_input_reader.input_path",
        "eval_config.visualization_export_dir",
        "eval_config.eval_master",
        "eval_config.export_path",
        "eval_input_reader[1].label_map_path",
        "eval_input_reader[1].external_input_reader",
    ]
    assert "/" not in to_text(cleared)
    assert cleared.train_config.batch_size == 3
    assert cleared.eval_config.num_examples == 5
    assert to_text(config) == before
    assert without_paths(cleared) == (cleared, [])


def test_each_family_is_recognised():
    names = {Family.EFFICIENTDET: "efficientdet_d3", Family.MASK_RCNN: "mask_rcnn_inception_resnet_v2"}
    for family, name in names.items():
        assert family_of(_config(name)) is family
