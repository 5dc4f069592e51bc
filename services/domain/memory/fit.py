"""Fits the factors of a sum of known parts to few measurements, some of which may be outliers.

    measured ~ factor_1 x part_1 + factor_2 x part_2 + …       with an error in proportion

The prior of each factor is a normal distribution around its `centre`. A deviation that all measurements share moves
all factors; one that follows a single part moves its factor. So one measurement scales the sum, two make a line, and
many outweigh the prior. Outliers do not count, unless there are too many of them.
"""

import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Estimate", "Parts", "fit"]

Parts = tuple[float, ...]

_SURE = 2.0  # standard deviations on either side of an estimate
_ERROR = 0.02  # of one measurement: equal attempts differ by up to 4 % from each other
_ERROR_WEIGHT = 4.0  # in measurements: the weight of `_ERROR` against the error that is observed
_ABSURD = 0.25  # distance of an outlier from the estimate; more where the others scatter
_FEW = 0.2  # share of the measured places that may be outliers; where more are, all count
# A measured peak is the largest over the steps of an attempt, so few steps may give a low one: EfficientDet-D0 at 256²
# took 475 MB in three steps and 539 MB in six, and no more after that.
_LOW, _HIGH = 0.5, 1.5  # weights of measurements below the estimate and above it
_HIT = 1e-3  # nearer than this is neither below nor above: rounding must not decide a weight
_LEAST = 0.3  # share of its centre that a factor has at least
_ROUNDS = 12  # iterations; more change nothing that matters


@dataclass(frozen=True)
class Estimate:
    """The factors with their `covariance`, and the standard `error` of a measurement as a share of the sum."""

    factors: Parts
    covariance: tuple[Parts, ...] = ()
    error: float = 0.0

    def value(self, parts: Parts) -> float:
        return _product(self.factors, parts)

    def margin(self, parts: Parts) -> float:
        """How far the next measurement may be off.

        `value` plus this never falls where a part grows: the margin changes by less than `_SURE` deviations of the
        part's factor, and `fit` keeps those below the factor.
        """
        of_factors = _product([_product(row, parts) for row in self.covariance], parts)
        return _SURE * math.sqrt((self.error * self.value(parts)) ** 2 + max(0.0, of_factors))

    def times(self, factor: float) -> "Estimate":
        covariance = tuple(tuple(value * factor**2 for value in row) for row in self.covariance)
        return Estimate(tuple(value * factor for value in self.factors), covariance, self.error)


@dataclass(frozen=True)
class _Sample:
    """`weight`: all measurements with the same parts together have 1, so repeating one gives it no more weight."""

    parts: Parts
    measured: float
    weight: float

    def off(self, estimate: Estimate) -> float:
        """Relative distance from the estimate; the same for twice as much and for half as much."""
        return abs(math.log(estimate.value(self.parts) / self.measured))


def fit(measured: Iterable[tuple[Parts, float]], centre: Parts, doubt: Parts) -> Estimate:
    """The factors that fit (parts, measured) best. Needs at least one measurement, all above 0; order does not matter.

    `doubt`: the prior standard deviation of each factor, as a share of its centre.
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
    """The distribution of the factors before any measurement, and the `least` value of each."""

    centre: Parts
    doubt: Parts
    least: Parts

    def holding(self, low: Iterable[int]) -> "_Prior":
        """With these factors fixed at their least value."""
        centre, doubt, least = list(self.centre), list(self.doubt), list(self.least)
        for i in low:
            centre[i], doubt[i], least[i] = least[i], 1e-6 * doubt[i], -math.inf
        return _Prior(tuple(centre), tuple(doubt), tuple(least))


def _belief(samples: Sequence[_Sample], estimate: Estimate) -> list[float]:
    """The weight of each sample: less for low ones and for bad fits, none for outliers (Tukey's biweight)."""
    absurd = max(_ABSURD, 5 * _noise(samples, estimate))
    return [
        s.weight * _credit(s.measured / estimate.value(s.parts)) * max(0.0, 1 - (s.off(estimate) / absurd) ** 2) ** 2
        for s in samples
    ]


def _credit(measured: float) -> float:
    """The weight of a sample that measured this share of the estimate."""
    if abs(measured - 1) < _HIT:
        return 1.0
    return _HIGH if measured > 1 else _LOW


def _noise(samples: Sequence[_Sample], estimate: Estimate) -> float:
    """A robust standard deviation: from the median distance."""
    return 1.48 * _median([(s.off(estimate), s.weight) for s in samples])


def _error(samples: Sequence[_Sample], belief: Sequence[float], estimate: Estimate) -> float:
    """The standard deviation around the estimate, corrected for the degrees of freedom that the factors used."""
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
    """The covariance, scaled down where a margin could fall faster than its part adds to the sum."""
    most = [
        min(1.0, factor / (_SURE * math.sqrt(row[i])))
        for i, (factor, row) in enumerate(zip(factors, covariance, strict=True))
    ]
    return tuple(tuple(value * most[i] * most[j] for j, value in enumerate(row)) for i, row in enumerate(covariance))


def _inverse(matrix: Sequence[Sequence[float]]) -> tuple[Parts, ...]:
    """The inverse of a symmetric positive definite matrix, whose pivots are never zero (Gauss-Jordan)."""
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
    """The median of (value, weight) pairs; of two in the middle, the higher."""
    ordered = sorted(values)
    half, below = sum(weight for _, weight in ordered) / 2, 0.0
    for value, weight in ordered:
        below += weight
        if below > half * (1 + 1e-9):
            return value
    return ordered[-1][0]
