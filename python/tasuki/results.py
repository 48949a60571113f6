"""Results of the benchmark suite: docs/results.md describes the file, and this module reads and writes it.

A `Run` is one file: one MPI (with one tuning table) on one machine. `Run.frame()` gives its rows as a tidy
data frame. What is wrong with a file is a `ResultsError`, which names file, place, value and
what was expected.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import math
import pathlib
import statistics

VERSION = 1
# A cache line that goes there and back in less comes from a cache that both processors share.
FAR_SECONDS = 200e-9
STATES = ("near", "far")


class ResultsError(ValueError):
    """A file of results that cannot be used, or results that cannot be used together."""


@dataclasses.dataclass
class Row:
    """One case: a benchmark in one variant at one size. The fields are those of docs/results.md."""

    group: str
    benchmark: str
    variant: dict[str, str]
    ranks: int
    bytes: int
    seconds: list[float]
    median_seconds: float
    low_seconds: float
    high_seconds: float
    rounds: int = 1
    factor: float = 1.0
    outliers: list[int] = dataclasses.field(default_factory=list)
    settled: bool = True
    checked: bool | None = None
    late: int = 0
    parts: list[int] = dataclasses.field(default_factory=list)
    clock_error_seconds: float = 0.0
    line_seconds: list[float] = dataclasses.field(default_factory=list)
    notes: dict[str, float] = dataclasses.field(default_factory=dict)

    def extend(self, later: Row, width: float) -> None:
        """Takes over the samples of the same case in a later round."""
        self.seconds += later.seconds
        self.parts.append(len(later.seconds))
        self.late += later.late
        self.clock_error_seconds = max(self.clock_error_seconds, later.clock_error_seconds)
        self.line_seconds = self.line_seconds + later.line_seconds
        for name, value in summarise(self.seconds).items():
            setattr(self, name, value)
        self.settled = self.high_seconds - self.low_seconds <= width * self.median_seconds

    def states(self) -> list[str]:
        """The state of the machine in each round: near or far, or "" where it changed meanwhile. Empty: it is
        not known."""
        if len(self.line_seconds) != 2 * max(1, len(self.parts)):
            return []
        far = [seconds >= FAR_SECONDS for seconds in self.line_seconds]
        pairs = zip(far[::2], far[1::2], strict=True)
        return [STATES[before] if before == after else "" for before, after in pairs]

    def by_state(self) -> dict[str, Row]:
        """What was measured in each state; {"": the whole row} where none is known."""
        states = self.states()
        if not states:
            return {"": self}
        if len(states) == 1:
            return {states[0]: self} if states[0] else {}
        return {state: self.in_state(state) for state in STATES if state in states}

    def in_state(self, state: str) -> Row:
        """The rounds that were in this state alone."""
        kept = [place for place, one in enumerate(self.states()) if one == state]
        ends = list(itertools.accumulate(self.parts))
        rounds = [self.seconds[ends[place] - self.parts[place] : ends[place]] for place in kept]
        seconds = list(itertools.chain(*rounds))
        lines = itertools.chain(*(self.line_seconds[2 * place : 2 * place + 2] for place in kept))
        parts = [self.parts[place] for place in kept]
        told = {"seconds": seconds, "parts": parts, "line_seconds": list(lines)}
        return dataclasses.replace(self, **told, **summarise(seconds))

    @property
    def series(self) -> str:
        """What the sizes are a series of: "point_to_point/pingpong/mode=send@2"."""
        return self.named(self.variant)

    def named(self, variant: dict[str, str]) -> str:
        """The series with only these words of its variant."""
        words = ",".join(f"{name}={value}" for name, value in variant.items())
        return "/".join(filter(None, (self.group, self.benchmark, words))) + f"@{self.ranks}"

    @property
    def bytes_per_second(self) -> float:
        return self.factor * self.bytes / self.median_seconds


@dataclasses.dataclass
class Run:
    implementation: dict
    environment: dict
    settings: dict
    rows: list[Row]
    troubles: list[str] = dataclasses.field(default_factory=list)
    left_out: list[str] = dataclasses.field(default_factory=list)
    path: str = ""  # where it was read from

    def in_state(self, state: str) -> Run:
        """What was measured in this state of the machine, and rows whose state is not known."""
        found = self.by_state()
        return dataclasses.replace(
            self, rows=[row for one in ("", state) if one in found for row in found[one].rows]
        )

    def in_one_state(self) -> Run:
        """For lines through sizes and for prices: of each series what was measured in the state of the
        machine that most of its rows are of (of two as frequent, most rows of the run)."""
        of_all = collections.Counter(state for row in self.rows for state in row.by_state())
        kept = []
        for rows in self.series().values():
            split = [row.by_state() for row in rows]
            counted = collections.Counter(state for states in split for state in states)
            if len(counted) > 1 or len(split) > counted.total() > 0:
                state = max(counted, key=lambda one: (counted[one], of_all[one]))
                rows = [states[state] for states in split if state in states]
            kept += rows
        return dataclasses.replace(self, rows=kept)

    def by_state(self) -> dict[str, Run]:
        """The run in each state of the machine; "": rows whose state is not known."""
        split = [row.by_state() for row in self.rows]
        found = {}
        for state in ("", *STATES):
            rows = [states[state] for states in split if state in states]
            if rows:
                found[state] = dataclasses.replace(self, rows=rows)
        return found

    def series(self) -> dict[str, list[Row]]:
        """The rows by series, each in the order of its sizes."""
        found: dict[str, list[Row]] = {}
        for row in sorted(self.rows, key=lambda row: row.bytes):
            found.setdefault(row.series, []).append(row)
        return found

    def short_names(self) -> dict[str, str]:
        """Each series by what tells it from its benchmark's base case, which is the one with the most sizes:
        "point_to_point/pingpong/mode=rsend@2"."""
        series = list(self.series().values())
        kinds: dict[tuple[str, str], list[list[Row]]] = {}
        for rows in series:
            kinds.setdefault((rows[0].group, rows[0].benchmark), []).append(rows)
        bases = {kind: base_of(found)[0].variant for kind, found in kinds.items()}
        names = {}
        for row in (rows[0] for rows in series):
            base = bases[row.group, row.benchmark]
            told = {name: value for name, value in row.variant.items() if base.get(name) != value}
            names[row.series] = row.named(told)
        return names

    def frame(self):
        """The rows as a pandas.DataFrame: one line a case, one column a field and each variant's name."""
        import pandas

        records = []
        for row in self.rows:
            record = {"implementation": self.implementation.get("name", ""), **dataclasses.asdict(row)}
            record.pop("variant"), record.pop("notes")
            record |= {f"variant.{name}": value for name, value in row.variant.items()}
            record |= {f"notes.{name}": value for name, value in row.notes.items()}
            records.append(record | {"series": row.series, "bytes_per_second": row.bytes_per_second})
        return pandas.DataFrame.from_records(records)

    def save(self, path: str | pathlib.Path) -> None:
        """Writes the file, whole or not at all: a row on each line."""
        document = {"tasuki_results": VERSION, **dataclasses.asdict(self), "rows": []}
        document.pop("path")
        rows = ",\n".join(f"  {json.dumps(dataclasses.asdict(row))}" for row in self.rows)
        head, tail = json.dumps(document, indent=1).split('"rows": []')
        path = pathlib.Path(path)
        draft = path.with_name(path.name + ".part")
        try:
            draft.write_text(f'{head}"rows": [\n{rows}\n ]{tail}\n')
            draft.replace(path)
        except OSError as error:
            raise ResultsError(f"{path}: {error.strerror}") from None


def base_of(series: list[list[Row]]) -> list[Row]:
    """A benchmark's base case: the series with the most sizes; of several, one whose data are in use."""
    return max(series, key=lambda rows: (len(rows), rows[0].variant.get("touched") != "no"), default=[])


def read_document(path: str | pathlib.Path, field: str, version: int, expected: str) -> dict:
    """The JSON object of a file whose `field` holds the version of its format; `expected`: what wrote it."""
    try:
        document = json.loads(pathlib.Path(path).read_text())
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ResultsError(f"{path}: is no whole JSON document: {error}") from None
    if not isinstance(document, dict) or field not in document:
        raise ResultsError(f"{path}: has no field {field}: expected {expected}")
    if document[field] != version:
        raise ResultsError(f"{path}: {field} = {document[field]!r}, expected {version}")
    return document


def load(path: str | pathlib.Path) -> Run:
    """Reads and checks a file of results."""
    document = read_document(path, "tasuki_results", VERSION, "a file that `tasuki bench` wrote")
    parts = {}
    for name, kind in (("implementation", dict), ("environment", dict), ("settings", dict), ("rows", list)):
        if not isinstance(document.get(name), kind):
            raise ResultsError(f"{path}: {name} = {document.get(name)!r}, expected {kind.__name__}")
        parts[name] = document[name]
    parts["rows"] = [row_of(row, f"{path}: rows[{place}]") for place, row in enumerate(parts["rows"])]
    for name in ("troubles", "left_out"):
        parts[name] = document.get(name, [])
        if not isinstance(parts[name], list):
            raise ResultsError(f"{path}: {name} = {parts[name]!r}, expected list")
    return Run(**parts, path=str(path))


def row_of(document: dict, place: str = "row") -> Row:
    """A checked row, of the object that a program or a file tells."""
    if not isinstance(document, dict):
        raise ResultsError(f"{place} = {document!r}, expected an object")
    known = {field.name: field for field in dataclasses.fields(Row)}
    needed = [name for name, field in known.items() if is_needed(field)]
    missing = [name for name in needed if name not in document]
    if missing:
        raise ResultsError(f"{place}: has no {', '.join(missing)}")
    row = Row(**{name: value for name, value in document.items() if name in known})
    for name in ("ranks", "bytes", "rounds"):
        least = 0 if name == "bytes" else 1
        value = getattr(row, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ResultsError(f"{place}: {name} = {value!r}, expected a whole number from {least} on")
    if not isinstance(row.variant, dict):
        raise ResultsError(f"{place}: variant = {row.variant!r}, expected an object of texts")
    if not isinstance(row.seconds, list) or not row.seconds:
        raise ResultsError(f"{place}: seconds = {row.seconds!r}, expected at least one time")
    if row.parts and sum(row.parts) != len(row.seconds):
        raise ResultsError(f"{place}: parts = {row.parts!r}, expected a sum of {len(row.seconds)}")
    if not isinstance(row.line_seconds, list) or len(row.line_seconds) % 2:
        raise ResultsError(f"{place}: line_seconds = {row.line_seconds!r}, expected pairs: before, after")
    times = [(f"line_seconds[{i}]", value) for i, value in enumerate(row.line_seconds)]
    times += [(f"seconds[{i}]", value) for i, value in enumerate(row.seconds)]
    times += [(name, getattr(row, name)) for name in ("median_seconds", "low_seconds", "high_seconds")]
    for name, value in times:
        if not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
            raise ResultsError(f"{place}: {name} = {value!r}, expected a time above 0")
    return row


def is_needed(field: dataclasses.Field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def interval_rank(samples: int) -> int:
    """k such that the k-th smallest and the k-th largest of so many samples enclose the median with at least
    95 % probability (by the binomial distribution); 0 where even the least and the greatest do not."""
    below = 0.0
    for k in range(1, samples // 2 + 1):
        below += math.comb(samples, k - 1) / 2**samples
        if below > 0.025:
            return k - 1
    return samples // 2


def summarise(seconds: list[float]) -> dict:
    """median_seconds, its interval and outliers, as mbl's own statistics.cpp has them."""
    ordered = sorted(seconds)
    outside = max(0, interval_rank(len(ordered)) - 1)
    median = statistics.median(ordered)
    spread = statistics.median(abs(value - median) for value in ordered)
    far = max(3.5 / 0.6745 * spread, 0.01 * median)
    return {
        "median_seconds": median,
        "low_seconds": ordered[outside],
        "high_seconds": ordered[-1 - outside],
        "outliers": [place for place, value in enumerate(seconds) if abs(value - median) > far],
    }
