"""LogGP's parameters of a run, where its rows tell them: L, o_s, o_r, g, G, and the size up to which a send
leaves without its receive. `parameters_of` gives each with a sentence on what it is derived from.

- G is the slope of the ping-pong's last segment, 1/B.
- o_s is the time of a call in the `latency` benchmark (sends back to back): no less than the sender's work.
- g is the time of a message in the `rate` benchmark (a window of 64): the slower end's work, or the way's
  gap.
- o_r is g where g is above o_s, for then the receiver is the slower end; else it is at most g, and g is
  taken.
- The size up to which a send does not wait for its receive is seen in the `late_receive` benchmark; without
  it, it is the last switch of the ping-pong to a higher t_L.
- L is what remains of half a round trip of a ping-pong: L = t_L - o_s - o_r, and not below 0.
"""

from __future__ import annotations

import math

from tasuki import fit
from tasuki.fit import Estimate
from tasuki.results import Row, Run, base_of

LATE_SECONDS = 1e-3  # how much later the receive of the suite's late_receive comes


def parameters_of(run: Run) -> dict[str, tuple[Estimate, str]]:
    """Parameters of tasuki.machines, each with what it is derived from."""
    found: dict[str, tuple[Estimate, str]] = {}
    run = run.in_one_state()
    rows = base_rows(run, "pingpong")
    try:
        pingpong = fit.fit_series(rows) if rows else None
    except fit.FitError:
        pingpong = None
    if pingpong is None:
        return found
    first, last = pingpong.segments[0], pingpong.segments[-1]
    found["latency_seconds"] = first.latency_seconds, "t_L of the ping-pong's first segment"
    if math.isfinite(last.bytes_per_second.value):
        found["link_bytes_per_second"] = last.bytes_per_second, "1/G: B of the ping-pong's last segment"
    rising = [one for one, rises in zip(pingpong.breaks, rises_at(pingpong), strict=True) if rises]
    waiting = sends_that_wait(run)
    if waiting is not None:
        found["eager_bytes_max"] = waiting, "the largest message of late_receive whose send does not wait"
    elif rising:
        where = Estimate(rising[-1].before, rising[-1].low, rising[-1].high)
        found["eager_bytes_max"] = where, "the last switch of the ping-pong to a higher t_L, B being no less"
    send = stream_time(base_rows(run, "latency"))
    if send is None:
        return found
    found["send_overhead_seconds"] = send, "o_s: a call in the latency benchmark, sends back to back"
    gap = stream_time(base_rows(run, "rate"))
    if gap is None:
        return found
    found["gap_seconds"] = gap, "g: a message in the rate benchmark"
    note = "o_r: g, as the receiver is the slower end"
    if gap.value <= send.value:
        note = "o_r: at most g; the sender is the slower end"
        gap = Estimate(gap.value, 0.0, gap.high)
    found["receive_overhead_seconds"] = gap, note
    return found


def sends_that_wait(run: Run) -> Estimate | None:
    """The size up to which a send leaves before its receive, by the suite's late_receive; None: not told."""
    rows = sorted(base_rows(run, "late_receive"), key=lambda row: row.bytes)
    leaving = [row.bytes for row in rows if row.median_seconds < LATE_SECONDS / 2]
    waiting = [row.bytes for row in rows if row.median_seconds >= LATE_SECONDS / 2]
    if not leaving or not waiting:
        return None
    return Estimate(max(leaving), max(leaving), min(waiting))


def base_rows(run: Run, benchmark: str) -> list[Row]:
    """The rows of a point-to-point benchmark in its base variant of MPI_Send: the one with the most sizes."""
    series = [
        rows
        for rows in run.series().values()
        if (rows[0].group, rows[0].benchmark) == ("point_to_point", benchmark)
    ]
    plain = [rows for rows in series if rows[0].variant.get("mode", "send") == "send"]
    return base_of(plain or series)


def stream_time(rows: list[Row]) -> Estimate | None:
    """The time of the smallest message."""
    if not rows:
        return None
    row = min(rows, key=lambda row: row.bytes)
    return Estimate(row.median_seconds, row.low_seconds, row.high_seconds)


def rises_at(pingpong: fit.SeriesFit) -> list[bool]:
    """For each switch, whether it is one to a protocol with more steps: the time at it is more behind it than
    before it, and the bandwidth no less. (Where a cache ends, the bandwidth falls as well.)"""
    found = []
    for before, after, one in zip(pingpong.segments, pingpong.segments[1:], pingpong.breaks, strict=False):
        size = math.sqrt(one.before * one.after)
        slower = after.bytes_per_second.value < 0.8 * before.bytes_per_second.low
        found.append(after.seconds(size) > before.seconds(size) and not slower)
    return found
