"""The pipeline.config engine: read, check, rewrite, compare and write configurations, without TensorFlow.

Configurations are the OD API's own messages. No function changes its argument.
"""

from services.domain.pipeline_config.anchors import anchor_sizes, smallest_anchor
from services.domain.pipeline_config.apply import apply, plan_of
from services.domain.pipeline_config.backbone import has_features_of, set_backbone
from services.domain.pipeline_config.check import check
from services.domain.pipeline_config.compare import FieldChange, compare
from services.domain.pipeline_config.differences import (
    Decisions,
    Explanation,
    Group,
    as_values,
    differences,
    settings_of,
)
from services.domain.pipeline_config.families import identify
from services.domain.pipeline_config.metrics import evaluates_boxes
from services.domain.pipeline_config.paths import without_paths
from services.domain.pipeline_config.problems import ConfigError, Problem
from services.domain.pipeline_config.readers import (
    evaluated_boxes,
    input_sizes,
    own_boxes,
    set_input_readers,
    size_input_readers,
)
from services.domain.pipeline_config.resize import image_size
from services.domain.pipeline_config.rewrite import (
    set_checkpoint,
    set_data,
)
from services.domain.pipeline_config.schedule import steps_of
from services.domain.pipeline_config.schema.text import Config, comments, parse, to_text
from services.domain.pipeline_config.template import build_config

__all__ = [
    "Config",
    "ConfigError",
    "Decisions",
    "Explanation",
    "FieldChange",
    "Group",
    "Problem",
    "anchor_sizes",
    "apply",
    "as_values",
    "build_config",
    "check",
    "comments",
    "compare",
    "differences",
    "evaluated_boxes",
    "evaluates_boxes",
    "has_features_of",
    "identify",
    "image_size",
    "input_sizes",
    "own_boxes",
    "parse",
    "plan_of",
    "set_backbone",
    "set_checkpoint",
    "set_data",
    "set_input_readers",
    "settings_of",
    "size_input_readers",
    "smallest_anchor",
    "steps_of",
    "to_text",
    "without_paths",
]
