"""The sizes of anchors, as the OD API's generators make them."""

import pytest

from services.domain import catalogue
from services.domain.pipeline_config import Config, anchor_sizes, build_config


def built(model: str) -> Config:
    return build_config(catalogue.get(model), 3, (512, 512))


def test_a_pyramid_has_each_shape_once_per_level_and_octave() -> None:
    sizes = anchor_sizes(built("efficientdet_d0"))
    assert len(sizes) == 5 * 3 * 3
    assert min(sizes) == pytest.approx((4 * 8 / 2**0.5, 4 * 8 * 2**0.5))
    assert (32.0, 32.0) in sizes
    assert any(size == pytest.approx((4 * 128 * 2 ** (2 / 3),) * 2) for size in sizes)


def test_a_grid_scales_its_base_size() -> None:
    config = built("faster_rcnn_resnet50")
    grid = config.model.faster_rcnn.first_stage_anchor_generator.grid_anchor_generator
    grid.height, grid.width = 100, 200
    sizes = anchor_sizes(config)
    assert len(sizes) == 4 * 3
    assert (25.0, 50.0) in sizes
    assert any(size == pytest.approx((200 * 2**0.5, 400 / 2**0.5)) for size in sizes)


def test_the_sizes_of_another_generator_are_not_known() -> None:
    config = built("efficientdet_d0")
    config.model.ssd.anchor_generator.ssd_anchor_generator.num_layers = 6
    assert anchor_sizes(config) == ()
