"""The memory law: what a plan will need at its peak, and how sure that is.

    peak = the larger of   a x fixed + sums + b x images     (training; images = micro_batch x what one image needs)
                     and   e x evaluation                    (one image through all proposals)

The shape comes from the catalogue's priors; measured points of the very model and precision correct a, b and e. All of
them are positive, so the law grows with the micro-batch, the pixels and the proposals. The optimizer is taken to be the
catalogue's (one slot per weight), and a GPU's convolution workspaces are inside the interval, not in the figure.
"""

import enum
import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

from services.domain import memory_prior
from services.domain.catalogue import ImageSize
from services.domain.memory_prior import Need
from services.domain.plans import Plan, Precision

_PRIOR = (0.85, 1.15)  # of a model that was measured
_EXTRAPOLATED = (0.60, 1.50)  # of one that was not
_OTHER_PRECISION = (0.80, 1.25)  # measured, but in the other precision
_ONE_POINT = 0.10
_SEVERAL_POINTS = 0.06  # at least, as equal attempts differ by up to 4 %; twice the worst residual where that is more
# Evaluation's boxes are one tensor of hundreds of MB, which an allocator must find in one piece: with 300 proposals
# and FPN it failed with 10 % to spare and succeeded with 15 %.
_EVALUATION = (0.90, 1.20)
_PER_DOUBLING = 0.03  # beyond the largest measured point
_MOST_BEYOND = 0.30


class Source(enum.StrEnum):
    """Where a prediction comes from, the surest first."""

    MEASURED = "measured"  # two or more points of this model and precision
    SCALED = "scaled"  # one point, the other precision, or only that it ran out
    CATALOGUE = "catalogue"  # nothing measured


class Shape(Protocol):
    """The settings of a plan that decide its memory."""

    @property
    def model(self) -> str: ...
    @property
    def precision(self) -> Precision: ...
    @property
    def micro_batch(self) -> int: ...
    @property
    def accumulation(self) -> int: ...
    @property
    def image_size(self) -> ImageSize: ...
    @property
    def proposals(self) -> int | None: ...
    @property
    def second_stage_batch(self) -> int | None: ...


@dataclass(frozen=True)
class Point:
    """A measured attempt: training's peak (0: not known), and evaluation's where it got that far.

    `complete` False: the attempt ran out, and the last of the two figures is only a lower bound (what was in use and
    the request that failed).
    """

    model: str
    precision: Precision
    micro_batch: int
    image_size: ImageSize
    proposals: int | None
    peak_bytes: int
    complete: bool = True
    second_stage_batch: int | None = None
    accumulation: int = 1
    evaluation_bytes: int | None = None

    @classmethod
    def of(cls, plan: Plan, peak_bytes: int, *, complete: bool = True, evaluation_bytes: int | None = None) -> Self:
        """The point that an attempt under `plan` has measured."""
        return cls(
            model=plan.model,
            precision=plan.precision,
            micro_batch=plan.micro_batch,
            image_size=plan.image_size,
            proposals=plan.proposals,
            peak_bytes=peak_bytes,
            complete=complete,
            second_stage_batch=plan.second_stage_batch,
            accumulation=plan.accumulation,
            evaluation_bytes=evaluation_bytes,
        )


@dataclass(frozen=True)
class Prediction:
    """Bytes; the peak is expected between `low` and `high`, and an attempt to run where `high` is free.

    `points`: how many measurements of the model it rests on; attempts that ran out, which only bound it, not counted.
    """

    bytes: int
    low: int
    high: int
    source: Source
    points: int = 0


class MemoryLaw:
    """Predicts from `points`. Those of relatives only count where nothing is known of the model itself, and only
    where they needed more than the prior says. Same points, same predictions."""

    def __init__(self, points: Iterable[Point] = ()) -> None:
        self._points = tuple(points)
        self._fits: dict[tuple[str, Precision], _Fit] = {}

    def knowing(self, points: Iterable[Point]) -> "MemoryLaw":
        """This law with further points."""
        return MemoryLaw((*self._points, *points))

    def predict(self, plan: Shape) -> Prediction:
        key = (plan.model, plan.precision)
        fit = self._fits.get(key)
        if fit is None:
            fit = self._fits[key] = self._fit(*key)
        return fit.predict(memory_prior.need(plan))

    def _fit(self, model: str, precision: Precision) -> "_Fit":
        of_model = [point for point in self._points if point.model == model]
        if not of_model:
            return self._like_relatives(model)
        of_both = [point for point in of_model if point.precision is precision]
        if any(point.complete for point in of_both):
            return _fit(model, of_both)
        fit = _fit(model, of_model)
        return fit.in_another_precision() if any(point.complete for point in of_model) else fit

    def _like_relatives(self, model: str) -> "_Fit":
        """What makes one network of a ladder larger than predicted makes the next one larger too."""
        fit = _fit(model, ())
        relatives = {point.model for point in self._points if memory_prior.are_related(point.model, model)}
        fits = [_fit(name, [point for point in self._points if point.model == name]) for name in relatives]
        return replace(
            fit,
            fixed=max([1.0, *(other.fixed for other in fits)]),
            images=max([1.0, *(other.images for other in fits)]),
            evaluation=max([1.0, *(other.evaluation for other in fits)]),
        )


@dataclass(frozen=True)
class _Spread:
    """An interval around a figure, as factors of it."""

    below: float
    above: float

    @classmethod
    def both_ways(cls, share: float) -> Self:
        return cls(1 - share, 1 + share)

    def widened(self, below: float, above: float) -> "_Spread":
        return _Spread(min(self.below, below), max(self.above, above))


@dataclass(frozen=True)
class _Fit:
    """The law of one model in one precision."""

    fixed: float  # a: factors of the prior's parts
    images: float  # b
    evaluation: float  # e
    spread: _Spread
    evaluation_spread: _Spread
    source: Source
    largest: float = math.inf  # the prior's `images` of the largest measured point
    ran_out: tuple[tuple[float, int], ...] = ()  # (training need, bytes it is known to exceed)
    points: int = 0

    def training(self, need: Need) -> float:
        return self.fixed * need.fixed + need.sums + self.images * need.images

    def predict(self, need: Need) -> Prediction:
        training, evaluation = self.training(need), self.evaluation * need.evaluation
        low = max(training * self.spread.below, evaluation * self.evaluation_spread.below)
        high = max(training * (self.spread.above + self._beyond(need)), evaluation * self.evaluation_spread.above)
        expected = max(training, evaluation)
        known = max((bound for at, bound in self.ran_out if training >= at), default=0)
        surely = min(max(low, known), expected)
        return Prediction(math.ceil(expected), math.ceil(surely), math.ceil(high), self.source, self.points)

    def _beyond(self, need: Need) -> float:
        if need.images <= self.largest:
            return 0.0
        return min(_MOST_BEYOND, _PER_DOUBLING * math.log2(need.images / self.largest))

    def in_another_precision(self) -> "_Fit":
        return replace(self, spread=self.spread.widened(*_OTHER_PRECISION), source=Source.SCALED)


def _fit(model: str, points: Sequence[Point]) -> _Fit:
    prior = _Spread(*(_PRIOR if memory_prior.of(model).measured else _EXTRAPOLATED))
    fit = _Fit(1.0, 1.0, 1.0, prior, prior.widened(*_EVALUATION), Source.CATALOGUE)
    whole = [point for point in points if point.complete or point.evaluation_bytes is not None]
    trained = [(memory_prior.need(point), point.peak_bytes) for point in whole if point.peak_bytes]
    if trained:
        fit = _through_several(fit, trained) or _through_one(fit, trained)
    evaluated = [(memory_prior.need(p), p.evaluation_bytes) for p in points if p.complete and p.evaluation_bytes]
    if evaluated:
        ratios = [peak / need.evaluation for need, peak in evaluated]
        fit = replace(fit, evaluation=max(ratios), evaluation_spread=_Spread(*_EVALUATION))
    short = [point for point in points if not point.complete]
    fit = functools.reduce(_lift, short, fit)
    bounds = [(memory_prior.need(p), p.peak_bytes) for p in short if p.evaluation_bytes is None]
    count = sum(point.complete or point.peak_bytes > 0 for point in whole)
    return replace(fit, ran_out=tuple((fit.training(need), known) for need, known in bounds), points=count)


def _through_one(fit: _Fit, trained: Sequence[tuple[Need, int]]) -> _Fit:
    """Both parts in proportion: one point cannot tell them apart. The most demanding of several near points."""
    factor = max(max(peak - need.sums, 1) / (need.fixed + need.images) for need, peak in trained)
    return replace(
        fit,
        fixed=factor,
        images=factor,
        spread=_Spread.both_ways(_ONE_POINT),
        source=Source.SCALED,
        largest=max(need.images for need, _ in trained),
    )


def _through_several(fit: _Fit, trained: Sequence[tuple[Need, int]]) -> _Fit | None:
    """Least squares; None where the points are too close together or do not lie on a rising line above zero."""
    across = [need.images for need, _ in trained]
    up = [peak - need.sums for need, peak in trained]
    if max(across) < 1.2 * min(across):
        return None
    middle, height = sum(across) / len(across), sum(up) / len(up)
    slope = sum((x - middle) * (y - height) for x, y in zip(across, up, strict=True)) / sum(
        (x - middle) ** 2 for x in across
    )
    intercept = height - slope * middle
    if slope <= 0 or intercept <= 0:
        return None
    found = replace(fit, fixed=intercept / trained[0][0].fixed, images=slope, source=Source.MEASURED)
    worst = max(abs(found.training(need) / peak - 1) for need, peak in trained)
    spread = _Spread.both_ways(min(max(_SEVERAL_POINTS, 2 * worst), 0.5))
    return replace(found, spread=spread, largest=max(across))


def _lift(fit: _Fit, point: Point) -> _Fit:
    """The law raised until it says at least what an attempt that ran out is known to need."""
    need = memory_prior.need(point)
    if point.evaluation_bytes is not None:
        known, said = point.evaluation_bytes, fit.evaluation * need.evaluation
        return fit if said >= known else replace(fit, evaluation=fit.evaluation * known / said, source=Source.SCALED)
    known, said = point.peak_bytes, fit.training(need)
    if said >= known:
        return fit
    factor = (known - need.sums) / (said - need.sums)
    return replace(fit, fixed=fit.fixed * factor, images=fit.images * factor, source=Source.SCALED)


def gigabytes(count: int) -> str:
    """For people: "1.92 GB"; binary, as memory is sold."""
    amount = count / 2**30
    return f"{amount:.2f} GB" if amount < 10 else f"{amount:.1f} GB"
