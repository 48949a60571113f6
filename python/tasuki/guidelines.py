"""Performance guidelines, after Träff, Gropp and Thakur: what of an MPI must not be slower than what else.

MPI_Allreduce, for one, should not take longer than MPI_Reduce and MPI_Bcast, which do the same; a shorter
message not longer than a longer one. A guideline is "violated" where the left side is slower than the right
by more than the tolerance and chance does not explain it, "kept" where it is shown not to be slower by that
much, and "unclear" where the measurements tell neither. Of all that are called violated, or kept, at most 5 %
are expected to be wrong (confidence.adjusted). A size that was not measured is taken from its neighbours, if
they are near.

Both sides are of one state of the machine (Row.by_state). Sizes are those of the suite: M is what each rank
gives to each other, or the whole vector; p are the ranks. The suite runs an operation many times back to
back, in which rooted ones (MPI_Bcast, MPI_Reduce) overlap with the next: a sum of those on the right side is
a strict measure.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

from tasuki import confidence
from tasuki.confidence import Estimate
from tasuki.results import Row, Run

LEVEL = 0.05
TOLERANCE = 0.05
VERDICTS = ("violated", "kept", "unclear")
# Many small messages are measured with one buffer, which stays in the caches: up to here a great one lies
# there too.
CACHED_MAX = 64 << 10
NEIGHBOURS_MAX = 4.0  # sizes that lie further apart say nothing about what is between them

# The variants of a collective that its name alone means.
PLAIN = {"form": "blocking", "lengths": "even", "buffers": "two", "touched": "yes"}
# Groups in which more bytes are more work.
SIZED = ("point_to_point", "collectives", "concurrent", "rma")


@dataclasses.dataclass(frozen=True)
class Term:
    """A collective at `size(M, p)` bytes."""

    name: str
    size: Callable[[float, int], float] = lambda m, p: m
    text: str = "M"

    def __str__(self) -> str:
        return f"{self.name}({self.text})"


def whole(name: str) -> Term:
    """All ranks' M bytes together."""
    return Term(name, lambda m, p: m * p, "pM")


def part(name: str) -> Term:
    """M bytes divided among the ranks."""
    return Term(name, lambda m, p: m / p, "M/p")


# What of the left has to be no slower than the sum of the right, since the right does the same.
COLLECTIVES: list[tuple[str, list[Term]]] = [
    ("allreduce", [Term("reduce"), Term("bcast")]),
    ("allreduce", [part("reduce_scatter_block"), part("allgather")]),
    ("allgather", [Term("gather"), whole("bcast")]),
    ("allgather", [Term("alltoall")]),
    ("allgather", [whole("allreduce")]),
    ("bcast", [part("scatter"), part("allgather")]),
    ("scatter", [whole("bcast")]),
    ("gather", [Term("allgather")]),
    ("gather", [whole("reduce")]),
    ("reduce", [Term("allreduce")]),
    ("reduce", [part("reduce_scatter_block"), part("gather")]),
    ("reduce_scatter_block", [whole("reduce"), Term("scatter")]),
    ("reduce_scatter_block", [Term("reduce_scatter")]),
    ("reduce_scatter", [whole("allreduce")]),
    ("scan", [Term("exscan"), Term("reduce")]),
    ("barrier", [Term("allreduce", lambda m, p: 8, "8 B")]),
    ("gather", [Term("gatherv")]),
    ("scatter", [Term("scatterv")]),
    ("allgather", [Term("allgatherv")]),
    ("alltoall", [Term("alltoallv")]),
    ("alltoallv", [Term("alltoallw")]),
]

# Of two rows that differ in this alone, the one with the first value has to be no slower than the other.
VALUES: list[tuple[str, str, str, str]] = [
    ("collectives", "form", "blocking", "nonblocking"),
    ("collectives", "form", "persistent", "nonblocking"),
    ("collectives", "buffers", "one", "two"),
    ("point_to_point", "mode", "send", "ssend"),
    ("point_to_point", "mode", "send", "bsend"),
    ("point_to_point", "mode", "send", "isend"),
    ("point_to_point", "mode", "rsend", "send"),
    ("point_to_point", "mode", "isend", "issend"),
    ("point_to_point", "memory", "alloc_mem", "malloc"),
    ("point_to_point", "layout", "contiguous", "vector"),
    ("point_to_point", "layout", "contiguous", "indexed"),
    ("point_to_point", "layout", "contiguous", "struct"),
    ("point_to_point", "receive", "posted", "wildcard"),
]


@dataclasses.dataclass(frozen=True)
class Finding:
    """A guideline at one size among so many ranks. `ratio` is left by right: above 1 the left is slower."""

    rule: str
    subject: str  # the series of the left side
    ranks: int
    bytes: int
    left_seconds: float
    right_seconds: float
    ratio: float
    low: float
    high: float
    chance: float  # adjusted for the number of guidelines
    verdict: str
    state: str = ""  # of the machine: near, far, or not known


@dataclasses.dataclass(frozen=True)
class Claim:
    """left <= right, before it is judged."""

    rule: str
    row: Row
    left: Estimate
    right: Estimate
    state: str = ""


class Times:
    """What a run says about the time of a series at a size."""

    def __init__(self, run: Run):
        estimates = confidence.estimates(run.rows)
        self.rows: dict[str, dict[int, tuple[Row, Estimate]]] = {}
        for row, estimate in zip(run.rows, estimates, strict=True):
            self.rows.setdefault(row.series, {})[row.bytes] = (row, estimate)

    def series(self) -> Iterator[list[tuple[Row, Estimate]]]:
        """Each, by size."""
        for sizes in self.rows.values():
            yield [sizes[size] for size in sorted(sizes)]

    def at(self, series: str, size: float) -> Estimate | None:
        """Measured, or between two sizes that are near; None where neither."""
        sizes = self.rows.get(series, {})
        if size in sizes:
            return sizes[int(size)][1]
        known = sorted(sizes)
        place = bisect.bisect(known, size)
        if not 0 < place < len(known) or known[place - 1] <= 0:
            return None
        low, high = known[place - 1], known[place]
        if high / low > NEIGHBOURS_MAX:
            return None
        return confidence.between(sizes[low][1], sizes[high][1], math.log(size / low) / math.log(high / low))


def plain_series(times: Times) -> dict[tuple[str, int], str]:
    """(collective, ranks) -> the series that its name means."""
    found = {}
    for rows in times.series():
        row = rows[0][0]
        if row.group == "collectives" and row.variant.items() <= PLAIN.items():
            found[row.benchmark, row.ranks] = row.series
    return found


def of_collectives(times: Times) -> Iterator[Claim]:
    plain = plain_series(times)
    for name, terms in COLLECTIVES:
        rule = f"{name} ≤ " + " + ".join(map(str, terms))
        for (benchmark, ranks), series in plain.items():
            if benchmark != name or ranks < 2:
                continue
            for row, left in times.rows[series].values():
                right = [
                    times.at(plain.get((term.name, ranks), ""), term.size(row.bytes, ranks)) for term in terms
                ]
                if None not in right:
                    yield Claim(rule, row, left, confidence.added(right))


def of_values(times: Times) -> Iterator[Claim]:
    for rows in times.series():
        for row, left in rows:
            for group, name, value, other in VALUES:
                if row.group != group or row.variant.get(name) != value:
                    continue
                right = times.at(
                    dataclasses.replace(row, variant=row.variant | {name: other}).series, row.bytes
                )
                if right is not None:
                    yield Claim(f"{name} {value} ≤ {other}", row, left, right)


def of_sizes(times: Times) -> Iterator[Claim]:
    """A message is no slower than the next greater one, and that no slower than so many small ones."""
    for rows in times.series():
        for (row, time), (next_row, next_time) in zip(rows, rows[1:], strict=False):
            if row.group not in SIZED:
                continue
            yield Claim("t(M) ≤ t(next size)", row, time, next_time)
            if 0 < row.bytes and next_row.bytes <= CACHED_MAX and next_row.bytes % row.bytes == 0:
                times_as_many = math.log(next_row.bytes // row.bytes)
                several = dataclasses.replace(time, value=time.value + times_as_many)
                yield Claim("t(kM) ≤ k t(M)", next_row, next_time, several)


def check(run: Run, tolerance: float = TOLERANCE, level: float = LEVEL) -> list[Finding]:
    """Every guideline at every size that the run can say something about."""
    claims = []
    for state, part in run.by_state().items():
        times = Times(part)
        found = [*of_collectives(times), *of_values(times), *of_sizes(times)]
        claims += [dataclasses.replace(claim, state=state) for claim in found]
    ratios = [confidence.difference(claim.left, claim.right) for claim in claims]
    bound = math.log1p(tolerance)
    violated = confidence.adjusted([confidence.chance_above(ratio, bound) for ratio in ratios])
    kept = confidence.adjusted([1 - confidence.chance_above(ratio, bound) for ratio in ratios])
    return [
        finding_of(claim, ratio, against, pro, level)
        for claim, ratio, against, pro in zip(claims, ratios, violated, kept, strict=True)
    ]


def finding_of(claim: Claim, ratio: Estimate, against: float, pro: float, level: float) -> Finding:
    low, high = confidence.interval(ratio, level)
    return Finding(
        rule=claim.rule,
        subject=claim.row.series,
        ranks=claim.row.ranks,
        bytes=claim.row.bytes,
        left_seconds=math.exp(claim.left.value),
        right_seconds=math.exp(claim.right.value),
        ratio=math.exp(ratio.value),
        low=math.exp(max(low, -700)),
        high=math.exp(min(high, 700)),
        chance=against,
        state=claim.state,
        verdict="violated" if against <= level else "kept" if pro <= level else "unclear",
    )


def violations(findings: Sequence[Finding]) -> list[Finding]:
    """The worst first."""
    return sorted((one for one in findings if one.verdict == "violated"), key=lambda one: -one.ratio)
