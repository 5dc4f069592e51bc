"""The model catalogue: names, ladders, sizes and the configurations it writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import catalogue
from services.domain.catalogue import Family, UnknownModel
from services.domain.pipeline_config import ConfigError, build_config, check, image_size
from services.domain.pipeline_config.schedule import peak_learning_rate

MODELS = list(catalogue.MODELS.values())
BACKBONES = [
    "resnet50",
    "resnet101",
    "resnet152",
    "resnet50_fpn",
    "resnet101_fpn",
    "resnet152_fpn",
    "inception_resnet_v2",
]


def test_the_catalogue_has_every_model():
    assert set(catalogue.MODELS) == (
        {f"efficientdet_d{number}" for number in range(8)}
        | {f"faster_rcnn_{backbone}" for backbone in BACKBONES}
        | {f"mask_rcnn_{backbone}" for backbone in BACKBONES}
    )


def test_an_unknown_model_is_refused_with_close_names_and_all_names():
    with pytest.raises(UnknownModel) as caught:
        catalogue.get("efficientdet_do")
    assert "did you mean efficientdet_d" in str(caught.value)
    assert all(name in str(caught.value) for name in catalogue.MODELS)
    assert caught.value.code == "unknown_model"


@pytest.mark.parametrize(
    ("number", "extractor", "side", "iterations", "filters", "layers"),
    [(0, "b0", 512, 3, 64, 3), (3, "b3", 896, 6, 160, 4), (5, "b5", 1280, 7, 288, 4), (7, "b6", 1536, 8, 384, 5)],
)
def test_efficientdet_scales_as_published(number, extractor, side, iterations, filters, layers):
    model = catalogue.get(f"efficientdet_d{number}")
    ssd = build_config(model, 3).model.ssd
    bifpn = ssd.feature_extractor.bifpn
    head = ssd.box_predictor.weight_shared_convolutional_box_predictor
    assert model.image_size == (side, side)
    assert ssd.feature_extractor.type == f"ssd_efficientnet-{extractor}_bifpn_keras"
    assert (bifpn.num_iterations, bifpn.num_filters) == (iterations, filters)
    assert (head.depth, head.num_layers_before_predictor) == (filters, layers)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_ladder_of_backbones_stays_in_the_family_and_ends(model):
    ladder = catalogue.smaller_models(model)
    assert all(below.family is model.family for below in ladder)
    assert len({below.extractor for below in (model, *ladder)}) == len(ladder) + 1
    if ladder:
        assert ladder[-1].smaller is None


def test_the_ladders_go_down_step_by_step():
    below = [model.name for model in catalogue.smaller_models(catalogue.get("mask_rcnn_inception_resnet_v2"))]
    assert below == ["mask_rcnn_resnet152", "mask_rcnn_resnet101", "mask_rcnn_resnet50"]
    assert catalogue.get("efficientdet_d7").smaller == "efficientdet_d5"  # D6 is the same network
    assert catalogue.get("faster_rcnn_resnet50_fpn").smaller is None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_written_config_is_complete(model):
    config = build_config(model, 7)
    check(config)
    network = getattr(config.model, config.model.WhichOneof("model"))
    assert network.num_classes == 7
    assert image_size(config) == model.image_size
    assert config.train_config.batch_size == model.batch_size
    assert config.train_config.num_steps == model.steps
    assert peak_learning_rate(config) == model.learning_rate
    assert "coco_detection_metrics" in config.eval_config.metrics_set
    assert ("coco_mask_metrics" in config.eval_config.metrics_set) == model.needs_masks
    assert config.train_input_reader.load_instance_masks == model.needs_masks
    assert config.eval_input_reader[0].load_instance_masks == model.needs_masks
    assert config.eval_config.batch_size == 1


def test_defaults_are_those_of_one_card():
    assert max(model.batch_size for model in MODELS) <= 16
    assert max(model.learning_rate for model in MODELS) <= 0.01
    assert catalogue.get("efficientdet_d0").learning_rate == 0.01  # the zoo's 0.08 at 128, brought to 16


def test_two_stage_models_train_their_batch_normalisation():
    for model in MODELS:
        if model.family is not Family.EFFICIENTDET:
            assert build_config(model, 3).model.faster_rcnn.feature_extractor.batch_norm_trainable


def test_a_small_dataset_is_trained_for_fewer_steps():
    model = catalogue.get("efficientdet_d0")
    seen = {images: model.steps_for(4, images) * 4 for images in (1, 4, 400, 2000, 1_000_000)}
    assert seen == {1: 8_000, 4: 8_000, 400: 40_000, 2000: 200_000, 1_000_000: 200_000}


@given(st.sampled_from(MODELS), st.integers(1, 256))
def test_a_batch_size_alone_adapts_learning_rate_and_steps(model, batch):
    config = build_config(model, 3, batch_size=batch)
    assert peak_learning_rate(config) == pytest.approx(model.learning_rate * batch / model.batch_size, rel=1e-4)
    assert config.train_config.num_steps * batch == pytest.approx(model.images_seen, rel=0.01)
    assert peak_learning_rate(build_config(model, 3, batch_size=batch, learning_rate=0.5)) == 0.5


@given(st.sampled_from(MODELS), st.integers(1, 100_000))
def test_any_length_gives_a_legal_schedule(model, steps):
    config = build_config(model, 3, steps=steps)
    check(config)
    assert config.train_config.num_steps == steps


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"num_classes": 0}, "num_classes"),
        ({"num_classes": 3, "batch_size": 0}, "batch_size"),
        ({"num_classes": 3, "steps": 0}, "steps"),
        ({"num_classes": 3, "learning_rate": 0.0}, "learning_rate"),
        ({"num_classes": 3, "learning_rate": float("nan")}, "learning_rate"),
        ({"num_classes": 3, "learning_rate": float("inf")}, "learning_rate: must be a finite number above 0, got inf"),
        ({"num_classes": 3, "learning_rate": 1e39}, "learning_rate"),  # more than 32 bits hold
        ({"num_classes": 3, "learning_rate": 1e-50}, "learning_rate"),  # less
        ({"num_classes": 2**40}, "num_classes: must be at most 2147483647, got 1099511627776"),
        ({"num_classes": 3, "batch_size": 2**40}, "batch_size: must be at most 2147483647"),
        ({"num_classes": 3, "batch_size": 10**400}, "batch_size: must be at most 2147483647, got far more"),
        ({"num_classes": 3, "steps": 99999999999}, "steps: must be at most 2147483647"),
        ({"num_classes": 3, "image_size": (10**400, 512)}, "image_size"),
        ({"num_classes": 3, "image_size": (500, 512)}, "image_size"),
        ({"num_classes": 3, "image_size": (128, 128)}, "image_size"),
    ],
)
def test_nonsense_is_refused(settings, field):
    with pytest.raises(ConfigError, match=field):
        build_config(catalogue.get("efficientdet_d0"), **settings)


def test_an_illegal_size_is_refused_with_the_nearest_legal_one():
    with pytest.raises(ConfigError, match=r"multiples of 128 .* the nearest is 640x512"):
        build_config(catalogue.get("efficientdet_d0"), 3, image_size=(600, 500))


def test_an_oblong_size_is_kept():
    for name, size in (("efficientdet_d0", (384, 640)), ("mask_rcnn_resnet50", (480, 640))):
        config = build_config(catalogue.get(name), 3, image_size=size)
        check(config)
        assert image_size(config) == size


def test_square_crops_are_made_for_square_images_only():
    def steps(size):
        train = build_config(catalogue.get("efficientdet_d0"), 3, image_size=size).train_config
        return [step.WhichOneof("preprocessing_step") for step in train.data_augmentation_options]

    assert steps((512, 512)) == ["random_horizontal_flip", "random_scale_crop_and_pad_to_square"]
    assert steps((384, 640)) == steps((640, 384)) == ["random_horizontal_flip"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_coco_with_its_ninety_classes_is_accepted(model):
    check(build_config(model, 90))


def test_the_offered_sizes_are_the_familys_rungs():
    assert catalogue.get("efficientdet_d0").image_sizes[:3] == ((256, 256), (384, 384), (512, 512))
    assert catalogue.get("mask_rcnn_resnet50").image_sizes[:3] == ((256, 256), (320, 320), (384, 384))
    assert all(max(model.image_sizes[-1]) == model.sizes.maximum for model in MODELS)


@given(st.sampled_from(MODELS), st.integers(256, 2048), st.integers(256, 2048))
def test_smaller_sizes_are_legal_descend_and_keep_the_shape(model, height, width):
    ladder = model.smaller_sizes((height, width))
    areas = [h * w for h, w in ladder]
    assert all(model.sizes.problem(size) is None for size in ladder)
    assert areas == sorted(set(areas), reverse=True)
    assert all(area < height * width for area in areas)
    assert all(h / w == pytest.approx(height / width, rel=0.18) for h, w in ladder)


def test_the_ladder_of_sizes_below_a_square():
    assert catalogue.get("efficientdet_d1").smaller_sizes((640, 640)) == ((512, 512), (384, 384), (256, 256))
    assert catalogue.get("efficientdet_d1").smaller_sizes((256, 256)) == ()


def test_the_ladder_of_sizes_below_an_oblong_keeps_it_oblong():
    assert catalogue.get("efficientdet_d1").smaller_sizes((384, 640)) == ((256, 384),)
    assert catalogue.get("faster_rcnn_resnet50").smaller_sizes((800, 1333))[:2] == ((768, 1280), (704, 1216))


@pytest.mark.parametrize(("steps", "decay"), [(100, 0.9), (500, 0.95), (200_000, 0.997)])
def test_moving_statistics_follow_a_short_training(steps: int, decay: float) -> None:
    config = build_config(catalogue.get("faster_rcnn_resnet50_fpn"), 3, steps=steps)

    assert config.model.faster_rcnn.feature_extractor.conv_hyperparams.batch_norm.decay == pytest.approx(decay)


def test_moving_statistics_of_the_head_follow_too() -> None:
    ssd = build_config(catalogue.get("efficientdet_d0"), 3, steps=100).model.ssd
    head = ssd.box_predictor.weight_shared_convolutional_box_predictor

    assert head.conv_hyperparams.batch_norm.decay == pytest.approx(0.9)
    assert ssd.feature_extractor.conv_hyperparams.batch_norm.decay == pytest.approx(0.9)
