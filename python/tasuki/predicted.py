"""What comes of a replay (tasuki.replay): of each call what was measured and what was predicted, in tables
for people and programs."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import pathlib

import numpy as np

from tasuki import trace as traces
from tasuki.trace import Trace

# How far off predictions of programs were, by kind: "traced", "shared" (of ranks that share processors), and
# "scaled" (of other ranks than those traced). bench/predict_programs.py and predict_scaled.py add to it.
ERRORS, ERRORS_VERSION = pathlib.Path(__file__).parent / "prediction_errors.json", 1
HELD = 0.95  # of the runs
# Of those in which other programs had less of the processors: what more of them does to ranks that wait for
# each other is no error of the model.
QUIET = 0.1


@functools.cache
def recorded_errors() -> dict[str, list[float]]:
    """kind -> of each recorded run by which part of what has a price it took longer than predicted, beyond
    what other programs took of the processors."""
    found: dict[str, list[float]] = {}
    for run in json.loads(ERRORS.read_text())["runs"]:
        if run["others"] < QUIET:
            found.setdefault(run["kind"], []).append(run["error"])
    return found


def bounds_of(errors: list[float]) -> tuple[float, float]:
    """Between which errors one more run like these is in HELD of all cases, whatever their distribution: as
    many of n known ones are left out at either end as (n + 1)(1 - HELD)/2 allows, none of fewer than 39."""
    ordered = sorted(errors)
    out = max(int((len(ordered) + 1) * (1 - HELD) / 2), 1) - 1
    return min(ordered[out], 0.0), max(ordered[-1 - out], 0.0)


@dataclasses.dataclass
class Replay:
    trace: Trace
    calls: object  # a data frame: world, rank, thread, function, phase, measured, predicted, priced
    measured_seconds: float  # of the program: from the first MPI_Init's end to MPI_Finalize, or the last call
    predicted_seconds: float
    hows: dict[str, str]  # of operations: how their prices were found
    notes: list[str]
    ranks: int  # predicted; those measured are the trace's
    others_seconds: float = 0.0  # what other programs took of the ranks' processors
    shares_processors: bool = False  # more ranks than these

    @property
    def kind(self) -> str:
        """Of the errors that its interval is made of."""
        return "scaled" if self.scaled else "shared" if self.shares_processors else "traced"

    @property
    def priced(self) -> float:
        """Seconds in MPI of calls that have a price."""
        return float(self.calls.loc[self.calls["priced"], "predicted"].sum())

    @property
    def interval(self) -> tuple[float, float]:
        """Where the time in MPI is in 19 of 20 runs: what has a price is off by as much as in recorded runs,
        and a rank in a call may have waited for what other programs took of its processor."""
        low, high = (bound * self.priced for bound in bounds_of(recorded_errors()[self.kind]))
        return max(
            0.0, self.predicted + low - self.others_seconds
        ), self.predicted + high + self.others_seconds

    def error(self, measured: float) -> float:
        """As recorded_errors() has them, where that was measured."""
        off = measured - self.predicted
        beyond = max(abs(off) - self.others_seconds, 0.0)
        return math.copysign(beyond / self.priced, off) if self.priced else 0.0

    @property
    def scaled(self) -> bool:
        """Whether it is of other ranks than those traced."""
        return self.ranks != len(self.trace.parts)

    @property
    def measured(self) -> float:
        """Seconds in MPI, of all ranks that were traced together."""
        return float(self.calls["measured"].sum())

    @property
    def predicted(self) -> float:
        return float(self.calls["predicted"].sum())

    def document(self) -> dict:
        """For a JSON file."""
        return document_of(self)

    def text(self) -> str:
        """A table for people."""
        return text_of(self)

    def by(self, *columns: str):
        """Calls, measured and predicted seconds for each value of the columns, the longest first."""
        grouped = self.calls.groupby(list(columns), observed=True)
        found = grouped.agg(
            calls=("calls", "sum"), measured=("measured", "sum"), predicted=("predicted", "sum")
        )
        found["ratio"] = found["predicted"] / found["measured"].where(found["measured"] > 0)
        return found.sort_values("measured", ascending=False).reset_index()


def frame_of(builder):
    import pandas

    frames = []
    for timeline in builder.timelines:
        part, events = timeline.part, timeline.events
        if not events:
            continue
        rows = np.array([event.row for event in events], dtype=np.int64)
        phases = traces.category(part.columns["phase"][rows], part.phases)
        frames.append(
            pandas.DataFrame(
                {
                    "world": part.world,
                    "rank": part.rank,
                    "thread": timeline.thread,
                    "function": [event.name for event in events],
                    "phase": phases,
                    "calls": part.columns["repeats"][rows] + 1,
                    "measured": [0.0 if timeline.copied else event.length for event in events],
                    "predicted": [event.predicted for event in events],
                    "priced": [not event.unpriced for event in events],
                }
            )
        )
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


def notes_of(trace: Trace, builder, engine, calls) -> list[str]:
    notes = list(trace.troubles)
    pools = getattr(engine, "pools", {})
    shared = [one.part for one in builder.timelines if engine.pool(one) is not None] if pools else []
    if shared:
        ranks = len({(part.world, part.rank) for part in shared})
        processors = sum(pool.processors for pool in pools.values())
        notes.append(
            f"{ranks} ranks shared {processors} processors, evenly and in time slices in "
            "the prediction; what a call costs where ranks wait for processors is known less well"
        )
    if trace.others_seconds > 0:
        notes.append(
            f"other programs took {trace.others_seconds:.2g} s of the processors: so much longer or shorter "
            "may the time in MPI be"
        )
    if builder.unmatched:
        notes.append(f"{builder.unmatched} sends and receives have no other end in the trace")
    if engine.as_recorded:
        notes.append(
            f"{engine.as_recorded} calls wait for what is not in the trace: they take what was recorded"
        )
    recorded = calls.loc[~calls["priced"], "measured"].sum()
    if recorded > 0:
        share = recorded / calls["measured"].sum()
        notes.append(
            f"{100 * share:.2g} % of the measured time is of calls without a price: taken as recorded"
        )
    notes += builder.notes
    notes += [f"{name}: {how}" for name, how in engine.hows.items() if "substituted" in how or "extra" in how]
    return notes


# ---- for people and programs ----


def document_of(found: Replay) -> dict:
    def rows(*columns):
        return json_rows(found.by(*columns))

    return {
        "tasuki_prediction": 1,
        "kind": "trace",
        "trace": found.trace.path,
        "ranks": found.ranks,
        "ranks_measured": len(found.trace.parts),
        "measured_seconds": found.measured,
        "predicted_seconds": found.predicted,
        "predicted_seconds_low": found.interval[0],
        "predicted_seconds_high": found.interval[1],
        "others_seconds": found.others_seconds,
        "measured_run_seconds": found.measured_seconds,
        "predicted_run_seconds": found.predicted_seconds,
        "functions": rows("function"),
        "ranks_of": rows("world", "rank"),
        "phases": rows("phase"),
        "prices": found.hows,
        "notes": found.notes,
    }


def json_rows(frame) -> list[dict]:
    def number_of(value):
        return value.item() if hasattr(value, "item") else value

    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{name: number_of(value) for name, value in record.items()} for record in records]


def text_of(found: Replay) -> str:
    from tasuki.units import time_text

    ratio = found.predicted / found.measured - 1 if found.measured > 0 else 0.0
    traced = len(found.trace.parts)
    of, measured, predicted = f"{traced} ranks", "measured", "predicted"
    off = f" ({100 * ratio:+.1f} %)"
    if found.scaled:
        of += f", predicted among {found.ranks}"
        measured, predicted, off = f"{traced} ranks", f"{found.ranks} ranks", ""
    lines = [
        f"{found.trace.path}: {of}, {int(found.calls['calls'].sum())} calls",
        "",
        f"time in MPI, all ranks:  {measured} {time_text(found.measured)}, "
        f"{predicted} {time_text(found.predicted)}{off}",
        f"                         in 19 of 20 runs from {' to '.join(map(time_text, found.interval))}",
        f"time of the program:     {measured} {time_text(found.measured_seconds)}, "
        f"{predicted} {time_text(found.predicted_seconds)}",
    ]
    for title, columns in (("function", ["function"]), ("rank", ["world", "rank"]), ("phase", ["phase"])):
        table = found.by(*columns)
        if title == "phase" and len(table) < 2:
            continue
        lines += ["", f"{title:<28}{'calls':>10}{measured:>14}{predicted:>14}{'ratio':>8}"]
        for row in table.to_dict("records"):
            name = str(row[columns[-1]]) or "(none)"
            if row.get("world"):
                name = f"{row['world']}.{name}"
            shown = "-" if not row["ratio"] == row["ratio"] else f"{row['ratio']:.2f}"
            lines.append(
                f"{name:<28}{row['calls']:>10}{time_text(row['measured']):>14}{time_text(row['predicted']):>14}{shown:>8}"
            )
    lines += [""] + [f"note: {note}" for note in found.notes] if found.notes else []
    return "\n".join(lines)
