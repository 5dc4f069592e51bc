"""Plans and a memory law for tests of the planner."""

import dataclasses
from typing import Any

from services.domain.memory.law import MemoryLaw
from services.domain.plan.plan import Plan
from services.domain.precision import Precision

GB = 2**30
LAW = MemoryLaw()  # without measurements
D0 = Plan(
    model="efficientdet_d0",
    batch_size=16,
    micro_batch=16,
    precision=Precision.FLOAT32,
    image_size=(512, 512),
    steps=1000,
    learning_rate=0.01,
)
R101 = dataclasses.replace(
    D0, model="faster_rcnn_resnet101_fpn", image_size=(640, 640), proposals=300, second_stage_batch=64
)


def but(plan: Plan, **changes: Any) -> Plan:
    """`plan` with some settings changed."""
    return dataclasses.replace(plan, **changes)


def need(plan: Plan) -> int:
    """The smallest capacity that `plan` fits by prediction."""
    return LAW.predict(plan).high
