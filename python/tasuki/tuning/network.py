"""The row of the network in a table: measured between nodes (bench/network_ways.cpp), and fitted.

A message between two nodes takes `software_ns` + `latency_ns` + its bytes over a rate. `software_ns` is what
the call takes that sends it alone; but at most half of the whole, since over a loopback interface it
delivers it, too. Of many at a time, which leave together, each takes `gap_ns` of the node's way, and all
ranks of a node send `node_bytes_per_ns` together.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Sequence

import numpy

from tasuki import environment
from tasuki.tuning import TuningError, measure
from tasuki.tuning.placement import Placement
from tasuki.tuning.programs import Programs
from tasuki.tuning.samples import lower_quartile
from tasuki.tuning.tables import NETWORK, TuningTable

CASES = 15  # of the program, at most
BUDGET_SECONDS_MAX = 30  # more do not tell more
WINDOW, WINDOW_BYTES = 64, 8 << 20  # of its streams
LONG_BYTES = 64 << 10  # a longer message waits for its receive (link/ofi/ofi_link.hpp)
SHORT, STREAM_LONG = 8, 1 << 20
SECONDS_MAX = 600
RATE_MAX = 1e6  # bytes a nanosecond: as fast as the table can say


@dataclasses.dataclass(frozen=True)
class Row:
    """Seconds of one message of each batch. The lower quartile counts: others may use the hosts meanwhile,
    and the least is a matter of luck."""

    kind: str  # ping, send, stream
    pairs: int
    bytes: int
    seconds: Sequence[float]

    def ns(self) -> float:
        return 1e9 * lower_quartile(self.seconds)


def measured(programs: Programs, place: Placement, ranks: int, budget_seconds: float) -> list[Row]:
    """Between the first two nodes, by as many of the ranks as have a processor: those that wait for a pair
    would hold it up."""
    processors = int(place.processors(environment.processors()))
    ranks = place.nodes * max(1, min(ranks // place.nodes, processors))
    seconds = min(budget_seconds, BUDGET_SECONDS_MAX)
    words = [programs.mpiexec, *place.options(ranks), "-n", str(ranks)]
    words += [programs.network_ways, f"{seconds / CASES:.4f}"]
    try:
        done = subprocess.run(
            words, env=measure.environment(), capture_output=True, text=True, timeout=SECONDS_MAX
        )
    except subprocess.TimeoutExpired:
        raise TuningError(f"{programs.network_ways} did not end within {SECONDS_MAX} s") from None
    if done.returncode != 0:
        raise TuningError(done.stderr.strip()[-1000:] or f"{programs.network_ways}: status {done.returncode}")
    return [Row(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]


def line(sizes: Sequence[float], times: Sequence[float]) -> tuple[float, float]:
    """Latency and slope of the line with the least squares of relative deviations; neither is below 0."""
    x, t = numpy.array(sizes, float), numpy.array(times, float)
    columns = numpy.stack([1 / t, x / t], axis=1)
    latency, slope = numpy.linalg.lstsq(columns, numpy.ones(len(t)), rcond=None)[0]
    if latency < 0:
        latency, slope = 0.0, columns[:, 1].sum() / (columns[:, 1] @ columns[:, 1])
    if slope < 0:
        latency, slope = columns[:, 0].sum() / (columns[:, 0] @ columns[:, 0]), 0.0
    return float(latency), float(slope)


def rate(bytes_more: int, ns_more: float) -> float:
    return min(bytes_more / ns_more, RATE_MAX) if ns_more > 0 else RATE_MAX


def fitted(rows: Sequence[Row]) -> dict[str, float]:
    """The parameters, by path."""
    pings = {row.bytes: row.ns() for row in rows if row.kind == "ping"}
    pairs = max(row.pairs for row in rows)
    short = pings[SHORT]

    def stream(size: int, of_pairs: int) -> float:
        """ns a message, without the answer that ends a window."""
        found = [row.ns() for row in rows if (row.kind, row.pairs, row.bytes) == ("stream", of_pairs, size)]
        window = max(1, min(WINDOW, WINDOW_BYTES // size))
        return max(found[0] - short / window, found[0] / 2)

    (sending,) = (row.ns() for row in rows if row.kind == "send")
    software = min(sending, short / 2)
    latency = short - software
    _, eager_slope = line(*zip(*(pair for pair in pings.items() if pair[0] <= LONG_BYTES), strict=True))
    begun, long_slope = line(*zip(*(pair for pair in pings.items() if pair[0] > LONG_BYTES), strict=True))
    values = {
        "software_ns": software,
        "latency_ns": latency,
        "bytes_per_ns": rate(1, long_slope),
        "eager_bytes_per_ns": rate(1, eager_slope),
        "long_ns": max(begun - short, 0.0),
        "long_bytes": LONG_BYTES,
        "gap_ns": stream(SHORT, pairs) / pairs,
        "node_bytes_per_ns": rate(pairs * STREAM_LONG, stream(STREAM_LONG, pairs)),
    }
    return {NETWORK + name: float(value) for name, value in values.items()}


def tuned(old: TuningTable, rows: Sequence[Row]) -> TuningTable:
    """The old table, with the network's row as measured."""
    return TuningTable({**old.values, **fitted(rows)}, dict(old.choices), names_network=True)
