"""The times that were measured, and how sure they are.

A *visit* is one run of a program that times the series of a case in turns: the n-th batches of two series
came right after one another, so their ratio is free of what the machine did meanwhile. A *time* is the
lower quartile of all batches: the best of them is a matter of luck where ranks share processors, and the
upper half one of what else the machine has to do. A *ratio* is the median over such pairs, with the
interval that holds it in 95 of 100 cases (by order statistics, so without an assumption on how times are
distributed).
"""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Iterable

from tasuki.tuning.cases import Case, Point

CONFIDENCE = 0.95
FEW = 3  # of so many pairs up to five all together, with a margin, stand for the interval
MARGIN = 1.1
VISITED = 2  # batches of a series that was measured, and not only seen to be hopeless

Ratio = collections.namedtuple("Ratio", "median low high pairs")
Ratio.__doc__ = "How many times as long; low is 0 and high infinite where there are too few pairs to say."


def lower_quartile(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 4]


def order_interval(count: int, confidence: float = CONFIDENCE) -> int | None:
    """How many of `count` values to leave out at either end so that the rest spans the median surely enough;
    None: they are too few."""
    tail, left_out = 0.0, None
    for below in range(count // 2 + 1):
        tail += math.comb(count, below) / 2**count
        if 2 * tail > 1 - confidence:
            return left_out
        left_out = below
    return left_out


def ratio_of(pairs: Iterable[tuple[float, float]]) -> Ratio:
    """Of the first of each pair over the second."""
    ratios = sorted(first / second for first, second in pairs)
    if not ratios:
        return Ratio(math.nan, 0.0, math.inf, 0)
    left_out = order_interval(len(ratios))
    if left_out is not None:
        ends = ratios[left_out], ratios[-1 - left_out]
    elif len(ratios) >= FEW:
        ends = ratios[0] / MARGIN, ratios[-1] * MARGIN
    else:
        ends = 0.0, math.inf
    return Ratio(statistics.median(ratios), *ends, len(ratios))


class Samples:
    """All visits of all cases."""

    def __init__(self):
        self.visits: dict[Case, list[dict[str, list[float]]]] = collections.defaultdict(list)

    def add(self, case: Case, visit: dict[str, list[float]]) -> None:
        self.visits[case].append({series: list(times) for series, times in visit.items() if times})

    def merge(self, other: Samples) -> None:
        for case, visits in other.visits.items():
            self.visits[case] += visits

    def cases(self) -> list[Case]:
        return list(self.visits)

    def times(self, case: Case) -> dict[str, float]:
        """series -> seconds."""
        batches = collections.defaultdict(list)
        for visit in self.visits.get(case, ()):
            for series, seconds in visit.items():
                batches[series] += seconds
        return {series: lower_quartile(seconds) for series, seconds in batches.items()}

    def least(self, case: Case) -> dict[str, float]:
        """series -> seconds of the fastest batch."""
        found: dict[str, float] = {}
        for visit in self.visits.get(case, ()):
            for series, seconds in visit.items():
                found[series] = min([found.get(series, math.inf), *seconds])
        return found

    def all_times(self) -> dict[Case, dict[str, float]]:
        return {case: self.times(case) for case in self.visits}

    def ratio(self, case: Case, first: str, second: str) -> Ratio:
        pairs = []
        for visit in self.visits.get(case, ()):
            here = visit.get(first, []), visit.get(second, [])
            if min(map(len, here)) >= VISITED:
                pairs += zip(*here, strict=False)
        return ratio_of(pairs)

    def points(self) -> list[Point]:
        return [
            Point(*case, series, seconds)
            for case, times in self.all_times().items()
            for series, seconds in times.items()
        ]
