"""The row of the network in a table: measured between hosts (bench/network_ways.cpp), and fitted.

A message between two nodes takes `software_ns` + `latency_ns` + its bytes over a rate; many at a time are
limited by what one rank does for each (`software_ns` again), by the node's way (`gap_ns`) and by what all
ranks of a node can send together (`node_bytes_per_ns`).
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Sequence

from tasuki.tuning import TuningError, measure
from tasuki.tuning.programs import Programs
from tasuki.tuning.tables import NETWORK, TuningTable

CASES = 14  # of the program, at most
WINDOW, WINDOW_BYTES = 64, 8 << 20  # of its streams
LONG_BYTES = 64 << 10  # a longer message waits for its receive (link/ofi/ofi_link.hpp)
SHORT, STREAM_LONG, LONG_FIRST, LONG_LAST = 8, 1 << 20, 256 << 10, 4 << 20
SECONDS_MAX = 600
RATE_MAX = 1e6  # bytes a nanosecond: as fast as the table can say


@dataclasses.dataclass(frozen=True)
class Row:
    """Seconds of one message of each batch. The least counts: others may use the hosts meanwhile."""

    kind: str  # ping, stream
    pairs: int
    bytes: int
    seconds: Sequence[float]

    def ns(self) -> float:
        return 1e9 * min(self.seconds)


def measured(programs: Programs, hosts: Sequence[str], ranks: int | None, budget_seconds: float) -> list[Row]:
    """`hosts`: mpiexec's options that say which."""
    words = [programs.mpiexec, *hosts, *(["-n", str(ranks)] if ranks else [])]
    words += [programs.network_ways, f"{budget_seconds / CASES:.4f}"]
    try:
        done = subprocess.run(
            words, env=measure.environment(), capture_output=True, text=True, timeout=SECONDS_MAX
        )
    except subprocess.TimeoutExpired:
        raise TuningError(f"{programs.network_ways} did not end within {SECONDS_MAX} s") from None
    if done.returncode != 0:
        raise TuningError(done.stderr.strip()[-1000:] or f"{programs.network_ways}: status {done.returncode}")
    return [Row(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]


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

    software = min(stream(SHORT, 1), short)
    latency = short - software
    eager = rate(LONG_BYTES - SHORT, pings[LONG_BYTES] - short)
    long_rate = rate(LONG_LAST - LONG_FIRST, pings[LONG_LAST] - pings[LONG_FIRST])
    long_ns = max(pings[LONG_FIRST] - short - LONG_FIRST / long_rate, 0.0)
    values = {
        "software_ns": software,
        "latency_ns": latency,
        "bytes_per_ns": long_rate,
        "eager_bytes_per_ns": eager,
        "long_ns": long_ns,
        "long_bytes": LONG_BYTES,
        "gap_ns": stream(SHORT, pairs) / pairs,
        "node_bytes_per_ns": rate(pairs * STREAM_LONG, stream(STREAM_LONG, pairs)),
    }
    return {NETWORK + name: float(value) for name, value in values.items()}


def tuned(old: TuningTable, rows: Sequence[Row]) -> TuningTable:
    """The old table, with the network's row as measured."""
    return TuningTable({**old.values, **fitted(rows)}, dict(old.choices), names_network=True)
