"""The sizes of a configuration's anchors."""

import math
from itertools import product

from services.domain.pipeline_config.schema.text import Config
from services.domain.pipeline_config.template import network_of

__all__ = ["anchor_sizes", "smallest_anchor"]


def anchor_sizes(config: Config) -> tuple[tuple[float, float], ...]:
    """Height and width of each anchor in pixels of the network's image; empty for a generator that is not known here.

    As the OD API computes them: `anchor_generators/multiscale_grid_anchor_generator.py`, `grid_anchor_generator.py`.
    """
    network = network_of(config)
    generator = (
        network.anchor_generator if hasattr(network, "anchor_generator") else network.first_stage_anchor_generator
    )
    kind = generator.WhichOneof("anchor_generator_oneof")
    if kind == "multiscale_anchor_generator":
        levels = generator.multiscale_anchor_generator
        octave = [2 ** (part / levels.scales_per_octave) for part in range(levels.scales_per_octave)]
        sides = [levels.anchor_scale * 2**level for level in range(levels.min_level, levels.max_level + 1)]
        bases = [(side * scale, side * scale) for side, scale in product(sides, octave)]
        ratios = levels.aspect_ratios
    elif kind == "grid_anchor_generator":
        grid = generator.grid_anchor_generator
        bases = [(scale * grid.height, scale * grid.width) for scale in grid.scales]
        ratios = grid.aspect_ratios
    else:
        return ()
    shapes = [(math.sqrt(ratio), base) for ratio, base in product(ratios, bases) if ratio > 0]
    return tuple((height / root, width * root) for root, (height, width) in shapes)


def smallest_anchor(config: Config) -> float | None:
    """The side of a square as large as the smallest anchor; None for a generator that is not known here."""
    return min((math.sqrt(height * width) for height, width in anchor_sizes(config)), default=None)
