"""Builds a complete configuration for a model of the catalogue.

The values are those of the TF2 model zoo's configs, except where a single GPU needs others: batch and schedule come
from the catalogue, TPU-only switches (static shapes, matmul crops, replicas) keep their defaults, and comments mark the
rest.
"""

import functools

from services.domain.catalogue import Family, ImageSize, Model
from services.domain.pipeline_config.counts import MAX_COUNT, count_problem
from services.domain.pipeline_config.problems import ConfigError, Problem
from services.domain.pipeline_config.schedule import is_rate
from services.domain.pipeline_config.schema.text import Config, copied, parse

MAX_BOXES = 100  # of ground truth per image
_WARMUP_START = {Family.EFFICIENTDET: 1 / 80, Family.FASTER_RCNN: 1 / 3, Family.MASK_RCNN: 1 / 10}


def build_config(
    model: Model,
    num_classes: int,
    image_size: ImageSize | None = None,
    batch_size: int | None = None,
    steps: int | None = None,
    learning_rate: float | None = None,
) -> Config:
    """A complete configuration of `model` for one GPU, without data: see `set_data`.

    A setting that is left out has the catalogue's default. The default steps and learning rate fit the batch size, so
    that training sees as many images. Raises ConfigError for no classes, an illegal size and the like.
    """
    size = image_size or model.image_size
    batch = model.batch_size if batch_size is None else batch_size
    countable = min(max(batch, 1), MAX_COUNT)  # an illegal batch is refused below, after the defaults
    steps = model.steps_for(countable) if steps is None else steps
    learning_rate = model.learning_rate_for(countable) if learning_rate is None else learning_rate
    _refuse_nonsense(model, num_classes, size, batch, steps, learning_rate)
    config = copied(_figures(model, size))
    network = network_of(config)
    network.num_classes = num_classes
    _write_resizer(network.image_resizer, size)
    _write_schedule(config.train_config, model, batch, steps, learning_rate)
    write_decay(network, steps)
    return config


@functools.lru_cache(maxsize=128)  # parsing takes 2.5 ms, and every submission and estimate needs it
def _figures(model: Model, image_size: ImageSize) -> Config:
    body = _efficientdet(model) if model.family is Family.EFFICIENTDET else _two_stage(model)
    return parse(body + _train(model, image_size) + _evaluation(model))


def network_of(config: Config) -> Config:
    """The message that holds the detector: `model.ssd` or `model.faster_rcnn`."""
    return getattr(config.model, config.model.WhichOneof("model"))


def _refuse_nonsense(
    model: Model, num_classes: int, image_size: ImageSize, batch_size: int, steps: int, learning_rate: float
) -> None:
    counts = {"num_classes": num_classes, "batch_size": batch_size, "steps": steps}
    problems = [Problem(name, problem) for name, count in counts.items() if (problem := count_problem(count))]
    if not is_rate(learning_rate):
        problems.append(Problem("learning_rate", f"must be a finite number above 0, got {learning_rate}"))
    size = model.sizes.problem(image_size)
    if size:
        problems.append(Problem("image_size", size))
    if problems:
        raise ConfigError(problems)


def _write_resizer(resizer: Config, size: ImageSize) -> None:
    """For a square, keep the aspect ratio and pad, as the zoo does. That resizer makes squares only."""
    height, width = size
    if height == width:
        kept = resizer.keep_aspect_ratio_resizer
        kept.min_dimension = kept.max_dimension = height
        kept.pad_to_max_dimension = True
    else:
        resizer.fixed_shape_resizer.height, resizer.fixed_shape_resizer.width = height, width


def _write_schedule(train: Config, model: Model, batch_size: int, steps: int, learning_rate: float) -> None:
    train.batch_size = batch_size
    train.num_steps = steps
    schedule = train.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate
    schedule.learning_rate_base = learning_rate
    schedule.warmup_learning_rate = learning_rate * _WARMUP_START[model.family]
    schedule.warmup_steps = model.warmup_steps_for(steps)
    schedule.total_steps = steps


def write_decay(network: Config, steps: int) -> None:
    """Faster moving averages for a short training: evaluation uses them, and the zoo's lag by 333 steps."""
    head = (
        network.box_predictor.weight_shared_convolutional_box_predictor if hasattr(network, "box_predictor") else None
    )
    for part in (network.feature_extractor, head):
        if part is not None and part.conv_hyperparams.HasField("batch_norm"):
            norm = part.conv_hyperparams.batch_norm
            norm.decay = min(norm.decay, max(0.9, 1 - 25 / max(steps, 1)))


def _hyperparams(weight_decay: float, initializer: str, rest: str = "") -> str:
    return f"regularizer {{ l2_regularizer {{ weight: {weight_decay} }} }} initializer {{ {initializer} }} {rest}"


def _normal(stddev: float) -> str:
    return f"truncated_normal_initializer {{ mean: 0.0 stddev: {stddev} }}"


def _batch_norm(decay: float) -> str:
    return f"batch_norm {{ scale: true decay: {decay} epsilon: 0.001 }}"


def _efficientdet(model: Model) -> str:
    assert model.pyramid is not None
    swish = f"activation: SWISH force_use_bias: true {_batch_norm(0.99)}"
    return f"""model {{ ssd {{
      add_background_class: false
      encode_background_as_zeros: true
      normalize_loss_by_num_matches: true
      normalize_loc_loss_by_codesize: true
      box_coder {{ faster_rcnn_box_coder {{ y_scale: 10.0 x_scale: 10.0 height_scale: 5.0 width_scale: 5.0 }} }}
      matcher {{ argmax_matcher {{
        matched_threshold: 0.5 unmatched_threshold: 0.5 ignore_thresholds: false
        negatives_lower_than_unmatched: true force_match_for_each_row: true use_matmul_gather: true }} }}
      similarity_calculator {{ iou_similarity {{ }} }}
      anchor_generator {{ multiscale_anchor_generator {{
        min_level: 3 max_level: 7 anchor_scale: 4.0 aspect_ratios: [1.0, 2.0, 0.5] scales_per_octave: 3 }} }}
      feature_extractor {{
        type: "{model.extractor}"
        bifpn {{ min_level: 3 max_level: 7
          num_iterations: {model.pyramid.iterations} num_filters: {model.pyramid.filters}
          combine_method: "{model.pyramid.combine_method}" }}
        conv_hyperparams {{ {_hyperparams(4e-5, _normal(0.03), swish)} }} }}
      box_predictor {{ weight_shared_convolutional_box_predictor {{
        depth: {model.pyramid.filters} num_layers_before_predictor: {model.pyramid.head_layers}
        kernel_size: 3 use_depthwise: true class_prediction_bias_init: -4.6
        conv_hyperparams {{
          {_hyperparams(4e-5, "random_normal_initializer { mean: 0.0 stddev: 0.01 }", swish)} }} }} }}
      loss {{
        classification_loss {{ weighted_sigmoid_focal {{ alpha: 0.25 gamma: 1.5 }} }}
        localization_loss {{ weighted_smooth_l1 {{ }} }}
        classification_weight: 1.0 localization_weight: 1.0 }}
      post_processing {{ score_converter: SIGMOID batch_non_max_suppression {{
        score_threshold: 1e-8 iou_threshold: 0.5 max_detections_per_class: 100 max_total_detections: 100 }} }}
    }} }}"""


def _two_stage(model: Model) -> str:
    crop, pool = roi_sizes(model)
    # Anchors are clipped, as in the zoo's TPU configs: training drops unclipped ones that leave the image, and on
    # images of 256 pixels that is most of them.
    return f"""model {{ faster_rcnn {{
      number_of_stages: {3 if model.needs_masks else 2}
      feature_extractor {{ {feature_extractor(model)} }}
      first_stage_anchor_generator {{ {anchors(model)} }}
      clip_anchors_to_image: true
      first_stage_box_predictor_conv_hyperparams {{ op: CONV {_hyperparams(0.0, _normal(0.01))} }}
      first_stage_nms_score_threshold: 0.0
      first_stage_nms_iou_threshold: 0.7
      first_stage_max_proposals: 300
      first_stage_localization_loss_weight: 2.0
      first_stage_objectness_loss_weight: 1.0
      initial_crop_size: {crop} maxpool_kernel_size: {pool} maxpool_stride: {pool}
      second_stage_batch_size: 64
      second_stage_box_predictor {{ mask_rcnn_box_predictor {{ {_second_stage_head(model)} }} }}
      second_stage_post_processing {{ score_converter: SOFTMAX batch_non_max_suppression {{
        score_threshold: 0.0 iou_threshold: 0.6 max_detections_per_class: 100 max_total_detections: 100 }} }}
      second_stage_localization_loss_weight: 2.0
      second_stage_classification_loss_weight: 1.0
      {"second_stage_mask_prediction_loss_weight: 4.0 resize_masks: false" if model.needs_masks else ""}
    }} }}"""


def feature_extractor(model: Model) -> str:
    """The inside of a two-stage `feature_extractor`."""
    # Frozen batch normalisation (the default) keeps the statistics of the checkpoint. Without a checkpoint they stay at
    # mean 0 and variance 1, and a deep network does not train. Trainable works in both cases.
    common = f'type: "{model.extractor}" first_stage_features_stride: 16 batch_norm_trainable: true'
    if not model.is_fpn:
        return common
    relu = f"activation: RELU_6 {_batch_norm(0.997)}"
    return f"""{common} fpn {{ min_level: 2 max_level: 6 }}
      conv_hyperparams {{ {_hyperparams(4e-4, _normal(0.03), relu)} }}
      override_base_feature_extractor_hyperparams: true"""


def anchors(model: Model) -> str:
    """The inside of a two-stage `first_stage_anchor_generator`: one grid, or one per pyramid level."""
    if model.is_fpn:
        return """multiscale_anchor_generator { min_level: 2 max_level: 6 anchor_scale: 4.0
          aspect_ratios: [1.0, 2.0, 0.5] scales_per_octave: 2 normalize_coordinates: false }"""
    return """grid_anchor_generator { scales: [0.25, 0.5, 1.0, 2.0] aspect_ratios: [0.5, 1.0, 2.0]
      height_stride: 16 width_stride: 16 }"""


def roi_sizes(model: Model) -> tuple[int, int]:
    """`initial_crop_size`, and kernel and stride of the max-pool, which depend on the second half of the backbone."""
    return (17, 1) if model.backbone == "inception_resnet_v2" else (14, 2)


def _second_stage_head(model: Model) -> str:
    uniform = "variance_scaling_initializer { factor: 1.0 uniform: true mode: FAN_AVG }"
    boxes = f"""use_dropout: false dropout_keep_probability: 1.0
      fc_hyperparams {{ op: FC {_hyperparams(0.0, uniform)} }}"""
    if not model.needs_masks:
        return boxes + ("" if model.is_fpn else " share_box_across_classes: true")
    return f"""{boxes} predict_instance_masks: true mask_height: 33 mask_width: 33
      mask_prediction_conv_depth: 0 mask_prediction_num_conv_layers: 4
      conv_hyperparams {{ op: CONV {_hyperparams(0.0, _normal(0.01))} }}"""


def _train(model: Model, size: ImageSize) -> str:
    efficientdet = model.family is Family.EFFICIENTDET
    # For squares only: the resizer would squeeze a square crop into an oblong, with objects in shapes that evaluation,
    # which does not crop, never has.
    height, width = size
    crop = f"""data_augmentation_options {{ random_scale_crop_and_pad_to_square {{
      output_size: {height} scale_min: 0.1 scale_max: 2.0 }} }}"""
    return f"""train_config {{
      data_augmentation_options {{ random_horizontal_flip {{ }} }}
      {crop if efficientdet and height == width else ""}
      {"" if efficientdet else "gradient_clipping_by_norm: 10.0"}
      optimizer {{ momentum_optimizer {{ momentum_optimizer_value: 0.9 }} use_moving_average: false }}
      max_number_of_boxes: {MAX_BOXES}
      unpad_groundtruth_tensors: {"false" if efficientdet else "true"}
      fine_tune_checkpoint_version: V2
    }}"""


def _evaluation(model: Model) -> str:
    masks = "load_instance_masks: true mask_type: PNG_MASKS" if model.needs_masks else ""
    mask_metrics = 'metrics_set: "coco_mask_metrics" eval_instance_masks: true' if model.needs_masks else ""
    # Per-category metrics stay off: with PyPI's pycocotools the OD API fails on them; the trainer computes its own.
    return f"""
    train_input_reader {{ max_number_of_boxes: {MAX_BOXES} {masks} tf_record_input_reader {{ }} }}
    eval_config {{ metrics_set: "coco_detection_metrics" {mask_metrics}
      batch_size: 1 use_moving_averages: false include_metrics_per_category: false }}
    eval_input_reader {{ shuffle: false num_epochs: 1 max_number_of_boxes: {MAX_BOXES} {masks}
      tf_record_input_reader {{ }} }}"""
