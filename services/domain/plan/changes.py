"""The differences between two plans, field by field, as sentences for people.

Each says what changed, why, and what it costs the result. A change back towards what was asked for costs nothing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from services.domain import catalogue
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever
from services.domain.precision import Precision


@dataclass(frozen=True)
class Change:
    """One field of a plan, or an adjustment beside it (no lever). `reason` is the whole sentence.

    `what`, `why` and `cost` are its parts; None where the sentence was not made of parts.
    """

    lever: Lever | None
    field: str
    before: str
    after: str
    reason: str
    what: str | None = None
    why: str | None = None
    cost: str | None = None


_LEVER_OF = {
    "micro_batch": Lever.MICRO_BATCH,
    "precision": Lever.PRECISION,
    "proposals": Lever.PROPOSALS,
    "second_stage_batch": Lever.PROPOSALS,
    "image_size": Lever.IMAGE_SIZE,
    "model": Lever.BACKBONE,
    "batch_size": Lever.BATCH_SIZE,
    "steps": Lever.BATCH_SIZE,
    "learning_rate": Lever.BATCH_SIZE,
}


def changes(before: Plan, after: Plan, why: str) -> tuple[Change, ...]:
    """Every field that differs. `why` is a clause for each reason: what was predicted, what ran out."""
    found = []
    for field, lever in _LEVER_OF.items():
        old, new = getattr(before, field), getattr(after, field)
        if old == new:
            continue
        if field == "micro_batch" and before.batch_size != after.batch_size:
            lever = Lever.BATCH_SIZE  # another batch has other pieces: the batch lever is the cause
        what, cost = _SENTENCES[field](before, after), _cost_of(field, before, after)
        sentence = with_cost(f"{what}: {why}", cost)
        found.append(Change(lever, field, in_words(old), in_words(new), sentence, what, why, cost or None))
    return tuple(found)


def outside_config(before: Plan, after: Plan) -> list[str]:
    """The fields that differ and that a pipeline.config does not show: it has no micro-batch and no float16."""
    found = ["micro_batch"] if before.micro_batch != after.micro_batch else []
    precisions = {before.precision, after.precision}
    return [*found, "precision"] if len(precisions) > 1 and Precision.FLOAT16 in precisions else found


def in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[0]}×{value[1]}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def describe(before: Plan, after: Plan) -> str:
    """The differences as one clause: "micro-batch 4, image 512×512"; "as asked" where there are none."""
    return ", ".join(settings(after)[lever] for lever in pulled(before, after)) or "as asked"


def pulled(before: Plan, after: Plan) -> list[Lever]:
    """The levers that differ between the two."""
    found = (change.lever for change in changes(before, after, ""))
    return list(dict.fromkeys(lever for lever in found if lever is not None))


def costs(before: Plan, after: Plan) -> str:
    """What the change costs the result, as one clause; "" where it costs nothing."""
    return ", ".join(filter(None, (_cost_of(field, before, after) for field in _LEVER_OF)))


def with_cost(sentence: str, cost: str) -> str:
    return f"{sentence}; cost: {cost}" if cost else sentence


def settings(plan: Plan) -> Mapping[Lever, str]:
    """The value of each lever, as a phrase."""
    pieces = f" in pieces of {plan.micro_batch}" if plan.accumulation > 1 else ""
    return {
        Lever.MICRO_BATCH: f"micro-batch {plan.micro_batch}",
        Lever.PRECISION: f"precision {plan.precision}",
        Lever.PROPOSALS: f"{plan.proposals} proposals, {plan.second_stage_batch} of them for training",
        Lever.IMAGE_SIZE: f"image {in_words(plan.image_size)}",
        Lever.BACKBONE: f"backbone {_backbone(plan)}",
        Lever.BATCH_SIZE: f"batch {plan.batch_size}{pieces}",
    }


def _backbone(plan: Plan) -> str:
    return catalogue.get(plan.model).backbone


def _micro_batch(before: Plan, after: Plan) -> str:
    kept = "is kept and" if before.batch_size == after.batch_size else "is"
    how = f"in pieces of {after.micro_batch}" if after.accumulation > 1 else "at once"
    return f"batch {after.batch_size} {kept} computed {how}"


def _precision(before: Plan, after: Plan) -> str:
    if after.precision is not Precision.FLOAT32:
        return f"activations are kept in {after.precision}, weights stay in float32"
    return "activations are kept in float32 again"


def _image_size(before: Plan, after: Plan) -> str:
    return f"images are scaled to {in_words(after.image_size)} instead of {in_words(before.image_size)}"


def _model(before: Plan, after: Plan) -> str:
    return f"the backbone changes from {_backbone(before)} to {_backbone(after)} and is trained from the start"


def _batch(before: Plan, after: Plan) -> str:
    return f"the batch size changes from {before.batch_size} to {after.batch_size}"


def _follows_batch(before: Plan, after: Plan) -> str:
    return f"adapted to the batch size of {after.batch_size}, so that training sees as many images"


def _proposals(before: Plan, after: Plan) -> str:
    return f"the second stage looks at {after.proposals} proposals an image instead of {before.proposals}"


def _second_stage(before: Plan, after: Plan) -> str:
    return (
        f"the second stage trains on {after.second_stage_batch} proposals an image "
        f"instead of {before.second_stage_batch}"
    )


def _cost_of(field: str, before: Plan, after: Plan) -> str:
    cost = _COSTS.get(field)
    return cost(before, after) if cost and getattr(before, field) != getattr(after, field) else ""


def _cost_of_pieces(before: Plan, after: Plan) -> str:
    """For smaller pieces of the same batch: each update still sees as many images, at the same learning rate."""
    if after.micro_batch > before.micro_batch or after.batch_size != before.batch_size:
        return ""
    images = "1 image" if after.micro_batch == 1 else f"{after.micro_batch} images"
    return f"steps take longer, and batch normalisation sees {images} at a time"


def _cost_of_rounding(before: Plan, after: Plan) -> str:
    rounded = "activations are rounded, which may change the result slightly"
    if after.precision is Precision.FLOAT16:
        return f"{rounded}, and updates that overflow are skipped"
    return rounded if after.precision is Precision.BFLOAT16 else ""


def _cost_of_fewer_proposals(before: Plan, after: Plan) -> str:
    fewer = (after.proposals or 0) < (before.proposals or 0)
    return "fewer regions are examined, so objects in crowded images may be missed" if fewer else ""


def _cost_of_a_smaller_sample(before: Plan, after: Plan) -> str:
    fewer = (after.second_stage_batch or 0) < (before.second_stage_batch or 0)
    return "the second stage learns from fewer proposals a step" if fewer else ""


def _cost_of_smaller_images(before: Plan, after: Plan) -> str:
    smaller = math.prod(after.image_size) < math.prod(before.image_size)
    return "small objects get harder to find" if smaller else ""


def _cost_of_another_network(before: Plan, after: Plan) -> str:
    return "a smaller network, usually less accurate, and the weights learnt so far are lost"


def _cost_of_a_smaller_batch(before: Plan, after: Plan) -> str:
    return "noisier updates, and more of them" if after.batch_size < before.batch_size else ""


_COSTS: Mapping[str, Callable[[Plan, Plan], str]] = {
    "micro_batch": _cost_of_pieces,
    "precision": _cost_of_rounding,
    "proposals": _cost_of_fewer_proposals,
    "second_stage_batch": _cost_of_a_smaller_sample,
    "image_size": _cost_of_smaller_images,
    "model": _cost_of_another_network,
    "batch_size": _cost_of_a_smaller_batch,
}

_SENTENCES: Mapping[str, Callable[[Plan, Plan], str]] = {
    "micro_batch": _micro_batch,
    "precision": _precision,
    "proposals": _proposals,
    "second_stage_batch": _second_stage,
    "image_size": _image_size,
    "model": _model,
    "batch_size": _batch,
    "steps": _follows_batch,
    "learning_rate": _follows_batch,
}
