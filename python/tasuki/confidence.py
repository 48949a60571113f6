"""How well a row's time is known, and what follows for ratios: estimates, tests, and many tests at once.

Everything is in logarithms, since times differ by factors. A row's time is the median of its samples,
outliers and all; its error comes from the samples (Maritz and Jarrett), or, where there were three rounds or
more, from how the rounds differ: they tell what one job after the other does, which samples of one job
cannot. With few rounds a row's own scatter says little, so it is mixed with what is usual in its group.

tests/analysis/test_compare.py draws from known distributions and counts how often a test is wrong.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import statistics
from collections.abc import Sequence

import numpy
from scipy import stats

from tasuki.results import Row

ROUNDS_MIN = 3
USUAL_FREEDOM = 4  # how many degrees of freedom the usual scatter of the group counts for
LEAST_ERROR = 1e-4  # clocks tick: equal samples are not known better than this


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The logarithm of a time, its standard error, and how many degrees of freedom that error has."""

    value: float
    error: float
    freedom: float


@functools.cache
def median_weights(count: int) -> numpy.ndarray:
    """How probable it is that each of so many ordered samples is the median of a bootstrap's sample."""
    half = (count + 1) / 2
    return numpy.diff(stats.beta.cdf(numpy.arange(count + 1) / count, half, half))


def median_error(logs: numpy.ndarray) -> float:
    """The standard error of a median: Maritz and Jarrett's, to which the bootstrap would come."""
    ordered = numpy.sort(logs)
    weights = median_weights(len(ordered))
    mean = weights @ ordered
    return math.sqrt(max(0.0, weights @ (ordered - mean) ** 2))


def of_samples(row: Row) -> Estimate:
    logs = numpy.log(row.seconds)
    if len(logs) < 2:
        return Estimate(float(logs[0]), math.inf, 1)
    # Half of the freedom, because a median's error is known from the samples about it alone.
    return Estimate(
        float(numpy.median(logs)), max(median_error(logs), LEAST_ERROR), max(1, (len(logs) - 1) / 2)
    )


def rounds_of(row: Row) -> list[float]:
    """The logarithm of each round's median."""
    ends = numpy.cumsum(row.parts)
    logs = numpy.log(row.seconds)
    return [float(numpy.median(logs[end - count : end])) for end, count in zip(ends, row.parts, strict=True)]


def estimates(rows: Sequence[Row]) -> list[Estimate]:
    """How well the time of each is known."""
    rounds = [rounds_of(row) if len(row.parts) >= ROUNDS_MIN else [] for row in rows]
    scatter = collections.defaultdict(
        list
    )  # (group, rounds) -> variances, each as a part of what is expected
    for row, values in zip(rows, rounds, strict=True):
        if values:
            freedom = len(values) - 1
            scatter[row.group, freedom].append(statistics.variance(values))
    usual = {
        (group, freedom): statistics.median(found) * freedom / float(stats.chi2.median(freedom))
        for (group, freedom), found in scatter.items()
    }
    made = []
    for row, values in zip(rows, rounds, strict=True):
        if not values:
            made.append(of_samples(row))
            continue
        freedom = len(values) - 1
        variance = statistics.variance(values) * freedom + usual[row.group, freedom] * USUAL_FREEDOM
        error = math.sqrt(variance / (freedom + USUAL_FREEDOM) / len(values))
        made.append(Estimate(statistics.fmean(values), max(error, LEAST_ERROR), freedom + USUAL_FREEDOM))
    return made


def difference(one: Estimate, base: Estimate) -> Estimate:
    """The logarithm of the ratio one / base (Welch and Satterthwaite's degrees of freedom)."""
    error = math.hypot(one.error, base.error)
    if not math.isfinite(error):
        return Estimate(one.value - base.value, math.inf, 1)
    parts = one.error**4 / one.freedom + base.error**4 / base.freedom
    return Estimate(one.value - base.value, error, error**4 / parts)


def interval(estimate: Estimate, level: float) -> tuple[float, float]:
    """Of the logarithm: it holds the true one with probability 1 - level."""
    reach = float(stats.t.isf(level / 2, estimate.freedom)) * estimate.error
    return estimate.value - reach, estimate.value + reach


def added(terms: Sequence[Estimate]) -> Estimate:
    """The logarithm of the sum of times."""
    seconds = [math.exp(term.value) for term in terms]
    errors = [value * term.error for value, term in zip(seconds, terms, strict=True)]
    error, total = math.hypot(*errors), sum(seconds)
    if not math.isfinite(error):
        return Estimate(math.log(total), math.inf, 1)
    parts = sum(one**4 / term.freedom for one, term in zip(errors, terms, strict=True))
    return Estimate(math.log(total), error / total, error**4 / parts)


def between(low: Estimate, high: Estimate, part: float) -> Estimate:
    """What lies at `part` of the way from one to the other."""
    error = math.hypot((1 - part) * low.error, part * high.error)
    return Estimate((1 - part) * low.value + part * high.value, error, min(low.freedom, high.freedom))


def chance_above(estimate: Estimate, bound: float) -> float:
    """How probable so high a value would be at most if the true one were not above the bound."""
    return float(stats.t.sf((estimate.value - bound) / estimate.error, estimate.freedom))


def adjusted(chances: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's: of those that are below a level at most that part is wrong in the mean; where
    nothing is true, the chance that any is below it is at most the level."""
    if not chances:
        return []
    order = numpy.argsort(chances)
    count = len(chances)
    scaled = numpy.asarray(chances)[order] * count / numpy.arange(1, count + 1)
    least = numpy.minimum.accumulate(scaled[::-1])[::-1]
    made = numpy.empty(count)
    made[order] = numpy.minimum(least, 1)
    return made.tolist()
