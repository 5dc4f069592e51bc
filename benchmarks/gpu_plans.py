"""First plans for real cards: how many are predicted above what TensorFlow would give, and how much of it they use.

    python -m benchmarks.gpu_plans

For each card: every model of the catalogue, five image sizes and six batch sizes, planned for the card as Downshift
plans it before anything was measured there. What TensorFlow gives is computed from figures that are not ours: what a
card has free, the size of CUDA's context as public logs show it, and TensorFlow's own reserve.
"""

import argparse
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from services.domain import catalogue
from services.domain.memory.gpu_limit import limit_of_whole
from services.domain.memory.law import MemoryLaw
from services.domain.plan.plan import Plan, PlanError
from services.domain.plan.policy import Policy
from services.domain.planner.decision import Decision
from services.domain.planner.first_plan import first_plan
from services.domain.planner.request import PlanRequest
from services.domain.precision import Precision

MB = 2**20
SIZES = (256, 512, 640, 896, 1024)
BATCHES = (1, 2, 4, 8, 16, 64)


@dataclass(frozen=True)
class Card:
    """In MB. `driver`: held by the driver of an empty card. `context`: CUDA's, in a process that trains."""

    name: str
    total: int
    capability: tuple[int, int]
    driver: int
    context: int
    display: int = 0

    def given(self) -> int:
        """The bytes that TensorFlow's allocator may have there."""
        available = self.total - self.driver - self.display - self.context
        reserve = 225 if available < 2048 else {6: 500, 7: 1050, 8: 1536}.get(max(6, self.capability[0]), 1800)
        return max(0, available - reserve) * MB


CARDS = [
    Card("GTX 980 4 GB", 4096, (5, 2), 60, 120),
    Card("GTX 1050 Ti 4 GB", 4096, (6, 1), 60, 140),
    Card("RTX 3050 4 GB", 4096, (8, 6), 190, 250),
    Card("GTX 1060 6 GB", 6144, (6, 1), 70, 160),
    Card("RTX 2060 6 GB", 6144, (7, 5), 190, 180),
    Card("RTX 3060 6 GB", 6144, (8, 6), 200, 283),
    Card("RTX 2080 8 GB", 8192, (7, 5), 200, 190),
    Card("RTX 3070 8 GB", 8192, (8, 6), 230, 300),
    Card("RTX 4060 8 GB", 8192, (8, 9), 290, 300),
    Card("RTX 5060 8 GB", 8192, (12, 0), 300, 350),
    Card("GTX 1080 Ti 11 GB", 11264, (6, 1), 86, 187),
    Card("RTX 3060 12 GB", 12288, (8, 6), 240, 300),
    Card("T4 16 GB", 15360, (7, 5), 251, 110),
    Card("V100 16 GB", 16384, (7, 0), 224, 353),
    Card("RTX 4080 16 GB", 16376, (8, 9), 290, 350),
    Card("RTX 3090 24 GB", 24576, (8, 6), 308, 442),
    Card("A100 40 GB", 40960, (8, 0), 424, 480),
    Card("A100 40 GB, MIG 1g.5gb", 4864, (8, 0), 40, 200),
    Card("A6000 48 GB", 49140, (8, 6), 450, 276),
    Card("H100 80 GB", 81559, (9, 0), 560, 500),
]
DESKTOPS = [
    dataclasses.replace(card, name=f"{card.name}, desktop", display=400) for card in CARDS if card.total < 17_000
]


@dataclass(frozen=True)
class Result:
    card: Card
    planned: int  # first plans that are said to fit
    above: int  # of them, predicted above what TensorFlow gives
    high_above: int  # of them, with their upper bound above it
    may_fit: int  # the smallest plan where none is sure to fit: tried, and said so
    used: float  # mean share of what TensorFlow gives that plans with more than one image at once use


def plans() -> Iterator[Plan]:
    for model in catalogue.MODELS.values():
        for size in SIZES:
            for batch in BATCHES:
                try:
                    yield Plan(model.name, batch, batch, Precision.FLOAT32, (size, size), 1000, 0.01)
                except PlanError:  # a size that the model does not take
                    continue


def measure(card: Card) -> Result:
    capacity = limit_of_whole(card.total * MB, card.capability, display=card.display * MB)
    given, law = card.given(), MemoryLaw(on_gpu=True)
    planned = above = high_above = may_fit = 0
    shares = []
    for asked in plans():
        decision = first_plan(PlanRequest(asked, Policy(), law), capacity)
        if not isinstance(decision, Decision):
            continue
        if decision.prediction.high > capacity:
            may_fit += 1
            continue
        planned += 1
        above += decision.prediction.bytes > given
        high_above += decision.prediction.high > given
        if decision.plan.micro_batch < asked.batch_size:
            shares.append(decision.prediction.bytes / given)
    return Result(card, planned, above, high_above, may_fit, sum(shares) / len(shares) if shares else 0.0)


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    heads = ("plans", "above", "upper", "may fit", "used")
    print(f"{'card':34} {'gives':>8} {'planned for':>11}", *(f"{head:>7}" for head in heads))
    for card in [*CARDS, *DESKTOPS]:
        found = measure(card)
        capacity = limit_of_whole(card.total * MB, card.capability, display=card.display * MB)
        print(
            f"{card.name:34} {card.given() // MB:5} MB {capacity // MB:8} MB {found.planned:7} {found.above:7} "
            f"{found.high_above:7} {found.may_fit:7} {found.used:7.0%}"
        )


if __name__ == "__main__":
    main()
