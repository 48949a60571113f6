"""Parameters of the cost model whose predictions come nearest to what was measured, and whose choices are
best.

First least squares on the logarithm of predicted over measured times, with a loss that outliers bend
little; series that are near the best of their case weigh most, since these are the ones to choose among.
Then a polish that also counts what the choices cost, since a prediction that is off by little can choose
wrongly, and one that is off by much rightly. What no time tells anything of stays where it was.

An uncertainty is that of the least squares: the factor either way that holds a parameter in 95 of 100
cases, if the formulas were right and the times independent. It is None for what the times do not tell.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

import numpy

from tasuki.tuning.cases import Case, Point, case_of
from tasuki.tuning.prices import Formulas

# What the times of ranks of one node can tell. The others keep their values.
FITTED = (
    "messages.cache.software_ns",
    "messages.cache.latency_ns",
    "messages.cache.bytes_per_ns",
    "messages.cache.eager_bytes_per_ns",
    "messages.cache.long_ns",
    "schedule.plan_ns",
    "memory.reduced_bytes_per_ns",
    "memory.copied_bytes_per_ns",
    "memory.travelled_bytes_per_ns",
    "memory.streamed_bytes_per_ns",
    "memory.cache_bytes",
    "memory.node_bytes_per_ns",
    "node_segment.call_ns",
    "node_segment.flag_ns",
    "node_segment.flag_read_ns",
    "node_segment.cell_bytes_per_ns",
    "node_segment.expose_ns",
    "node_segment.get_bytes_per_ns",
    "node_segment.reduced_in_place_bytes_per_ns",
    "crowd.turn_ns",
)
# What shows only where ranks share processors. Such times vary with the whims of the system's scheduler, so
# the others are fitted without them.
OF_CROWDS = ("crowd.turn_ns",)
FACTOR_MAX = 16  # how far a parameter may come from where it began, either way
PRIOR = 0.1  # of a point's weight: how hard a parameter is held where the times say nothing about it
LOSS_SCALE = 0.3  # predictions that are off by more count as outliers
EVALUATIONS_MAX = 25  # of the residuals' derivatives, which take most of the time
TOLD = 0.9  # of the prior's width: a parameter that is known no better was not told by the times
QUANTILE = 1.96

# The polish.
CHOICE_WIDTH = 0.05  # predictions that differ by this share compete
REGRET_WEIGHT = 5  # of a case's regret next to the error of a prediction
REGRET_NOISE = 0.03  # below: no regret
CROWD_WEIGHT = 0.3  # of predictions where ranks share processors


@dataclasses.dataclass
class Fit:
    values: dict[str, float]  # all parameters, by path
    factors: dict[str, float | None]  # the uncertainty of those that were fitted


def weights_of(points: Sequence[Point]) -> numpy.ndarray:
    """The square of a point's weight falls with how much slower than the best of its case it is."""
    best: dict[Case, float] = {}
    for point in points:
        best[case_of(point)] = min(point.seconds, best.get(case_of(point), math.inf))
    return numpy.array([best[case_of(point)] / point.seconds for point in points])


def fit(
    points: Sequence[Point],
    formulas: Formulas,
    before: Mapping[str, float],
    polished: bool = True,
) -> Fit:
    """What a processor for each rank tells comes first, then what crowds alone tell, then the polish."""
    calm = [point for point in points if point.ranks <= formulas.processors]
    if calm and len(calm) < len(points):
        found = fit_some(FITTED, calm, formulas, before)
        crowd = fit_some(OF_CROWDS, points, formulas, found.values)
        found = Fit(crowd.values, found.factors | crowd.factors)
    else:
        found = fit_some(FITTED, points, formulas, before)
    if not polished:
        return found
    return Fit(polish(points, formulas, found.values), found.factors)


def fit_some(paths, points, formulas, before) -> Fit:
    """The parameters of these paths. They are searched by their logarithms, from the values before on."""
    weights = numpy.sqrt(weights_of(points))
    measured = numpy.log([1e9 * point.seconds for point in points])
    prior = PRIOR * math.sqrt(len(points) / len(paths) / 10)
    with formulas.prices(points) as prices:

        def residuals(values, steps):
            off = weights * (numpy.log(prices.ns(values)) - measured)
            return numpy.concatenate([off, prior * steps])

        values, jacobian, left = search(paths, before, residuals)
    return Fit(values, uncertainties(paths, jacobian, left[: len(points)], prior))


def search(paths, before, residuals):
    """Least squares over the logarithms of some parameters; `residuals` gets all values, and how far those of
    the paths are from where they began."""
    from scipy.optimize import least_squares  # heavy to import

    start = numpy.log([before[path] for path in paths])

    def with_steps(steps):
        return dict(before, **dict(zip(paths, map(float, numpy.exp(start + steps)), strict=True)))

    found = least_squares(
        lambda places: residuals(with_steps(places - 1), places - 1),
        numpy.ones(len(paths)),  # not zeros: the step of a derivative is a share of the place
        bounds=(1 - math.log(FACTOR_MAX), 1 + math.log(FACTOR_MAX)),
        loss="soft_l1",
        f_scale=LOSS_SCALE,
        diff_step=1e-2,
        max_nfev=EVALUATIONS_MAX,
    )
    return with_steps(found.x - 1), found.jac, found.fun


def uncertainties(paths, jacobian, left, prior) -> dict[str, float | None]:
    """From the curvature at the end. What is as wide as the prior makes it was not told by the times."""
    scale = 1.4826 * statistics.median(numpy.abs(left)) + 1e-12  # of the residuals, robust
    information = jacobian.T @ jacobian
    covariance = numpy.linalg.pinv(information)
    factors: dict[str, float | None] = {}
    for place, path in enumerate(paths):
        deviation = math.sqrt(max(covariance[place, place], 0.0))
        told = prior == 0 or deviation < TOLD / prior
        factors[path] = math.exp(min(QUANTILE * scale * deviation, 50)) if told else None
    return factors


def polish(points, formulas, before) -> dict[str, float]:
    """Goes on from a fit, with the cost of the choices in mind."""
    crowd = numpy.array([point.ranks > formulas.processors for point in points])
    weights = numpy.sqrt(weights_of(points) * numpy.where(crowd, CROWD_WEIGHT, 1.0))
    measured = numpy.log([1e9 * point.seconds for point in points])
    places = collections.defaultdict(list)
    for place, point in enumerate(points):
        places[case_of(point)].append(place)
    groups = [numpy.array(own) for own in places.values() if len(own) > 1]
    losses = [numpy.maximum(measured[own] - measured[own].min() - REGRET_NOISE, 0) for own in groups]
    prior = 3 * PRIOR * math.sqrt(len(points) / len(FITTED) / 10)
    with formulas.prices(points) as prices:

        def residuals(values, steps):
            predicted = numpy.log(prices.ns(values))
            regrets = [soft_regret(predicted[own], loss) for own, loss in zip(groups, losses, strict=True)]
            off = weights * (predicted - measured)
            return numpy.concatenate([off, REGRET_WEIGHT * numpy.array(regrets), prior * steps])

        return search(FITTED, before, residuals)[0]


def soft_regret(predicted: numpy.ndarray, loss: numpy.ndarray) -> float:
    """The loss that is to be expected when series whose predictions are close are chosen by chance."""
    shares = numpy.exp((predicted.min() - predicted) / CHOICE_WIDTH)
    return float((shares * loss).sum() / shares.sum())


def median_factor(measured_ns, predicted_ns) -> float:
    """The median factor by which predictions are off, either way."""
    return math.exp(statistics.median(numpy.abs(numpy.log(numpy.asarray(predicted_ns) / measured_ns))))


def possible(points: Sequence[Point], formulas: Formulas, values) -> list[Point]:
    """Those that the library has a prediction for."""
    with formulas.prices(points) as prices:
        ns = prices.ns(values)
    return [point for point, one in zip(points, ns, strict=True) if not math.isnan(one)]


def better_start(
    points: Sequence[Point], formulas: Formulas, given: Mapping, builtin: Mapping
) -> dict[str, float]:
    """Where a fit begins: the given parameters, unless the built-in ones predict the times better; those that
    no time here can tell are the given ones in any case."""
    with formulas.prices(points) as prices:
        measured = numpy.array([1e9 * point.seconds for point in points])
        errors = [median_factor(measured, prices.ns(values)) for values in (given, builtin)]
    if errors[0] <= errors[1]:
        return dict(given)
    return {path: builtin[path] if path in FITTED else value for path, value in given.items()}
