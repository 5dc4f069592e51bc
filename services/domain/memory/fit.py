"""A sum of known parts, each times an unknown factor, fitted to few measurements of which some may be absurd.

    measured ~ factor_1 x part_1 + factor_2 x part_2 + …       with an error in proportion

Before anything is measured a factor is thought to be near its `centre`. What all measurements say in common moves every
factor, what they say of one part moves that one: so one measurement scales the whole, two make a line, and many make
the centre forgotten. Measurements far from what the others agree on do not count, unless there are too many of them.
"""

import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Estimate", "Parts", "fit"]

Parts = tuple[float, ...]

_SURE = 2.0  # standard deviations on either side
_ERROR = 0.02  # of one measurement: equal attempts differ by up to 4 % from each other
_ERROR_WEIGHT = 4.0  # in measurements: how many it takes to believe in another error than that
_ABSURD = 0.25  # off what the others say; more where they do not agree themselves
_FEW = 0.2  # the share of the places that may be called absurd; more than that is another opinion
# A measured peak is the largest of the steps that were looked at, and a low one may be of an attempt that had few:
# EfficientDet-D0 at 256² came to 475 MB in three steps and to 539 in six, then stayed there.
_LOW, _HIGH = 0.5, 1.5  # the weight of those below the estimate, and above
_HIT = 1e-3  # nearer than this is neither: else rounding decided how sure a single measurement makes
_LEAST = 0.3  # of its centre: what a part costs at least
_ROUNDS = 12  # later ones change nothing that counts


@dataclass(frozen=True)
class Estimate:
    """`covariance` is that of the factors, `error` that of a measurement around the sum, as a share of it."""

    factors: Parts
    covariance: tuple[Parts, ...] = ()
    error: float = 0.0

    def value(self, parts: Parts) -> float:
        return _product(self.factors, parts)

    def margin(self, parts: Parts) -> float:
        """How far a measurement to come may be off. `value` plus this never falls where a part grows: along any one of
        them it changes by less than `_SURE` deviations of its factor, and `fit` keeps those below the factor."""
        of_factors = _product([_product(row, parts) for row in self.covariance], parts)
        return _SURE * math.sqrt((self.error * self.value(parts)) ** 2 + max(0.0, of_factors))

    def times(self, factor: float) -> "Estimate":
        covariance = tuple(tuple(value * factor**2 for value in row) for row in self.covariance)
        return Estimate(tuple(value * factor for value in self.factors), covariance, self.error)


@dataclass(frozen=True)
class _Sample:
    """`weight`: all the measurements of one place together have 1, however often it was measured."""

    parts: Parts
    measured: float
    weight: float

    def off(self, estimate: Estimate) -> float:
        """How far, as a share; the same for twice as much and for half as much."""
        return abs(math.log(estimate.value(self.parts) / self.measured))


def fit(measured: Iterable[tuple[Parts, float]], centre: Parts, doubt: Parts) -> Estimate:
    """`doubt`: the standard deviation of each factor before anything is measured, as a share of its centre.

    Needs one measurement or more, all above 0. Their order does not matter.
    """
    found = sorted(measured)
    times = Counter(parts for parts, _ in found)
    samples = [_Sample(parts, value, 1 / times[parts]) for parts, value in found]
    before = Estimate(centre)
    estimate = before.times(_median([(s.measured / before.value(s.parts), s.weight) for s in samples]))
    prior = _Prior(
        centre=estimate.factors,
        doubt=tuple(map(operator.mul, estimate.factors, doubt)),
        least=tuple(_LEAST * factor for factor in estimate.factors),
    )
    for _ in range(_ROUNDS):
        estimate = _solve(samples, _belief(samples, estimate), _ERROR, prior)
    belief = _belief(samples, estimate)
    error = _error(samples, belief, estimate)
    covariance = _solve(samples, belief, error, prior).covariance
    return Estimate(estimate.factors, _growing(estimate.factors, covariance), error)


@dataclass(frozen=True)
class _Prior:
    """What is thought of the factors before, and what each is at `least`."""

    centre: Parts
    doubt: Parts
    least: Parts

    def holding(self, low: Iterable[int]) -> "_Prior":
        """With these factors at their least, whatever is measured."""
        centre, doubt, least = list(self.centre), list(self.doubt), list(self.least)
        for i in low:
            centre[i], doubt[i], least[i] = least[i], 1e-6 * doubt[i], -math.inf
        return _Prior(tuple(centre), tuple(doubt), tuple(least))


def _belief(samples: Sequence[_Sample], estimate: Estimate) -> list[float]:
    """The weight of each; less for what is low or does not fit, and none for the absurd (Tukey's biweight)."""
    absurd = max(_ABSURD, 5 * _noise(samples, estimate))
    return [
        s.weight * _credit(s.measured / estimate.value(s.parts)) * max(0.0, 1 - (s.off(estimate) / absurd) ** 2) ** 2
        for s in samples
    ]


def _credit(measured: float) -> float:
    """Of what was measured, as a share of the estimate."""
    if abs(measured - 1) < _HIT:
        return 1.0
    return _HIGH if measured > 1 else _LOW


def _noise(samples: Sequence[_Sample], estimate: Estimate) -> float:
    """A standard deviation that the better half decides."""
    return 1.48 * _median([(s.off(estimate), s.weight) for s in samples])


def _error(samples: Sequence[_Sample], belief: Sequence[float], estimate: Estimate) -> float:
    """The standard deviation around the estimate; what finding the factors has used up does not count as agreement."""
    doubted = sum(s.weight for s, weight in zip(samples, belief, strict=True) if not weight)
    if doubted > _FEW * sum(s.weight for s in samples):
        belief = [s.weight for s in samples]
    off = spent = 0.0
    for s, weight in zip(samples, belief, strict=True):
        off += weight * s.off(estimate) ** 2
        spent += weight * (estimate.margin(s.parts) / (_SURE * _ERROR * s.measured)) ** 2
    left = max(0.0, sum(belief) - spent)
    return math.sqrt((_ERROR_WEIGHT * _ERROR**2 + off) / (_ERROR_WEIGHT + left))


def _solve(samples: Sequence[_Sample], belief: Sequence[float], error: float, prior: _Prior) -> Estimate:
    """Least squares of the relative errors and of the factors' distances from their centres."""
    size = range(len(prior.centre))
    rows = [
        (weight, [part / s.measured / error for part in s.parts]) for s, weight in zip(samples, belief, strict=True)
    ]
    precision = [[sum(weight * row[i] * row[j] for weight, row in rows) for j in size] for i in size]
    right = [sum(weight * row[i] for weight, row in rows) / error for i in size]
    for i in size:
        precision[i][i] += prior.doubt[i] ** -2
        right[i] += prior.centre[i] * prior.doubt[i] ** -2
    covariance = _inverse(precision)
    factors = tuple(_product(row, right) for row in covariance)
    low = [i for i in size if factors[i] < prior.least[i]]
    return _solve(samples, belief, error, prior.holding(low)) if low else Estimate(factors, covariance)


def _growing(factors: Parts, covariance: tuple[Parts, ...]) -> tuple[Parts, ...]:
    """The covariance with no deviation so large that a margin could fall faster than its part adds."""
    most = [
        min(1.0, factor / (_SURE * math.sqrt(row[i])))
        for i, (factor, row) in enumerate(zip(factors, covariance, strict=True))
    ]
    return tuple(tuple(value * most[i] * most[j] for j, value in enumerate(row)) for i, row in enumerate(covariance))


def _inverse(matrix: Sequence[Sequence[float]]) -> tuple[Parts, ...]:
    """Of a symmetric positive definite one, so that no pivot is zero (Gauss and Jordan)."""
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = rows[i][i]
        rows[i] = [value / pivot for value in rows[i]]
        for j in range(size):
            if j != i:
                factor = rows[j][i]
                rows[j] = [value - factor * other for value, other in zip(rows[j], rows[i], strict=True)]
    return tuple(tuple(row[size:]) for row in rows)


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(operator.mul, one, other), 0.0)


def _median(values: Iterable[tuple[float, float]]) -> float:
    """Of values with their weights; the higher of two in the middle."""
    ordered = sorted(values)
    half, below = sum(weight for _, weight in ordered) / 2, 0.0
    for value, weight in ordered:
        below += weight
        if below > half * (1 + 1e-9):
            return value
    return ordered[-1][0]
