"""What a report is made of: the run, its peers, fits, predictions; and how rows are found in it.

The first run is the one reported on; the others are its peers. `Material.names` tells them apart, and a
run's place among the runs is its style in every chart where lines are implementations.
"""

from __future__ import annotations

import dataclasses
import pathlib
import statistics

from tasuki.compare import Comparison, Verdict
from tasuki.guidelines import Finding
from tasuki.report.predictions import Prediction
from tasuki.results import Row, Run, base_of
from tasuki.units import number_text

GROUP_TITLES = {
    "point_to_point": "Point-to-point",
    "collectives": "Collectives",
    "concurrent": "Concurrent patterns",
    "rma": "One-sided communication",
    "io": "Files",
    "start_up": "Start-up",
}


PROPER_NAMES = {"tasuki": "Tasuki", "mpich": "MPICH", "openmpi": "Open MPI", "impi": "Intel MPI"}


@dataclasses.dataclass
class Material:
    """`fits`: of the run's series (fit.SeriesFit), by name. `comparisons`: of the run with each peer, None
    where they have no row in common. `findings`: of tasuki.guidelines. `predictions`: what predict --json
    wrote.
    """

    runs: list[Run]
    names: list[str]
    fits: dict = dataclasses.field(default_factory=dict)
    comparisons: list[Comparison | None] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    predictions: list[Prediction] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.verdicts = [by_case(comparison.rows) if comparison else {} for comparison in self.comparisons]

    @property
    def run(self) -> Run:
        return self.runs[0]

    @property
    def peers(self) -> list[tuple[str, Run]]:
        return list(zip(self.names, self.runs, strict=True))[1:]

    def verdicts_of(self, peer: int, rows: list[Row]) -> list[Verdict]:
        """The run's rows against those of a peer (its place among the peers), where both have them: one for
        each state of the machine that both were measured in."""
        found = self.verdicts[peer]
        return [verdict for row in rows for verdict in found.get((row.series, row.bytes), [])]

    def groups(self) -> list[str]:
        """The run's groups: those that have a title first, in that order."""
        found = list(dict.fromkeys(row.group for row in self.run.rows if row.group != "limit"))
        return sorted(found, key=lambda group: (list(GROUP_TITLES) + found).index(group))


def by_case(verdicts: list[Verdict]) -> dict[tuple[str, int], list[Verdict]]:
    found: dict[tuple[str, int], list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.series, verdict.bytes), []).append(verdict)
    return found


def names_of(runs: list[Run]) -> list[str]:
    """What tells the runs apart: the implementation's name, with as much besides as is needed."""
    given = [str(run.implementation.get("name") or pathlib.Path(run.path).stem or "run") for run in runs]
    plain = [PROPER_NAMES.get(name, name) for name in given]
    versions = [str(run.implementation.get("version") or "") for run in runs]
    tunings = [pathlib.Path(str(run.implementation.get("tuning") or "")).stem for run in runs]
    files = [pathlib.Path(run.path).stem for run in runs]
    for extras in ((plain,), (plain, versions), (plain, tunings), (plain, files)):
        names = [" ".join(filter(None, words)) for words in zip(*extras, strict=True)]
        if len(set(names)) == len(runs):
            return names
    return [f"{name} ({place})" for place, name in enumerate(plain, 1)]


def state_text(run: Run) -> str:
    """The state of the machine: "cache lines near (85 ns there and back)"; empty where no row knows it."""
    told = []
    parts = {state: part.rows for state, part in run.by_state().items() if state}
    for state, rows in parts.items():
        middle = statistics.median(seconds for row in rows for seconds in row.line_seconds)
        count = f" in {len(rows)} rows" if len(parts) > 1 else ""
        told.append(f"{state}{count} ({number_text(1e9 * middle)} ns there and back)")
    return f"cache lines {', '.join(told)}" if told else ""


def states_differ(runs: list[Run]) -> bool:
    """Whether what was measured mixes states of the machine."""
    return len({state for run in runs for state in run.by_state() if state}) > 1


def words_of(variant: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}".replace("_", " ") for name, value in variant.items())


def differing_in(rows: list[Row]) -> list[str]:
    """The names of the parts in which the rows' variants differ."""
    names = dict.fromkeys(name for row in rows for name in row.variant)
    return [name for name in names if len({row.variant.get(name) for row in rows}) > 1]


def labels_of(rows: list[Row], base: Row | None = None) -> list[str]:
    """What tells rows of one benchmark apart: the parts of their variants in which they differ.

    Where more than two parts differ, of each row only those that are not as in `base` (the first row, unless
    given), which is called the base case.
    """
    differing, base = differing_in(rows), base or rows[0]
    labels = []
    for row in rows:
        told = {name: row.variant[name] for name in differing if name in row.variant}
        if len(differing) > 2:
            told = {name: value for name, value in told.items() if base.variant.get(name) != value}
        labels.append(words_of(told) or "base case")
    return labels


def common_of(rows: list[Row]) -> str:
    """The parts of the variants that all the rows have in common."""
    first = rows[0].variant.items()
    return words_of({name: value for name, value in first if all(r.variant.get(name) == value for r in rows)})


def title_of(row: Row) -> str:
    return row.benchmark.replace("_", " ")


def series_in(run: Run, group: str, benchmark: str | None = None) -> list[list[Row]]:
    """The series of a group (and benchmark), in the file's order, each in the order of its sizes."""
    found: dict[str, list[Row]] = {}
    for row in run.rows:
        if row.group == group and benchmark in (None, row.benchmark):
            found.setdefault(row.series, []).append(row)
    return [sorted(rows, key=lambda row: row.bytes) for rows in found.values()]


def benchmarks_in(run: Run, group: str) -> list[str]:
    return list(dict.fromkeys(row.benchmark for row in run.rows if row.group == group))


def main_series(run: Run, group: str, benchmark: str) -> list[Row]:
    """The base case of a benchmark."""
    return base_of(series_in(run, group, benchmark))


def rows_of(run: Run, series: str) -> list[Row]:
    return sorted((row for row in run.rows if row.series == series), key=lambda row: row.bytes)


def pingpong(run: Run) -> list[Row]:
    return main_series(run, "point_to_point", "pingpong")


def copies(run: Run) -> list[Row]:
    """The limit of a ping-pong: of each size the quickest bare copy, with buffers touched as its own are."""
    base = pingpong(run)
    touched = base[0].variant.get("touched") if base else None
    best: dict[int, Row] = {}
    for row in run.rows:
        copied = row.group == "limit" and row.benchmark == "copy" and row.bytes > 0
        if copied and row.variant.get("touched") == touched:
            quicker = row.bytes not in best or row.median_seconds < best[row.bytes].median_seconds
            best[row.bytes] = row if quicker else best[row.bytes]
    return [best[size] for size in sorted(best)]
