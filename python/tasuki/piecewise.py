"""Lines in pieces: t = latency + slope·M over ranges of sizes M that the data themselves tell.

The noise is relative (times span six decades) and some points are far off, so everything works on
log(t / line) with Tukey's bounded loss: a point far off costs the same wherever it lies. The steps:

1. `noise_of_many`: the relative noise, from more pieces than there may be.
2. `costs`: the loss of the best line over each range of sizes. The start is exhaustive (the lines through all
   pairs of points), so that no odd point can pull it away; Gauss-Newton steps refine it, all ranges at once.
3. `divide`: the ranges whose losses and penalties add up to the least (dynamic programming: the optimum).
4. `brackets`: for each border, the places that the data do not rule out.
5. `solve` and `intervals`: least squares over the points that are not odd, and Student's intervals of it,
   with the noise pooled over the ranges; each interval is widened over all places of the borders from step
   4.

Latency and slope are never below 0. Pure functions of arrays; sizes ascending, all above 0.
"""

from __future__ import annotations

import dataclasses
import math

import numpy
from scipy import stats

TUKEY = 5.2  # beyond so many deviations a point costs no more
LOSS_MAX = TUKEY**2 / 3
ODD = 4.0  # beyond so many deviations a point is odd, and left out of the last least squares
NOISE_LEAST = 0.01  # lines that differ by less are not told apart
IMPLAUSIBLE = 6.0  # a border's place is ruled out when it adds so much loss
POINTS_LEAST = 3  # in a piece
PIECES_MAX = 8
CONFIDENCE = 0.95
# Borders and odd points are chosen by the same data, so what remains looks quieter than it is. Without this
# the intervals hold the truth in 92 to 97 of 100 draws of tests/analysis/test_fit.py's kinds, with it in 95
# to 99.
WIDER = 1.2


@dataclasses.dataclass
class Line:
    """One range, sizes[first:end], with its line and the intervals (low, high) of what describes it."""

    first: int
    end: int
    latency: float
    slope: float
    latency_interval: tuple[float, float]
    slope_interval: tuple[float, float]
    half_interval: tuple[float, float]  # of latency / slope


@dataclasses.dataclass
class Pieces:
    lines: list[Line]
    borders: list[tuple[int, int]]  # between lines: the range after it begins at an index from .. to
    odd: list[int]  # indices of odd points
    noise: float  # relative, of one point


def fit(sizes, times) -> Pieces:
    """The pieces of times over sizes. At least three sizes."""
    sizes, times = numpy.asarray(sizes, float), numpy.asarray(times, float)
    noise = noise_of_many(sizes, times)
    ends: list[int] = []
    for _ in range(6):
        table = costs(sizes, times, noise)
        before, ends = ends, divide(table[0], len(sizes))
        residuals = numpy.log(times / fitted_times(sizes, ends, table))
        again = max(residual_noise(residuals, noise, len(ends)), NOISE_LEAST)
        if ends == before and abs(again / noise - 1) < 0.05:
            break
        noise = again
    odd = odd_points(residuals, noise)
    return described(sizes, times, ends, brackets(table[0], ends), odd)


def odd_points(residuals, noise: float):
    """The indices of the points that are far off: at most one for each four others, for where there are more
    it is the line that is wrong."""
    off = numpy.abs(residuals)
    farthest = numpy.argsort(-off)[: (len(off) - 1) // 4]
    return numpy.sort(farthest[off[farthest] > ODD * noise])


def penalty(points: int) -> float:
    """What one piece more has to gain: its two numbers and its place, and the choice among all places."""
    return 4 * math.log(points) + 3


def loss_of(deviations):
    """Tukey's loss, which is the square near 0."""
    inside = numpy.minimum((deviations / TUKEY) ** 2, 1)
    return LOSS_MAX * (1 - (1 - inside) ** 3)


def weight_of(deviations):
    return (1 - numpy.minimum((deviations / TUKEY) ** 2, 1)) ** 2


def local_noise(sizes, times) -> float:
    """The relative deviation of one point: of each from the line through its neighbours, the median."""
    if len(sizes) < 4:
        return NOISE_LEAST
    share = (sizes[1:-1] - sizes[:-2]) / (sizes[2:] - sizes[:-2])
    between = (1 - share) * times[:-2] + share * times[2:]
    spread = numpy.sqrt(times[1:-1] ** 2 + ((1 - share) * times[:-2]) ** 2 + (share * times[2:]) ** 2)
    return max(float(1.4826 * numpy.median(numpy.abs(times[1:-1] - between) / spread)), NOISE_LEAST)


def noise_of_many(sizes, times) -> float:
    """The relative deviation of one point off the best lines of rather more pieces than there may be: borders
    that are not yet found must not pass for noise, or they never will be."""
    noise = local_noise(sizes, times)
    pieces = max(1, min(6 if len(sizes) >= 16 else 2, len(sizes) // 4))
    for _ in range(5):
        table = costs(sizes, times, noise)
        ends = divide(table[0], len(sizes), pieces)
        off = numpy.abs(numpy.log(times / fitted_times(sizes, ends, table)))
        free = max(len(sizes) - 2 * len(ends), 1)
        again = max(1.4826 * float(numpy.median(off)) * math.sqrt(len(sizes) / free), NOISE_LEAST)
        if again > 0.95 * noise:
            break
        noise = again
    return noise


def residual_noise(residuals, noise: float, pieces: int) -> float:
    """The relative deviation of one point, of the residuals of so many lines; odd points count for
    nothing."""
    good = residuals[numpy.abs(residuals) <= ODD * noise]
    free = len(good) - 2 * pieces
    return math.sqrt(float(good @ good) / free) if free > 0 else noise


def starting_lines(sizes, times):
    """Latency and slope of the line through each pair of points, of the flat one and of the ray through
    each."""
    left, right = numpy.triu_indices(len(sizes), 1)
    slope = (times[right] - times[left]) / (sizes[right] - sizes[left])
    latency = times[left] - slope * sizes[left]
    fine = (slope > 0) & (latency > 0)
    zero = numpy.zeros(len(sizes))
    latencies = numpy.concatenate([latency[fine], times, zero])
    slopes = numpy.concatenate([slope[fine], zero, times / sizes])
    return latencies, slopes


def costs(sizes, times, noise: float):
    """Arrays [first, end] of the least loss over sizes[first:end], and of its line's latency and slope.
    Ranges that are too short have an infinite loss."""
    count = len(sizes)
    latencies, slopes = starting_lines(sizes, times)
    lines = latencies[:, None] + slopes[:, None] * sizes
    losses = loss_of(numpy.log(times / lines) / noise)
    sums = numpy.concatenate([numpy.zeros((len(lines), 1)), numpy.cumsum(losses, axis=1)], axis=1)
    firsts, ends = numpy.triu_indices(count + 1, POINTS_LEAST)
    best = numpy.concatenate(
        [
            numpy.argmin(sums[:, first + POINTS_LEAST :] - sums[:, [first]], axis=0)
            for first in range(count - POINTS_LEAST + 1)
        ]
    )
    places = numpy.arange(count)
    inside = (places >= firsts[:, None]) & (places < ends[:, None])
    starts = latencies[best], slopes[best]
    ends_of_steps = refined(sizes, times, noise, inside, *starts)
    begun, stepped = (range_losses(sizes, times, noise, inside, *line) for line in (starts, ends_of_steps))
    better = stepped < begun
    latency, slope = (numpy.where(better, *pair) for pair in zip(ends_of_steps, starts, strict=True))
    table = numpy.full((3, count + 1, count + 1), numpy.inf)
    table[:, firsts, ends] = numpy.minimum(stepped, begun), latency, slope
    return table


def range_losses(sizes, times, noise: float, inside, latency, slope):
    """The loss of each range. Chance makes points odd one by one: three neighbours that are all too slow, or
    all too fast, are a piece of their own, and cost so much more that they will be one."""
    off = numpy.where(inside, deviations(sizes, times, latency, slope) / noise, 0)
    side = numpy.where(numpy.abs(off) > ODD, numpy.sign(off), 0)
    three = numpy.abs(side[:, :-2] + side[:, 1:-1] + side[:, 2:]) == 3
    return loss_of(off).sum(axis=1) + 2 * LOSS_MAX * three.sum(axis=1)


def deviations(sizes, times, latency, slope):
    return numpy.log(times / (latency[:, None] + slope[:, None] * sizes))


def refined(sizes, times, noise, inside, latency, slope):
    """Gauss-Newton steps with Tukey's weights, for many ranges (lines of `inside`) at once."""
    for _ in range(8):
        off = deviations(sizes, times, latency, slope)
        weight = numpy.where(inside, weight_of(off / noise), 0)
        fitted = latency[:, None] + slope[:, None] * sizes
        latency, slope = bounded_line(sizes, fitted * (1 + off), weight / fitted**2, latency, slope)
    return latency, slope


def bounded_line(sizes, wanted, weight, latency, slope):
    """Weighted least squares, a line of the arrays each, with neither number below 0. Where the weights do
    not tell a line, the one given stays."""
    s0, s1, s2 = weight.sum(axis=1), weight @ sizes, weight @ sizes**2
    t0, t1 = (weight * wanted).sum(axis=1), (weight * wanted) @ sizes
    size = s0 * s2 - s1**2
    told = (size > 1e-9 * s0 * s2) & (s0 > 0)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        free_latency, free_slope = (s2 * t0 - s1 * t1) / size, (s0 * t1 - s1 * t0) / size
        ray, flat = t1 / s2, t0 / s0
    new_latency = numpy.where(free_latency < 0, 0, numpy.where(free_slope < 0, flat, free_latency))
    new_slope = numpy.where(free_latency < 0, ray, numpy.where(free_slope < 0, 0, free_slope))
    told &= numpy.isfinite(new_latency) & numpy.isfinite(new_slope) & (new_latency + new_slope > 0)
    return numpy.where(told, new_latency, latency), numpy.where(told, new_slope, slope)


def divide(losses, count: int, pieces: int | None = None) -> list[int]:
    """The ends of the ranges with the least sum of losses and penalties; of so many ranges, where that is
    told."""
    totals, from_where = [losses[0]], []
    for _ in range(pieces or max(1, min(PIECES_MAX, count // POINTS_LEAST))):
        sums = totals[-1][:, None] + losses
        from_where.append(numpy.argmin(sums, axis=0))
        totals.append(numpy.min(sums, axis=0))
    worth = [total[count] + penalty(count) * number for number, total in enumerate(totals[:-1])]
    ends = [count]
    for before in reversed(from_where[: (pieces or 1 + int(numpy.argmin(worth))) - 1]):
        ends.insert(0, int(before[ends[0]]))
    return ends


def fitted_times(sizes, ends, table):
    _, latencies, slopes = table
    fitted = numpy.empty(len(sizes))
    for first, end in zip([0, *ends], ends, strict=False):
        fitted[first:end] = latencies[first, end] + slopes[first, end] * sizes[first:end]
    return fitted


def brackets(losses, ends: list[int]) -> list[tuple[int, int]]:
    """For each border between ranges, the first and last place that the data do not rule out, the other
    borders being where they are."""
    edges = [0, *ends]
    found = []
    for before, place, after in zip(edges, edges[1:], edges[2:], strict=False):
        places = range(before + POINTS_LEAST, after - POINTS_LEAST + 1)
        loss = {other: losses[before, other] + losses[other, after] for other in places}
        limit = loss[place] + IMPLAUSIBLE
        fine = [other for other in places if loss[other] <= limit]
        found.append((min(fine), max(fine)))
    return found


def described(sizes, times, ends, borders, odd) -> Pieces:
    """The lines by least squares over the points that are not odd, with their intervals."""
    good = numpy.ones(len(sizes), bool)
    good[odd] = False
    edges = [0, *ends]
    solved = [solve(sizes, times, good, *edge) for edge in zip(edges, edges[1:], strict=False)]
    squares = sum(solution.squares for solution in solved)
    free = max(int(good.sum()) - 2 * len(solved), 1)
    noise = math.sqrt(squares / free)
    quantile = WIDER * stats.t.ppf(0.5 + CONFIDENCE / 2, free)
    ranges = [(0, 0), *borders, (len(sizes), len(sizes))]
    lines = []
    for number, solution in enumerate(solved):
        first, end = edges[number], edges[number + 1]
        told = []
        for first_place in range(ranges[number][0], ranges[number][1] + 1):
            for end_place in range(ranges[number + 1][0], ranges[number + 1][1] + 1):
                is_own = (first_place, end_place) == (first, end)  # it may have odd points alone
                if is_own or good[first_place:end_place].sum() >= 2:
                    told.append(intervals(solve(sizes, times, good, first_place, end_place), noise, quantile))
        told = told or [intervals(solution, noise, quantile)]  # nearly all are odd, see solve()
        spans = [hull(one) for one in zip(*told, strict=True)]
        lines.append(Line(first, end, solution.latency, solution.slope, *spans))
    return Pieces(lines, borders, [int(place) for place in odd], noise)


def hull(spans) -> tuple[float, float]:
    lows, highs = zip(*spans, strict=True)
    return float(min(lows)), float(max(highs))


@dataclasses.dataclass
class Solution:
    latency: float  # neither below 0
    slope: float
    free: numpy.ndarray  # the same without that bound
    inverse: numpy.ndarray  # covariance, at a noise of 1
    squares: float  # of log residuals


def solve(sizes, times, good, first: int, end: int) -> Solution:
    """Least squares of log(time / line) over the good points of a range."""
    inside = good[first:end]
    if inside.sum() < 2:  # nearly all are odd: then none is
        inside = numpy.ones(end - first, bool)
    size, time = sizes[first:end][inside], times[first:end][inside]
    start, slopes = starting_lines(size, time)
    loss = numpy.abs(numpy.log(time / (start[:, None] + slopes[:, None] * size))).sum(axis=1)
    latency, slope = start[[numpy.argmin(loss)]], slopes[[numpy.argmin(loss)]]
    for _ in range(20):
        fitted = latency[:, None] + slope[:, None] * size
        wanted = fitted * (1 + numpy.log(time / fitted))
        latency, slope = bounded_line(size, wanted, 1 / fitted**2, latency, slope)
    fitted = (latency + slope * size)[None, :].ravel()
    design = numpy.stack([1 / fitted, size / fitted], axis=1)
    scale = numpy.linalg.norm(design, axis=0)
    inverse = numpy.linalg.pinv((design / scale).T @ (design / scale)) / numpy.outer(scale, scale)
    off = numpy.log(time / fitted)
    free = numpy.array([latency[0], slope[0]]) + inverse @ (design.T @ off)
    return Solution(float(latency[0]), float(slope[0]), free, inverse, float(off @ off))


def intervals(solution: Solution, noise: float, quantile: float):
    """The intervals of latency, slope, and latency / slope (Fieller's), none below 0."""
    latency, slope = solution.free
    covariance = solution.inverse * noise**2 * quantile**2
    spans = []
    for value, variance in ((latency, covariance[0, 0]), (slope, covariance[1, 1])):
        width = math.sqrt(variance)
        spans.append((max(value - width, 0.0), max(value + width, width)))
    spans.append(ratio_interval(latency, slope, covariance))
    return spans


def ratio_interval(latency, slope, covariance) -> tuple[float, float]:
    """All r >= 0 for which latency - r·slope may be 0."""
    square = slope**2 - covariance[1, 1]
    mixed = latency * slope - covariance[0, 1]
    constant = latency**2 - covariance[0, 0]
    inside = mixed**2 - square * constant
    if inside < 0 or square == 0:
        return 0.0, math.inf
    low, high = sorted(((mixed - math.sqrt(inside)) / square, (mixed + math.sqrt(inside)) / square))
    if square > 0:
        return max(low, 0.0), max(high, 0.0)
    return (high, math.inf) if low < 0 < high else (0.0, math.inf)
