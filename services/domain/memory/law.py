"""The memory law: predicts the peak of a plan, with an interval.

    peak = the larger of   a x fixed + b x sums + c x pixels + d x boxes     (training, a micro-batch at a time)
                     and   the like for evaluation                           (one image through all proposals)

The parts come from the catalogue's priors. Measured points of the same model and precision correct the factors, see
`memory.fit`. All are positive, so the law grows with the micro-batch, the pixels and the proposals. It assumes the
catalogue's optimizer (one slot per weight). A GPU's convolution workspaces are in the interval, not in the figure.
"""

import enum
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from services.domain.catalogue import ImageSize
from services.domain.memory import prior
from services.domain.memory.fit import Estimate, Parts, fit
from services.domain.memory.gpu_limit import WORKSPACE_BYTES
from services.domain.memory.prior import Need
from services.domain.memory.shape import Shape
from services.domain.plan.plan import Plan
from services.domain.precision import Precision


@dataclass(frozen=True)
class _Spread:
    """An interval around a figure, as multiples of it."""

    below: float
    above: float

    def widened(self, other: "_Spread") -> "_Spread":
        return _Spread(min(self.below, other.below), max(self.above, other.above))


_PRIOR = _Spread(0.85, 1.15)  # for a model whose prior was measured
_EXTRAPOLATED = _Spread(0.60, 1.50)  # for one whose prior was not
_OTHER_PRECISION = _Spread(0.80, 1.25)  # measured, but in another precision
_OTHER_SOFTWARE = _Spread(0.88, 1.15)  # measured, but with another TensorFlow
_OTHER_CARD = _Spread(0.80, 1.30)  # measured, but on another kind of card, whose algorithms need other scratch memory
_UNSEEN_CARD = _Spread(0.75, 1.30)  # nothing measured on any card: the priors are from the CPU
_BRIEF = _Spread(0.96, 1.20)  # measured, but over few steps
_MEASURED = _Spread(0.96, 1.04)  # at least: equal attempts differ by up to 4 %
# Evaluation's boxes are one tensor of hundreds of MB, for which the allocator needs one free block: with 300 proposals
# and FPN it failed with 10 % to spare and succeeded with 15 %.
_EVALUATION = _Spread(0.90, 1.20)
_WIDEST = _Spread(0.50, 1.60)
# Standard deviations of the catalogue's factors: fixed, sums, pixels and boxes.
_DOUBT = (0.15, 0.60, 0.15, 0.15)
_EXTRAPOLATED_DOUBT = (0.35, 0.60, 0.35, 0.35)


class Source(enum.StrEnum):
    """What a prediction is made from, the most certain first."""

    MEASURED = "measured"  # two or more points of this model and precision
    SCALED = "scaled"  # one point, another precision or software, few steps, or only a failure
    CATALOGUE = "catalogue"  # nothing measured


@dataclass(frozen=True)
class Point:
    """A measured attempt: the peak of training (0: not known), and that of evaluation where it got so far.

    Where it is not `complete`, the attempt ran out, and the later of the two peaks is a lower bound (what was in use
    plus the request that failed).
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
    software: str | None = None  # None: the software that trains now
    hardware: str | None = None  # None: a slot, or any card
    brief: bool = False  # the peak was measured over few steps; more steps may need more

    @property
    def trained(self) -> bool:
        """Whether `peak_bytes` is the peak of training, not a bound."""
        return self.peak_bytes > 0 and (self.complete or self.evaluation_bytes is not None)

    @property
    def evaluated(self) -> bool:
        """Whether `evaluation_bytes` is the peak of evaluation, not a bound."""
        return self.complete and bool(self.evaluation_bytes)

    @classmethod
    def of(cls, plan: Plan, peak_bytes: int, *, complete: bool = True, evaluation_bytes: int | None = None) -> Self:
        """The point that an attempt under `plan` measured."""
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
    """Bytes. The peak is expected between `low` and `high`; where `high` is free, an attempt should fit.

    `points`: the number of measurements of the model behind it, without attempts that ran out.
    """

    bytes: int
    low: int
    high: int
    source: Source
    points: int = 0


def prediction_error(predicted: float | None, trained: float | None, evaluated: float | None) -> float | None:
    """(predicted - measured) / measured, for the higher of both peaks; None where one side is not known."""
    measured = max(trained or 0, evaluated or 0)
    return predicted / measured - 1 if predicted and measured else None


class MemoryLaw:
    """Predicts from `points`, whose order does not matter.

    Points of related models count only where the model itself has none, and only where they needed more than their
    prior. `software` and `hardware`: what will train. Points of others count only where there are none of these. Until
    the first point of a GPU's kind, the upper bound has room for a convolution's scratch memory.
    """

    def __init__(
        self,
        points: Iterable[Point] = (),
        software: str | None = None,
        hardware: str | None = None,
        *,
        on_gpu: bool = False,
    ) -> None:
        self._points = tuple(points)
        self._software = software
        self._hardware = hardware
        self._on_gpu = on_gpu
        self._fits: dict[tuple[str, Precision], _Fit] = {}

    def knowing(self, points: Iterable[Point]) -> "MemoryLaw":
        """A law with these points too."""
        return MemoryLaw((*self._points, *points), self._software, self._hardware, on_gpu=self._on_gpu)

    def predict(self, plan: Shape) -> Prediction:
        key = (plan.model, plan.precision)
        fit = self._fits.get(key)
        if fit is None:
            fit = self._fits[key] = self._fit(*key)
        return fit.predict(prior.need(plan))

    def _fit(self, model: str, precision: Precision) -> "_Fit":
        fit = _Fit.of_catalogue(model)
        of_model = [point for point in self._points if point.model == model]
        if self._on_gpu and not any(self._is_here(point) and point.trained for point in of_model):
            fit = fit.on_unseen_card()
        if not of_model:
            return self._like_relatives(fit, model, precision)
        counted: list[Point] = []
        for points, doubt in self._by_relevance(of_model, precision):
            if any(point.trained or point.evaluated for point in points):
                fit, counted = fit.knowing(points), []
                fit = fit if doubt is None else fit.less_sure(doubt)
            counted += points
        return fit.above([point for point in counted if not point.complete])

    def _by_relevance(
        self, points: Sequence[Point], precision: Precision
    ) -> Iterator[tuple[list[Point], "_Spread | None"]]:
        """The points in groups, the most relevant last, with the least interval for predictions from the group."""
        same = [point for point in points if point.precision is precision]
        yield [point for point in points if point.precision is not precision], _OTHER_PRECISION
        yield [point for point in same if not self._is_here(point)], _OTHER_CARD
        here = [point for point in same if self._is_here(point)]
        ours = [point for point in here if self._is_ours(point)]
        yield [point for point in here if not self._is_ours(point)], _OTHER_SOFTWARE
        yield [point for point in ours if point.brief], _BRIEF
        yield [point for point in ours if not point.brief], None

    def _is_ours(self, point: Point) -> bool:
        return None in (point.software, self._software) or point.software == self._software

    def _is_here(self, point: Point) -> bool:
        """Whether it was measured on this kind of card."""
        return None in (point.hardware, self._hardware) or point.hardware == self._hardware

    def _like_relatives(self, fit: "_Fit", model: str, precision: Precision) -> "_Fit":
        """Related networks exceed their priors for the same reasons, so the largest factor among them counts."""
        relatives = {point.model for point in self._points if prior.are_related(point.model, model)}
        fits = [self._fit(name, precision) for name in relatives]
        return replace(
            fit,
            training=fit.training.like_the_largest([other.training for other in fits]),
            evaluation=fit.evaluation.like_the_largest([other.evaluation for other in fits]),
        )


@dataclass(frozen=True)
class _Part:
    """Training or evaluation. The interval is the estimate's margin, at least `spread` and at most `_WIDEST`."""

    estimate: Estimate
    spread: _Spread

    def interval(self, parts: Parts) -> tuple[float, float, float]:
        """(low, figure, high). The figure and `high` grow with every part."""
        value, margin = self.estimate.value(parts), self.estimate.margin(parts)
        low = max(min(value * self.spread.below, value - margin), value * _WIDEST.below)
        high = min(max(value * self.spread.above, value + margin), value * _WIDEST.above)
        return low, value, high

    def fitted(self, measured: Sequence[tuple[Parts, int]], doubt: Parts, spread: _Spread) -> "_Part":
        """Corrected by measurements. Where they do not separate the parts, the proportions stay."""
        return _Part(fit(measured, self.estimate.factors, doubt), spread) if measured else self

    def like_the_largest(self, others: Iterable["_Part"]) -> "_Part":
        factors = (self.estimate.factors, *(other.estimate.factors for other in others))
        return replace(self, estimate=Estimate(tuple(map(max, zip(*factors, strict=True)))))

    def above(self, known: Iterable[tuple[Parts, int]]) -> "_Part":
        """Raised until it predicts at least what failed attempts are known to need."""
        factor = max((least / self.estimate.value(parts) for parts, least in known), default=1.0)
        return self if factor <= 1 else replace(self, estimate=self.estimate.times(factor))


@dataclass(frozen=True)
class _Fit:
    """The law of one model in one precision."""

    training: _Part
    evaluation: _Part
    doubt: Parts
    source: Source = Source.CATALOGUE
    ran_out: tuple[tuple[float, int], ...] = ()  # (predicted training need, bytes that it exceeded)
    points: int = 0
    scratch: int = 0  # bytes that a card may need beside what is predicted

    @classmethod
    def of_catalogue(cls, model: str) -> Self:
        is_measured = prior.of(model).measured
        spread = _PRIOR if is_measured else _EXTRAPOLATED
        as_it_says = Estimate((1.0,) * len(_DOUBT))
        return cls(
            training=_Part(as_it_says, spread),
            evaluation=_Part(as_it_says, spread.widened(_EVALUATION)),
            doubt=_DOUBT if is_measured else _EXTRAPOLATED_DOUBT,
        )

    def predict(self, need: Need) -> Prediction:
        low, training, high = self.training.interval(need.training)
        evaluation_low, evaluation, evaluation_high = self.evaluation.interval(need.evaluation)
        low, expected, high = max(low, evaluation_low), max(training, evaluation), max(high, evaluation_high)
        known = max((bound for at, bound in self.ran_out if training >= at), default=0)
        surely = min(max(low, known), expected)
        most = math.ceil(high) + self.scratch
        return Prediction(math.ceil(expected), math.ceil(surely), most, self.source, self.points)

    def knowing(self, points: Sequence[Point]) -> "_Fit":
        """Corrected by measurements."""
        trained = [(prior.need(point).training, point.peak_bytes) for point in points if point.trained]
        evaluated = [(prior.need(point).evaluation, point.evaluation_bytes or 0) for point in points if point.evaluated]
        places = {parts for parts, _ in trained}
        return replace(
            self,
            training=self.training.fitted(trained, self.doubt, _MEASURED),
            evaluation=self.evaluation.fitted(evaluated, self.doubt, _EVALUATION),
            source=Source.MEASURED if len(places) > 1 else Source.SCALED,
            points=sum(point.trained or point.evaluated for point in points),
        )

    def on_unseen_card(self) -> "_Fit":
        return replace(
            self,
            training=replace(self.training, spread=self.training.spread.widened(_UNSEEN_CARD)),
            scratch=WORKSPACE_BYTES,
        )

    def less_sure(self, spread: "_Spread") -> "_Fit":
        return replace(
            self,
            training=replace(self.training, spread=self.training.spread.widened(spread)),
            source=Source.SCALED,
        )

    def above(self, bounds: Sequence[Point]) -> "_Fit":
        """Raised to what failed attempts are known to need."""
        evaluating = [point for point in bounds if point.evaluation_bytes is not None]
        training = [(prior.need(p).training, p.peak_bytes) for p in bounds if p.evaluation_bytes is None]
        raised = replace(
            self,
            training=self.training.above(training),
            evaluation=self.evaluation.above([(prior.need(p).evaluation, p.evaluation_bytes or 0) for p in evaluating]),
        )
        return replace(
            raised,
            source=self.source if raised == self else Source.SCALED,
            ran_out=tuple((raised.training.estimate.value(parts), known) for parts, known in training),
        )
