"""Measure the errors of the memory law on a grid of real attempts, of which it knows few.

    python benchmarks/memory_prediction.py --save points.jsonl    # about an hour on two cores; continues an earlier run
    python benchmarks/memory_prediction.py --points               # at once, from benchmarks/points.jsonl

Each case is a real attempt of ten steps on a CPU slot with TensorFlow's GPU allocator. The law predicts from the
catalogue alone; with one point of each model and precision; with two, as a probe measures; and with a third one of
larger images. It is judged by the other cases. The measured value is the larger peak of training and evaluation.
Evaluation uses one image at a time, so it is measured once for each model, image size and number of proposals, with and
without accumulation; for EfficientDet, where it takes a third of the smallest step, only once. `!` marks a value above
the predicted range: an attempt that was predicted to fit would have run out.

The catalogue's numbers come from attempts like some of these, of three steps and from another day. Those of
EfficientDet-D0 and D1 were then adjusted towards the first cases here, so the column `catalogue` does not test them. A
peak is the largest of the steps that ran: EfficientDet-D0 with two images of 256² had a peak of 475 MB after three
steps, and of 539 MB after six and after forty.
"""

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.memory_points import Measured, case, measure
from services.datasets import shapes
from services.domain import catalogue
from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.plan import Plan

POINTS = Path(__file__).with_name("points.jsonl")
D0, D1 = "efficientdet_d0", "efficientdet_d1"
FASTER, MASK = "faster_rcnn_resnet50_fpn", "mask_rcnn_resnet50_fpn"
SEEN = (  # for each model and precision; the law knows the first, the first two, or all three
    (case(D0, 256, 1), case(D0, 256, 2), case(D0, 384, 2)),
    (case(D0, 256, 2, precision="bfloat16"), case(D0, 256, 4, precision="bfloat16")),
    (case(D1, 256, 1), case(D1, 256, 2), case(D1, 384, 2)),
    (case(FASTER, 256, 1), case(FASTER, 256, 2), case(FASTER, 320, 2)),
    (case(MASK, 256, 1), case(MASK, 256, 2), case(MASK, 320, 1)),
)
JUDGED = (
    case(D0, 256, 4),
    case(D0, 256, 8),
    case(D0, 256, 2, accumulation=2),
    case(D0, 256, 4, accumulation=2),
    case(D0, 384, 1),
    case(D0, 384, 4),
    case(D0, 512, 1),
    case(D0, 512, 2),
    case(D0, 256, 8, precision="bfloat16"),
    case(D0, 384, 2, precision="bfloat16"),
    case(D1, 256, 4),
    case(D1, 256, 2, accumulation=2),
    case(D1, 384, 1),
    case(FASTER, 256, 4),
    case(FASTER, 256, 1, accumulation=2),
    case(FASTER, 256, 2, accumulation=2),
    case(FASTER, 256, 2, proposals=64, second_stage_batch=32),
    case(FASTER, 320, 1),
    case(FASTER, 384, 1),
    case(FASTER, 384, 2),
    case(FASTER, 512, 1),
    case(MASK, 256, 4),
    case(MASK, 256, 1, accumulation=2),
    case(MASK, 256, 2, proposals=64, second_stage_batch=32),
    case(MASK, 384, 1),
    case(MASK, 384, 2),
)
GRID = tuple(plan for plans in SEEN for plan in plans) + JUDGED
KNOWING = {"catalogue": 0, "one point": 1, "two points": 2, "three points": 3}


class Results:
    """The measurements so far."""

    def __init__(self, measured: Iterable[Measured]) -> None:
        self._of = {result.plan: result for result in measured}
        self._evaluations = {
            self._evaluated(plan): result.evaluation_peak
            for plan, result in self._of.items()
            if result.evaluation_peak is not None
        }

    @classmethod
    def read(cls, path: Path) -> "Results":
        return cls(Measured.from_json(line) for line in path.read_text().splitlines()) if path.exists() else cls([])

    def __contains__(self, plan: Plan) -> bool:
        return plan in self._of

    def lacks_evaluation(self, plan: Plan) -> bool:
        return self._evaluated(plan) not in self._evaluations

    def point(self, plan: Plan) -> Point:
        result = self._of[plan]
        return Point.of(plan, result.peak, evaluation_bytes=result.evaluation_peak)

    def peak(self, plan: Plan) -> int:
        return max(self._of[plan].peak, self._evaluations.get(self._evaluated(plan), 0))

    def origin(self) -> str:
        """The software and the date of the measurements."""
        return ", ".join(sorted({f"{result.software} on {result.date}" for result in self._of.values()}))

    @staticmethod
    def _evaluated(plan: Plan) -> tuple[object, ...]:
        if plan.proposals is None:
            return (plan.model.split("_")[0],)
        return plan.model, plan.precision, plan.image_size, plan.proposals, plan.accumulation > 1


@dataclass(frozen=True)
class Judgement:
    """One prediction compared with the measured value."""

    family: str
    knowing: str
    error: float  # relative to the measured value
    width: float  # of the interval's upper half, relative to the prediction
    dangerous: bool
    inside: bool  # within the interval

    def __format__(self, spec: str) -> str:
        return format(f"{self.error:+.1%}{'!' if self.dangerous else ' '}", spec)


def judge(results: Results, plan: Plan, knowing: str) -> Judgement | None:
    """None if the law knows the case itself."""
    told = [seen for plans in SEEN for seen in plans[: KNOWING[knowing]] if seen in results]
    if plan in told:
        return None
    prediction = MemoryLaw(results.point(seen) for seen in told).predict(plan)
    peak = results.peak(plan)
    return Judgement(
        family=str(catalogue.get(plan.model).family),
        knowing=knowing,
        error=prediction.bytes / peak - 1,
        width=prediction.high / prediction.bytes - 1,
        dangerous=peak > prediction.high,
        inside=prediction.low <= peak <= prediction.high,
    )


def table(results: Results) -> None:
    """Print a line for each judged case, then the totals. MB of 10^6 bytes."""
    print(f"measured with {results.origin()}; errors of the prediction in per cent of what was measured")
    print(f"{'model':26} {'image':>5} {'batch':>6} {'boxes':>8} {'precision':9}", end="")
    print(f"{'MB':>7} " + "".join(f"{knowing:>14}" for knowing in KNOWING))
    found: list[Judgement] = []
    for plan in GRID:
        if plan in results:
            judged = [judge(results, plan, knowing) for knowing in KNOWING]
            found += filter(None, judged)
            batch = f"{plan.accumulation}×{plan.micro_batch}"
            boxes = f"{plan.proposals}/{plan.second_stage_batch}" if plan.proposals else ""
            print(f"{plan.model:26} {plan.image_size[0]:5} {batch:>6} {boxes:>8} {plan.precision:9}", end="")
            print(f"{results.peak(plan) / 1e6:7.0f} " + "".join(f"{judgement or 'told ':>14}" for judgement in judged))
    for family in sorted({judgement.family for judgement in found}):
        totals(family, [judgement for judgement in found if judgement.family == family])
    totals("all", found)


def totals(name: str, found: Sequence[Judgement]) -> None:
    print(f"\n{name}: |error| median, 95th percentile, worst; dangerous; inside the interval; its upper half")
    for knowing in KNOWING:
        of = [judgement for judgement in found if judgement.knowing == knowing]
        if not of:
            continue
        errors = sorted(abs(judgement.error) for judgement in of)
        percentile = errors[math.ceil(0.95 * len(errors)) - 1]
        dangerous = sum(judgement.dangerous for judgement in of)
        width = statistics.median(judgement.width for judgement in of)
        print(f"  {knowing:14} {statistics.median(errors):6.1%} {percentile:6.1%} {errors[-1]:6.1%}", end="")
        inside = sum(judgement.inside for judgement in of)
        print(f"   {dangerous} of {len(of)} ({dangerous / len(of):.0%})   {inside} of {len(of)}   {width:+.1%}")


def missing(path: Path) -> Iterator[Measured]:
    """Train the cases that the file lacks, one by one."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = shapes.generate(Path(folder, "shapes"), train=16, validation=2)
        for number, plan in enumerate(GRID):
            results = Results.read(path)
            if plan not in results:
                yield measure(plan, dataset, Path(folder, str(number)), evaluate=results.lacks_evaluation(plan))


def main() -> None:
    options = _options()
    if options.save:
        for result in missing(options.save):
            print(f"{result.plan}: {result.peak / 1e6:.0f} MB in {result.seconds:.0f} s", flush=True)
            with options.save.open("a") as file:
                file.write(result.to_json() + "\n")
    table(Results.read(options.save or options.points))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=Path, nargs="?", const=POINTS, default=POINTS, help="print from this file")
    parser.add_argument("--save", type=Path, help="measure what this file does not have, add it, and print from it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
