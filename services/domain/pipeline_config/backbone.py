"""Changes the backbone: its type, and all the settings that depend on it."""

from typing import Any

from google.protobuf import text_format

from services.domain.catalogue import Family, Model
from services.domain.pipeline_config import template
from services.domain.pipeline_config.families import family_of, identify, model_of, network_path
from services.domain.pipeline_config.problems import refuse
from services.domain.pipeline_config.rewrite import set_checkpoint
from services.domain.pipeline_config.schema.text import Config, copied
from services.domain.pipeline_config.template import network_of

_STRIDE = 16  # pixels between features of the first stage; the only stride that every backbone supports


def set_backbone(config: Config, model: Model) -> Config:
    """A copy with the backbone of `model`, which is of the same family; all other settings of the user stay.

    A checkpoint of the old backbone does not fit the new one and is dropped. A configuration that already has this
    backbone keeps its own details. Raises ConfigError for another family.
    """
    _refuse_another_family(config, model)
    changed = copied(config)
    if has_backbone(config, model):
        return changed
    old = model_of(config)
    if model.family is Family.EFFICIENTDET:
        _change_efficientdet(changed.model.ssd, old, model)
    else:
        _change_two_stage(changed.model.faster_rcnn, old, model)
        if model.is_fpn and not old.is_fpn:
            template.write_decay(changed.model.faster_rcnn, changed.train_config.num_steps)
    return set_checkpoint(changed, None)


def has_features_of(config: Config, model: Model) -> bool:
    """Whether the feature extractor has the same variables as that of `model`."""
    own, usual = (network_of(one).feature_extractor for one in (config, template.build_config(model, 1)))
    parts = ("type", "bifpn", "fpn")
    return all(getattr(own, part, None) == getattr(usual, part, None) for part in parts)


def has_backbone(config: Config, model: Model) -> bool:
    """Whether the configuration already has the network of `model` (D6 and D7 are one network)."""
    return network_of(config).feature_extractor.type == model.extractor or identify(config) == model.name


def _refuse_another_family(config: Config, model: Model) -> None:
    family = family_of(config)
    if model.family is not family:
        raise refuse(
            f"{network_path(config)}.feature_extractor.type",
            f"{model.name} is of the family {model.family}, this configuration of {family}: "
            "to train another family, submit a new job",
        )


def _change_efficientdet(ssd: Any, old: Model, new: Model) -> None:
    assert old.pyramid is not None and new.pyramid is not None
    extractor, head = ssd.feature_extractor, ssd.box_predictor.weight_shared_convolutional_box_predictor
    extractor.type = new.extractor
    extractor.bifpn.num_iterations = new.pyramid.iterations
    extractor.bifpn.num_filters = new.pyramid.filters
    if extractor.bifpn.combine_method == old.pyramid.combine_method:
        extractor.bifpn.combine_method = new.pyramid.combine_method
    if ssd.box_predictor.HasField("weight_shared_convolutional_box_predictor"):
        head.depth = new.pyramid.filters
        head.num_layers_before_predictor = new.pyramid.head_layers


def _change_two_stage(network: Any, old: Model, new: Model) -> None:
    extractor = network.feature_extractor
    extractor.type = new.extractor
    if old.is_fpn != new.is_fpn:
        _change_pyramid(network, new)
    if template.roi_sizes(old) != template.roi_sizes(new):
        crop, pool = template.roi_sizes(new)
        network.initial_crop_size, network.maxpool_kernel_size, network.maxpool_stride = crop, pool, pool
    if extractor.first_stage_features_stride != _STRIDE:
        _change_stride(network, extractor.first_stage_features_stride)


def _change_stride(network: Any, old: int) -> None:
    """Only Inception-ResNet supports a stride of 8. The anchors follow the features."""
    network.feature_extractor.first_stage_features_stride = _STRIDE
    grid = network.first_stage_anchor_generator.grid_anchor_generator
    if network.first_stage_anchor_generator.HasField("grid_anchor_generator") and grid.height_stride == old:
        grid.height_stride = grid.width_stride = _STRIDE


def _change_pyramid(network: Any, new: Model) -> None:
    """With and without FPN, the extractor block and the kind of anchors differ."""
    trainable = network.feature_extractor.batch_norm_trainable
    network.feature_extractor.Clear()
    text_format.Parse(template.feature_extractor(new), network.feature_extractor)
    network.feature_extractor.batch_norm_trainable = trainable
    network.first_stage_anchor_generator.Clear()
    text_format.Parse(template.anchors(new), network.first_stage_anchor_generator)
