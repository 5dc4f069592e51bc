"""Whether a configuration can be trained here: a known family, and the rules of the OD API under TF2.

Each rule yields its problems, and `check` reports all of them, so that a user can fix them at once.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from services.domain.catalogue import Family
from services.domain.pipeline_config.counts import count_problem
from services.domain.pipeline_config.families import family_of, model_of, size_law
from services.domain.pipeline_config.metrics import BOX_METRICS, MASK_METRICS
from services.domain.pipeline_config.problems import ConfigError, Problem
from services.domain.pipeline_config.resize import has_one_shape, image_size, resizer_path
from services.domain.pipeline_config.schedule import is_rate
from services.domain.pipeline_config.schema.floats import shortest
from services.domain.pipeline_config.schema.text import Config
from services.domain.pipeline_config.template import network_of

_CHECKPOINT_TYPES = ("classification", "detection", "full")


def check(config: Config) -> None:
    """Raises ConfigError with every problem of a configuration that cannot be trained.

    Paths are not checked: Downshift sets data and checkpoint.
    """
    problems = [*_model(config), *_train(config), *_readers(config), *_evaluation(config), *_rewriter(config)]
    if problems:
        raise ConfigError(problems)


def _model(config: Config) -> Iterator[Problem]:
    try:
        family = family_of(config)
    except ConfigError as error:
        yield from error.problems
        return
    path = f"model.{config.model.WhichOneof('model')}"
    network = network_of(config)
    if network.num_classes < 1:
        yield Problem(f"{path}.num_classes", f"must be at least 1, got {network.num_classes}")
    yield from _size(config, family)
    yield from _efficientdet(network) if family is Family.EFFICIENTDET else _two_stage(config)


def _size(config: Config, family: Family) -> Iterator[Problem]:
    path = resizer_path(config)
    kept = network_of(config).image_resizer.keep_aspect_ratio_resizer
    try:
        size = image_size(config)
    except ConfigError as error:
        yield from error.problems
        return
    if kept.min_dimension > kept.max_dimension:
        yield Problem(f"{path}.keep_aspect_ratio_resizer.min_dimension", "must not exceed max_dimension")
    problem = size_law(family).problem(size)
    if problem:
        yield Problem(path, problem)
    batch = config.train_config.batch_size
    if not has_one_shape(config) and (batch > 1 or family is Family.EFFICIENTDET):
        why = f"a batch of {batch}" if batch > 1 else "EfficientDet"
        remedy = "set pad_to_max_dimension: true"
        yield Problem(path, f"gives images of different shapes, which {why} cannot take: {remedy}")


def _efficientdet(ssd: Any) -> Iterator[Problem]:
    extractor = ssd.feature_extractor
    if not ssd.anchor_generator.HasField("multiscale_anchor_generator"):
        yield Problem("model.ssd.anchor_generator", "EfficientDet needs a multiscale_anchor_generator")
    elif extractor.HasField("bifpn"):
        yield from _levels(extractor.bifpn, ssd.anchor_generator, "model.ssd.anchor_generator")
    if not extractor.HasField("bifpn"):
        yield Problem("model.ssd.feature_extractor.bifpn", "is missing: add num_iterations and num_filters")
    elif extractor.bifpn.num_iterations < 1 or extractor.bifpn.num_filters < 1:
        yield Problem("model.ssd.feature_extractor.bifpn", "num_iterations and num_filters must be at least 1")
    for name, default in (("depth_multiplier", 1.0), ("use_explicit_padding", False), ("use_depthwise", False)):
        if getattr(extractor, name) != default:
            yield Problem(f"model.ssd.feature_extractor.{name}", "EfficientDet does not support it: remove it")
    predictors = ("weight_shared_convolutional_box_predictor", "convolutional_box_predictor")
    if ssd.box_predictor.WhichOneof("box_predictor_oneof") not in predictors:
        yield Problem("model.ssd.box_predictor", f"must be a {predictors[0]}")
    yield from _missing(ssd, "model.ssd", ("box_coder", "matcher", "similarity_calculator", "loss", "post_processing"))


def _two_stage(config: Config) -> Iterator[Problem]:
    network, path = config.model.faster_rcnn, "model.faster_rcnn"
    if network.number_of_stages not in (2, 3):
        yield Problem(f"{path}.number_of_stages", f"2 for boxes or 3 for masks, got {network.number_of_stages}")
    if network.inplace_batchnorm_update:
        yield Problem(f"{path}.inplace_batchnorm_update", "is not supported under TF2: remove it")
    if network.second_stage_batch_size > network.first_stage_max_proposals:
        limit = network.first_stage_max_proposals
        yield Problem(f"{path}.second_stage_batch_size", f"at most first_stage_max_proposals ({limit})")
    for name in ("initial_crop_size", "maxpool_kernel_size", "maxpool_stride"):
        if getattr(network, name) < 1:
            yield Problem(f"{path}.{name}", "is missing: at least 1 (ResNet has 14, 2, 2; Inception-ResNet 17, 1, 1)")
    if network.HasField("context_config"):
        yield Problem(f"{path}.context_config", "Context R-CNN is not supported: remove it")
    yield from _missing(network, path, ("first_stage_box_predictor_conv_hyperparams", "second_stage_post_processing"))
    yield from _backbone(config)
    yield from _second_stage(config)


def _backbone(config: Config) -> Iterator[Problem]:
    network, path, model = config.model.faster_rcnn, "model.faster_rcnn", model_of(config)
    extractor, generator = network.feature_extractor, network.first_stage_anchor_generator
    wanted = "multiscale_anchor_generator" if model.is_fpn else "grid_anchor_generator"
    if not generator.HasField(wanted):
        yield Problem(f"{path}.first_stage_anchor_generator", f"{extractor.type} needs a {wanted}")
    elif model.is_fpn and extractor.HasField("fpn"):
        yield from _levels(extractor.fpn, generator, f"{path}.first_stage_anchor_generator")
    strides = (16,) if model.backbone.startswith("resnet") and not model.is_fpn else (8, 16)
    if extractor.first_stage_features_stride not in strides:
        allowed = " or ".join(map(str, strides))
        yield Problem(f"{path}.feature_extractor.first_stage_features_stride", f"must be {allowed}")
    if model.is_fpn and not extractor.HasField("conv_hyperparams"):
        yield Problem(f"{path}.feature_extractor.conv_hyperparams", f"is missing, {extractor.type} needs it")
    if not model.is_fpn:
        for name in ("fpn", "conv_hyperparams"):
            if extractor.HasField(name):
                yield Problem(f"{path}.feature_extractor.{name}", f"{extractor.type} does not take it: remove it")


def _second_stage(config: Config) -> Iterator[Problem]:
    network, path = config.model.faster_rcnn, "model.faster_rcnn"
    head, where = network.second_stage_box_predictor.mask_rcnn_box_predictor, f"{path}.second_stage_box_predictor"
    if not network.second_stage_box_predictor.HasField("mask_rcnn_box_predictor"):
        yield Problem(where, "must be a mask_rcnn_box_predictor, for boxes too")
        return
    where = f"{where}.mask_rcnn_box_predictor"
    if not head.HasField("fc_hyperparams"):
        yield Problem(f"{where}.fc_hyperparams", "is missing")
    if head.predict_keypoints:
        yield Problem(f"{where}.predict_keypoints", "is not supported under TF2: remove it")
    if head.predict_instance_masks and network.number_of_stages != 3:
        yield Problem(f"{path}.number_of_stages", "predict_instance_masks needs number_of_stages: 3")
    if network.number_of_stages == 3:
        yield from _masks(config, head, where)


def _masks(config: Config, head: Any, where: str) -> Iterator[Problem]:
    if not head.predict_instance_masks:
        yield Problem(f"{where}.predict_instance_masks", "number_of_stages: 3 needs it to be true")
    if not head.HasField("conv_hyperparams"):
        yield Problem(f"{where}.conv_hyperparams", "is missing, the mask head needs it")
    for name, reader in _all_readers(config):
        if not reader.load_instance_masks:
            yield Problem(f"{name}.load_instance_masks", "Mask R-CNN needs it to be true")
        kind = _enum_name(reader, "mask_type")
        if kind != "PNG_MASKS":
            yield Problem(f"{name}.mask_type", f"masks are read as PNG images: set PNG_MASKS, got {kind}")


def _train(config: Config) -> Iterator[Problem]:
    if not config.HasField("train_config"):
        yield Problem("train_config", "is missing")
        return
    train, path = config.train_config, "train_config"
    for name, why in (("batch_size", ""), ("num_steps", ": with 0 the OD API never stops")):
        problem = count_problem(getattr(train, name))
        if problem:
            yield Problem(f"{path}.{name}", problem + ("" if getattr(train, name) else why))
    if train.max_number_of_boxes < 1:
        yield Problem(f"{path}.max_number_of_boxes", f"must be at least 1, got {train.max_number_of_boxes}")
    if train.load_all_detection_checkpoint_vars:
        yield Problem(f"{path}.load_all_detection_checkpoint_vars", "is not supported under TF2: remove it")
    kind = train.fine_tune_checkpoint_type
    if kind and kind not in _CHECKPOINT_TYPES:
        yield Problem(f"{path}.fine_tune_checkpoint_type", f"one of {', '.join(_CHECKPOINT_TYPES)}, got {kind!r}")
    if train.fine_tune_checkpoint and train.fine_tune_checkpoint_version == 1:
        yield Problem(f"{path}.fine_tune_checkpoint_version", "V1 checkpoints cannot be read under TF2: set V2")
    yield from _optimizer(train.optimizer, f"{path}.optimizer")


def _optimizer(optimizer: Any, path: str) -> Iterator[Problem]:
    chosen = optimizer.WhichOneof("optimizer")
    if chosen is None:
        yield Problem(path, "is missing: add a momentum_optimizer, adam_optimizer or rms_prop_optimizer")
        return
    rate = getattr(optimizer, chosen).learning_rate
    kind, where = rate.WhichOneof("learning_rate"), f"{path}.{chosen}.learning_rate"
    if kind is None:
        yield Problem(where, "is missing: add a cosine_decay_learning_rate, for example")
    else:
        yield from _SCHEDULES[kind](getattr(rate, kind), f"{where}.{kind}")


def _constant(constant: Any, path: str) -> Iterator[Problem]:
    yield from _rates(constant, path, "learning_rate")


def _exponential(exponential: Any, path: str) -> Iterator[Problem]:
    yield from _rates(exponential, path, "initial_learning_rate", "decay_factor")
    yield from _rates(exponential, path, "burnin_learning_rate", "min_learning_rate", zero=True)
    if exponential.decay_steps < 1:
        yield Problem(f"{path}.decay_steps", "must be at least 1")


def _cosine(cosine: Any, path: str) -> Iterator[Problem]:
    yield from _rates(cosine, path, "learning_rate_base")
    yield from _rates(cosine, path, "warmup_learning_rate", zero=True)
    warmup, hold, total = cosine.warmup_steps, cosine.hold_base_rate_steps, cosine.total_steps
    if warmup + hold >= total:  # the OD API divides by the rest
        ahead = f"{warmup} and hold_base_rate_steps of {hold}" if hold else f"{warmup}"
        yield Problem(f"{path}.warmup_steps", f"must end before total_steps ({total}), got {ahead}")
    if warmup and cosine.learning_rate_base < cosine.warmup_learning_rate:
        yield Problem(f"{path}.warmup_learning_rate", "must not exceed learning_rate_base")


def _manual_steps(manual: Any, path: str) -> Iterator[Problem]:
    yield from _rates(manual, path, "initial_learning_rate", zero=manual.warmup)  # a warm-up may start from 0
    for index, stage in enumerate(manual.schedule):
        yield from _rates(stage, f"{path}.schedule[{index}]", "learning_rate")
    boundaries = [0, *(stage.step for stage in manual.schedule)]
    if len(boundaries) == 1:
        yield Problem(f"{path}.schedule", "is missing: add a step and a learning_rate")
    if any(after <= before for before, after in pairwise(boundaries)):
        yield Problem(f"{path}.schedule", "steps must start above 0 and rise")


_SCHEDULES: dict[str, Callable[[Any, str], Iterator[Problem]]] = {
    "constant_learning_rate": _constant,
    "exponential_decay_learning_rate": _exponential,
    "manual_step_learning_rate": _manual_steps,
    "cosine_decay_learning_rate": _cosine,
}


def _rates(message: Any, path: str, *names: str, zero: bool = False) -> Iterator[Problem]:
    for name in names:
        value = getattr(message, name)
        if not (is_rate(value) or (zero and value == 0)):
            wanted = "a finite number of at least 0" if zero else "a finite number above 0"
            yield Problem(f"{path}.{name}", f"must be {wanted}, got {shortest(value)}")


def _readers(config: Config) -> Iterator[Problem]:
    for name, reader in _all_readers(config):
        kind = _enum_name(reader, "input_type")
        if kind != "TF_EXAMPLE":
            yield Problem(f"{name}.input_type", f"{kind} is not supported: set TF_EXAMPLE")
        weights, files = len(reader.sample_from_datasets_weights), len(reader.tf_record_input_reader.input_path)
        if weights and files and weights != files:  # without files, `set_data` has yet to come
            yield Problem(
                f"{name}.sample_from_datasets_weights",
                f"must have one weight for each of the {files} input_path, got {weights}",
            )
        if reader.HasField("external_input_reader"):
            yield Problem(f"{name}.external_input_reader", "is not supported: use a tf_record_input_reader")
        if reader.max_number_of_boxes < 1:
            yield Problem(f"{name}.max_number_of_boxes", f"must be at least 1, got {reader.max_number_of_boxes}")
        if reader.num_additional_channels:
            yield Problem(f"{name}.num_additional_channels", "is not supported: images have three channels")


def _evaluation(config: Config) -> Iterator[Problem]:
    masks = config.model.faster_rcnn.number_of_stages == 3
    accepted = BOX_METRICS + (MASK_METRICS if masks else ())
    for index, name in enumerate(config.eval_config.metrics_set):
        if name not in accepted:
            what = "needs a model with masks" if name in MASK_METRICS else "is not supported"
            field = f"eval_config.metrics_set[{index}]"
            yield Problem(field, f"{name!r} {what}; it may be one of {', '.join(accepted)}")


def _all_readers(config: Config) -> list[tuple[str, Any]]:
    evaluation = ((f"eval_input_reader[{index}]", reader) for index, reader in enumerate(config.eval_input_reader))
    return [("train_input_reader", config.train_input_reader), *evaluation]


def _enum_name(message: Any, field: str) -> str:
    name: str = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number[getattr(message, field)].name
    return name


def _rewriter(config: Config) -> Iterator[Problem]:
    if config.HasField("graph_rewriter"):
        yield Problem("graph_rewriter", "quantization while training does not exist under TF2: remove it")


def _levels(pyramid: Any, generator: Any, path: str) -> Iterator[Problem]:
    anchors = generator.multiscale_anchor_generator
    if (anchors.min_level, anchors.max_level) != (pyramid.min_level, pyramid.max_level):
        yield Problem(
            f"{path}.multiscale_anchor_generator",
            f"levels {anchors.min_level} to {anchors.max_level} must be the feature pyramid's "
            f"{pyramid.min_level} to {pyramid.max_level}",
        )


def _missing(message: Any, path: str, names: tuple[str, ...]) -> Iterator[Problem]:
    for name in names:
        if not message.HasField(name):
            yield Problem(f"{path}.{name}", "is missing")
