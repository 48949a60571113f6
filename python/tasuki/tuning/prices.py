"""What the library's own cost formulas say: a conversation with tools/price.cpp, so that no formula is
written twice. `Prices` answers for series, `Choices` for the choice among all of them."""

from __future__ import annotations

import collections
import dataclasses
import json
import math
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy

from tasuki.tuning import TuningError
from tasuki.tuning.cases import Case, case_of, library_bytes, library_operation
from tasuki.tuning.tables import TuningTable, document_of, listed

SECONDS_MAX = 60


def shape_of(ranks: int, nodes: int) -> str:
    """As the program takes it: "8", or "2x4"."""
    if ranks % nodes != 0:
        raise TuningError(f"{ranks} ranks on {nodes} nodes: expected as many ranks on each node")
    return str(ranks) if nodes == 1 else f"{nodes}x{ranks // nodes}"


class Conversation:
    """One process that has been told the questions, and answers them for each table of parameters. The ranks
    of a case are on so many nodes, one node's after the other's, with so many processors each."""

    def __init__(
        self, program: Path, questions: Iterable[tuple[Case, str]], processors: float, nodes: int = 1
    ):
        self.program = program
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for case, series in questions:
            ranks = shape_of(case.ranks, nodes)
            words = library_operation(case.operation), library_bytes(case), ranks, processors, series
            print(*words, file=self.process.stdin)
        print(file=self.process.stdin)

    def ask(self, document: dict) -> list[str]:
        """A word for each question, by this table; what it does not name has built-in values."""
        try:
            print(json.dumps(document), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise TuningError(f"{self.program} ended: {self.process.stderr.read().strip()}")
        return line.split()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=SECONDS_MAX)
        self.process.stdout.close()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Prices(Conversation):
    """Nanoseconds of points, or of (case, series)."""

    def __init__(self, program: Path, points: Iterable[tuple], processors: float, nodes: int = 1):
        super().__init__(program, [(case_of(point), point[3]) for point in points], processors, nodes)

    def ns(self, values: Mapping[str, float]) -> numpy.ndarray:
        """The predictions for all points, nan where the series is not possible."""
        return numpy.array(
            [math.nan if word == "-" else float(word) for word in self.ask(document_of(values))]
        )


class Choices(Conversation):
    """The series that the library would take for cases."""

    def __init__(self, program: Path, cases: Iterable[Case], processors: float, nodes: int = 1):
        self.cases = list(cases)
        super().__init__(program, [(case, "*") for case in self.cases], processors, nodes)

    def of(self, table: TuningTable) -> dict[Case, str]:
        words = self.ask(document_of(table.values, table.choices))
        return {case: word.rpartition(":")[0] for case, word in zip(self.cases, words, strict=True)}


@dataclasses.dataclass(frozen=True)
class Formulas:
    """What answers, and where the ranks of all cases are: on so many nodes, with so many processors each."""

    program: Path
    processors: float
    nodes: int = 1

    def prices(self, points: Iterable[tuple]) -> Prices:
        return Prices(self.program, points, self.processors, self.nodes)

    def choices(self, cases: Iterable[Case]) -> Choices:
        return Choices(self.program, cases, self.processors, self.nodes)

    def possible_series(self, cases: Iterable[Case], tables) -> dict[Case, list[str]]:
        return possible_series(self.program, cases, self.processors, tables, self.nodes)


def algorithms(program: Path) -> dict[str, list[tuple[str, list[int]]]]:
    """Those of each operation, by the library's name for it, with the segments worth trying."""
    found = collections.defaultdict(list)
    for line in listed(program, "algorithms"):
        operation, name, segments = line.split()
        sizes = [] if segments == "-" else [int(size) for size in segments.split(",")]
        found[operation].append((name, sizes))
    return dict(found)


def possible_series(
    program: Path, cases: Iterable[Case], processors: float, tables, nodes: int = 1
) -> dict[Case, list[str]]:
    """The series of each case that are worth measuring: each algorithm with the segments that are cheapest by
    one of the tables of parameters."""
    known = algorithms(program)
    asked = [
        (*case, name if not size else f"{name}/{size}")
        for case in cases
        for name, sizes in known[library_operation(case.operation)]
        for size in sizes or [0]
    ]
    found: dict[Case, list[str]] = {case: [] for case in cases}
    with Prices(program, asked, processors, nodes) as prices:
        answers = [prices.ns(values) for values in tables]
    for answer in answers:
        cheapest: dict[tuple, tuple[float, str]] = {}
        for point, ns in zip(asked, answer, strict=True):
            key = case_of(point), point[3].partition("/")[0]
            if not math.isnan(ns):
                cheapest[key] = min(cheapest.get(key, (math.inf, "")), (ns, point[3]))
        for (case, _), (_, series) in cheapest.items():
            if series not in found[case]:
                found[case].append(series)
    return found
