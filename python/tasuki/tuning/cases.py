"""What is measured and chosen: a case (an operation, a size, a number of ranks) has series, which are the
algorithms that can do it, each with one size of segments where it cuts the data.

A series is written as the programs take it: "binomial", or "chain/4096" with segments of 4,096 bytes.
"""

from __future__ import annotations

import collections

# As bench/operations.hpp names them.
OPERATIONS = (
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "scan",
    "allgather",
    "alltoall",
    "reduce_scatter_block",
    "gather",
    "scatter",
)
SIZES = (8, 256, 4 << 10, 32 << 10, 256 << 10, 1 << 20)
# Of these the library counts the bytes of all blocks, we those of one.
WHOLE = ("allgather", "reduce_scatter")

Case = collections.namedtuple("Case", "operation bytes ranks")
Point = collections.namedtuple("Point", "operation bytes ranks series seconds")


def library_operation(name: str) -> str:
    return name.removesuffix("_block")


def library_bytes(case: Case) -> int:
    """The bytes of a case as the library counts them."""
    return case.bytes * case.ranks if library_operation(case.operation) in WHOLE else case.bytes


def case_of(point: Point) -> Case:
    return Case(*point[:3])


def algorithm_of(series: str) -> str:
    return series.partition("/")[0]


def grid(operations=OPERATIONS, ranks=(2, 4, 8), sizes=SIZES) -> list[Case]:
    """The cases of the regret table, those first that are furthest from one another."""
    spread = sorted(sizes, key=lambda size: (sorted(sizes).index(size) % 2, size))
    return [
        Case(operation, size, count)
        for size in spread
        for count in ranks
        for operation in operations
        if (operation != "barrier" or size == spread[0])
    ]


def as_barrier(case: Case) -> Case:
    """A barrier has no bytes."""
    return case._replace(bytes=0) if case.operation == "barrier" else case
