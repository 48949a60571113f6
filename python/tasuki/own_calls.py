"""What a trace says of a process's own calls, whatever the machine: how long they take where no rank waits,
how much of a loop of tests is in MPI, and what computing before a call does to the caches."""

from __future__ import annotations

import numpy as np

from tasuki import trace as traces
from tasuki.trace import Part

# In so long a processor has gone through its own caches by computing, 1 MiB at 10 GB/s, and through all of
# 32 MiB. Of what it reads there most has been there before: new data come at a fourth of that, fitted to the
# kernels IS and FT (docs/trace.md).
USED_SECONDS, COLD_SECONDS = 100e-6, 12.8e-3


def used_after(seconds: float) -> float:
    """What so much computing does to the caches: 1, the processor's own ones have other data; 2, all have."""
    if seconds <= USED_SECONDS:
        return seconds / USED_SECONDS
    return 1.0 + min(1.0, (seconds - USED_SECONDS) / (COLD_SECONDS - USED_SECONDS))


def shares_of(part: Part) -> dict[int, float]:
    """For each function that found nothing at times: how much of the time from such a call to the next one of
    it, or in it, is in MPI."""
    columns, found = part.columns, {}
    nothing = columns["flags"] & traces.UNANSWERED != 0
    for function in np.unique(columns["function"][nothing]).tolist():
        rows = np.flatnonzero(columns["function"] == function)
        rows, last = rows[nothing[rows]], rows[-1]
        spans = columns["end"][rows] - columns["begin"][rows]
        following = rows[rows < last] + 1
        follows = following[columns["function"][following] == function]
        between = (columns["begin"][follows] - columns["end"][follows - 1]).sum()
        inside = (spans - columns["outside"][rows]).sum()
        found[function] = float(inside / max(spans.sum() + between, 1))
    return found


def quick_tests_of(part: Part) -> dict[int, float]:
    """For each function that found nothing at times what the quickest quarter of such calls took, or of those
    that found something where that is less: in others a rank may have given its processor away, and where
    ranks share processors nearly all that find nothing do."""
    columns, found = part.columns, {}
    nothing = columns["flags"] & traces.UNANSWERED != 0
    lengths = (columns["end"] - columns["begin"] - columns["outside"]) / (columns["repeats"] + 1) * 1e-9
    for function in np.unique(columns["function"][nothing]).tolist():
        of_it = columns["function"] == function
        kinds = [lengths[of_it & nothing], lengths[of_it & ~nothing]]
        found[function] = min(float(np.quantile(kind, 0.25)) for kind in kinds if kind.size)
    return found


def least_of(part: Part, waited: np.ndarray) -> list[float]:
    """For each call that completes requests what the quickest quarter of calls like it took, without the
    seconds that each waited for other ranks to begin theirs: of the same function, with as many requests and
    as many bytes, or about as many. 0 where there are fewer than 8."""
    columns = part.columns
    sums = np.concatenate([[0], np.cumsum(np.maximum(columns["done_bytes"] - 1, 0))])
    ends = np.cumsum(columns["done"])
    received = sums[ends] - sums[ends - columns["done"]]
    lengths = (columns["end"] - columns["begin"] - columns["outside"]) * 1e-9
    lengths = np.maximum(lengths - waited, 0.0)
    found = np.zeros(len(lengths))
    rows = np.flatnonzero(columns["done"] > 0)
    if not rows.size:
        return found.tolist()
    about = np.ceil(np.log2(np.maximum(received, 1))).astype(np.int64)
    for size in (about, received):  # the latter where there are enough of that very size
        kinds = np.stack([columns["function"], columns["done"], size])[:, rows]
        _, numbers, counts = np.unique(kinds, axis=1, return_inverse=True, return_counts=True)
        for number in np.flatnonzero(counts >= 8):
            alike = rows[numbers.reshape(-1) == number]
            found[alike] = np.quantile(lengths[alike], 0.25)
    return found.tolist()


def lengths_of(part: Part) -> list[float]:
    """For each call the median of what calls like it took: of the same function, with a partner or with none
    (MPI_PROC_NULL), and of about the same size. For calls that wait for no rank."""
    columns = part.columns
    partner = (columns["peer"] >= 0) | (columns["source"] >= 0) | (columns["source"] == traces.ANY_SOURCE)
    size = np.ceil(np.log2(np.maximum(columns["sent"] + columns["received"], 1))).astype(np.int64)
    kinds = (columns["function"] * 2 + partner) * 64 + size
    lengths = (columns["end"] - columns["begin"] - columns["outside"]) * 1e-9
    found = np.zeros(len(lengths))
    for kind in np.unique(kinds):
        found[kinds == kind] = np.median(lengths[kinds == kind])
    return found.tolist()
