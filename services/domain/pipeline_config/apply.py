"""Writes a Plan into a configuration, and reads the Plan of a configuration."""

from services.domain import catalogue
from services.domain.catalogue import Family
from services.domain.pipeline_config.backbone import set_backbone
from services.domain.pipeline_config.families import family_of, identify
from services.domain.pipeline_config.resize import image_size, set_image_size
from services.domain.pipeline_config.rewrite import set_batch_size, set_precision, set_proposals
from services.domain.pipeline_config.schedule import peak_learning_rate, set_schedule, steps_of
from services.domain.pipeline_config.schema.text import Config
from services.domain.plan.plan import Plan
from services.domain.precision import Precision


def apply(plan: Plan, config: Config) -> Config:
    """A copy of `config` with the settings of `plan`. Idempotent.

    A pipeline.config has neither micro-batch nor float16: they are in the attempt's spec.
    """
    # The backbone first: it decides which of the other settings exist.
    changed = set_backbone(config, catalogue.get(plan.model))
    changed = set_image_size(changed, plan.image_size)
    changed = set_batch_size(changed, plan.batch_size)
    changed = set_precision(changed, bfloat16=plan.precision is Precision.BFLOAT16)
    changed = set_schedule(changed, plan.steps, plan.learning_rate)
    if plan.proposals is not None or plan.second_stage_batch is not None:
        changed = set_proposals(changed, plan.proposals, plan.second_stage_batch)
    return changed


def plan_of(config: Config, micro_batch: int | None = None) -> Plan:
    """The plan of a checked configuration; without `micro_batch`, the whole batch at once."""
    two_stage = family_of(config) is not Family.EFFICIENTDET
    network, batch = config.model.faster_rcnn, int(config.train_config.batch_size)
    return Plan(
        model=identify(config),
        batch_size=batch,
        micro_batch=micro_batch or batch,
        precision=Precision.BFLOAT16 if config.train_config.use_bfloat16 else Precision.FLOAT32,
        image_size=image_size(config),
        steps=steps_of(config),
        learning_rate=peak_learning_rate(config),
        proposals=network.first_stage_max_proposals if two_stage else None,
        second_stage_batch=network.second_stage_batch_size if two_stage else None,
    )
