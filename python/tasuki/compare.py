"""What is faster in one run than in another, row by row, with an error that is known.

A row is called "faster" or "slower" when its time differs from the base's by more than the tolerance (5 %
when not said) and chance does not explain that: of all rows that are called so, at most 5 % are expected to
be wrong, however many there are (Benjamini and Hochberg). All others are "same": no such difference was
shown. `tight` says that the interval excludes twice the tolerance; else the row was too restless to tell.

The host of a virtual machine may move its processors to others that share no cache, and every time depends on
that. So rows are compared by state: with lines near, with lines far (Row.by_state), and not across.

A run of one round does not know how much one job differs from the next of its kind, and two such runs differ
by that, too. `tasuki compare --mpi A --mpi B` measures in rounds, in which all take turns.
"""

from __future__ import annotations

import collections
import dataclasses
import math

from tasuki import confidence
from tasuki.results import ResultsError, Row, Run

LEVEL = 0.05
TOLERANCE = 0.05
VERDICTS = ("faster", "same", "slower")
LIMIT = "limit"  # the group of rows in which no MPI is at work
RESTLESS_MAX = 0.5  # of the rows: with more of them restless a gate tells nothing
# What of two runs should be the same, for their ratio to mean what it seems to.
ALIKE = {
    "environment": ("host", "cpu", "processors", "kernel"),
    "settings": ("budget_seconds", "cold", "folder"),
}

Key = tuple[str, int]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A row of `other` against the base's. `ratio` is its time by the base's: below 1 it is faster."""

    series: str
    group: str
    benchmark: str
    ranks: int
    bytes: int
    other: str
    base_seconds: float
    other_seconds: float
    ratio: float
    low: float
    high: float
    chance: float  # adjusted for the number of rows
    verdict: str
    tight: bool
    state: str = ""  # of the machine: near, far, or not known


@dataclasses.dataclass
class Comparison:
    base: str
    others: list[str]
    tolerance: float
    level: float
    rows: list[Verdict]
    missing: dict[str, list[str]]  # name of a run -> rows that another has and it has not
    apart: dict[
        str, list[str]
    ]  # name of a run -> rows measured in other states of the machine than the base's
    warnings: list[str]

    def frame(self):
        """The rows as a pandas.DataFrame."""
        import pandas

        names = [field.name for field in dataclasses.fields(Verdict)]
        return pandas.DataFrame.from_records([dataclasses.asdict(row) for row in self.rows], columns=names)

    def summary(self) -> list[dict]:
        """For each other run and group: the ratios' geometric mean, and how many rows got which verdict."""
        sums: dict[tuple[str, str], list[Verdict]] = collections.defaultdict(list)
        several = len({row.state for row in self.rows}) > 1
        for row in self.rows:
            sums[row.other, row.group].append(row)
            sums[row.other, "all"].append(row)
            if several and row.state:
                sums[row.other, f"all, lines {row.state}"].append(row)
        made = []
        order = sorted(sums, key=lambda one: (one[0], one[1].startswith("all"), one[1]))
        for (other, group), rows in ((one, sums[one]) for one in order):
            counts = collections.Counter(row.verdict for row in rows)
            ratio = math.exp(sum(math.log(row.ratio) for row in rows) / len(rows))
            loose = sum(not row.tight for row in rows if row.verdict == "same")
            counted = {verdict: counts[verdict] for verdict in VERDICTS}
            made.append({"other": other, "group": group, "ratio": ratio, **counted, "loose": loose})
        return made

    def document(self) -> dict:
        """For scripts: everything as JSON's types."""
        fields = dataclasses.asdict(self)
        return {"tasuki_comparison": 1, **fields, "summary": self.summary()}


# How a gate ends: as the exit status of `tasuki compare --gate`. 2 is that of what cannot be read.
PASSED, SLOWER, UNCLEAR = 0, 1, 3
MACHINE = ("environment.cpu ", "environment.processors ")  # doubts of which the ratios mean nothing


@dataclasses.dataclass(frozen=True)
class Gate:
    """Whether a change may go on: `text` is one line."""

    status: int
    text: str


def gate(made: Comparison) -> Gate:
    """Fails if a row is slower; says that it cannot be told where the machine differs, or most rows are too
    restless."""
    rows = [row for row in made.rows if row.group != LIMIT]
    slower = sorted((row for row in rows if row.verdict == "slower"), key=lambda row: -row.ratio)
    restless = sum(not row.tight for row in rows)
    apart = sum(map(len, made.apart.values()))
    unlike = [text for text in made.warnings if text.startswith(MACHINE)]
    limits = [row for row in made.rows if row.group == LIMIT]
    limits_slower = sum(row.verdict == "slower" for row in limits)
    if apart > len(rows):
        return Gate(
            UNCLEAR,
            f"gate: cannot tell: {apart} rows were measured in other states of the machine, "
            f"{len(rows)} in the same",
        )
    if not rows:
        return Gate(UNCLEAR, "gate: cannot tell: there is no row in which an MPI is at work")
    if unlike:
        return Gate(UNCLEAR, f"gate: cannot tell: {unlike[0]}")
    if slower and limits_slower:
        return Gate(
            UNCLEAR,
            f"gate: cannot tell: {len(slower)} of {len(rows)} rows are slower, but so are {limits_slower} of "
            f"{len(limits)} in which no MPI is at work: the machine was slower",
        )
    if slower:
        worst = slower[0]
        return Gate(
            SLOWER,
            f"gate: failed: {len(slower)} of {len(rows)} rows {'is' if len(slower) == 1 else 'are'} slower "
            f"by more than {made.tolerance:.0%} beyond chance; the worst {worst.ratio:.3g} times "
            f"({worst.low:.3g} to {worst.high:.3g}): {worst.other}: {text_of((worst.series, worst.bytes))}",
        )
    if restless > RESTLESS_MAX * len(rows):
        return Gate(
            UNCLEAR,
            f"gate: cannot tell: {restless} of {len(rows)} rows are too restless to show "
            f"{2 * made.tolerance:.0%}: more rounds, or a machine that does nothing else",
        )
    return Gate(
        PASSED,
        f"gate: passed: none of {len(rows)} rows is slower by more than {made.tolerance:.0%} beyond chance "
        f"({restless} too restless to show {2 * made.tolerance:.0%})",
    )


def rows_by_key(run: Run) -> dict[Key, Row]:
    """The rows by series and size."""
    found: dict[Key, Row] = {}
    for row in run.rows:
        key = (row.series, row.bytes)
        if key in found:
            raise ResultsError(
                f"{name_of(run)}: {row.series}, {row.bytes} B: is there twice: expected one run"
            )
        found[key] = row
    return found


def name_of(run: Run) -> str:
    return run.path or run.implementation.get("name", "?")


def names_of(runs: list[Run]) -> list[str]:
    """Short names, all different: those of the implementations where they differ, else of the files."""
    names = [run.implementation.get("name") or "?" for run in runs]
    if len(set(names)) < len(names):
        names = [name_of(run) for run in runs]
    if len(set(names)) < len(names):
        names = [f"{name}#{place}" for place, name in enumerate(names, 1)]
    return names


def text_of(key: Key) -> str:
    return f"{key[0]} {key[1]} B"


def compare(base: Run, *others: Run, tolerance: float = TOLERANCE, level: float = LEVEL) -> Comparison:
    """Each other run against the base, in the rows that both have."""
    if not others:
        raise ResultsError(f"{name_of(base)}: expected a second run to compare with")
    runs = [base, *others]
    names = names_of(runs)
    keyed = [rows_by_key(run) for run in runs]
    every = list(dict.fromkeys(key for rows in keyed for key in rows))
    missing = {
        name: [text_of(key) for key in every if key not in rows]
        for name, rows in zip(names, keyed, strict=True)
    }
    shared = [(key, place) for place in range(1, len(runs)) for key in keyed[0] if key in keyed[place]]
    if not shared:
        raise ResultsError(
            f"{', '.join(name_of(run) for run in runs)}: have no row in common: nothing to compare"
        )
    apart: dict[str, list[str]] = {name: [] for name in names[1:]}
    pairs = []
    for key, place in shared:
        alike = in_same_states(keyed[0][key], keyed[place][key])
        pairs += [(place, state, base_row, row) for state, base_row, row in alike]
        if not alike:
            apart[names[place]].append(text_of(key))
    bound = math.log1p(tolerance)
    ratios = ratios_of(pairs)
    chances = [min(1.0, 2 * confidence.chance_above(turned(ratio), bound)) for ratio in ratios]
    rows = [
        verdict_of(base_row, row, names[place], ratio, chance, bound, level, state)
        for (place, state, base_row, row), ratio, chance in zip(
            pairs, ratios, confidence.adjusted(chances), strict=True
        )
    ]
    notes = doubts(runs, names) + told_apart(names, apart) + control(rows)
    return Comparison(names[0], names[1:], tolerance, level, rows, missing, apart, notes)


def in_same_states(base: Row, other: Row) -> list[tuple[str, Row, Row]]:
    """(state, what the base and the other have in it); of rows one of which knows no state, the whole."""
    bases, others = base.by_state(), other.by_state()
    if "" in bases or "" in others:
        return [("", base, other)]
    return [(state, bases[state], others[state]) for state in bases if state in others]


def ratios_of(pairs: list[tuple[int, str, Row, Row]]) -> list[confidence.Estimate]:
    """The logarithm of each ratio. What is usual in a group is taken from all its rows of a run."""
    estimated: dict[int, confidence.Estimate] = {}
    rows_of_run: dict[int, dict[int, Row]] = collections.defaultdict(dict)
    for place, _, base_row, row in pairs:
        rows_of_run[0][id(base_row)] = base_row
        rows_of_run[place][id(row)] = row
    for rows in rows_of_run.values():
        estimated |= zip(rows, confidence.estimates(list(rows.values())), strict=True)
    return [confidence.difference(estimated[id(row)], estimated[id(base)]) for _, _, base, row in pairs]


def told_apart(names: list[str], apart: dict[str, list[str]]) -> list[str]:
    return [
        f"{len(rows)} rows of {names[0]} and {name} are from different states of the machine and not "
        f"compared: cache lines were near in one and far in the other, or that changed meanwhile (the first: "
        f"{rows[0]})"
        for name, rows in apart.items()
        if rows
    ]


def control(rows: list[Verdict]) -> list[str]:
    """Rows in which no MPI is at work cannot differ by it: what they say of the others."""
    limits = [row for row in rows if row.group == LIMIT]
    differ = sum(row.verdict != "same" for row in limits)
    if not differ:
        return []
    return [
        f"{differ} of {len(limits)} rows of the group limit differ too, where no MPI is at work: so much do "
        "jobs, or the state of the machine, differ"
    ]


def turned(ratio: confidence.Estimate) -> confidence.Estimate:
    return dataclasses.replace(ratio, value=abs(ratio.value))


def verdict_of(
    base: Row, row: Row, other: str, ratio, chance: float, bound: float, level: float, state: str
) -> Verdict:
    low, high = confidence.interval(ratio, level)
    verdict = "same"
    if chance <= level:
        verdict = "slower" if ratio.value > 0 else "faster"
    return Verdict(
        series=row.series,
        group=row.group,
        benchmark=row.benchmark,
        ranks=row.ranks,
        bytes=row.bytes,
        other=other,
        base_seconds=base.median_seconds,
        other_seconds=row.median_seconds,
        ratio=math.exp(ratio.value),
        low=math.exp(max(low, -700)),
        high=math.exp(min(high, 700)),
        chance=chance,
        verdict=verdict,
        tight=verdict != "same" or (low > -2 * bound and high < 2 * bound),
        state=state,
    )


def doubts(runs: list[Run], names: list[str]) -> list[str]:
    """What should make a reader doubt the ratios."""
    found = []
    for name, run in zip(names[1:], runs[1:], strict=True):
        for part, fields in ALIKE.items():
            for field in fields:
                before, now = getattr(runs[0], part).get(field), getattr(run, part).get(field)
                if before != now:
                    found.append(f"{part}.{field} is {before!r} in {names[0]} and {now!r} in {name}")
    if any(len(row.parts) < confidence.ROUNDS_MIN for run in runs for row in run.rows):
        found.append(
            "some rows are of one job each: how much a job differs from the next is not in the intervals "
            "(`tasuki compare --mpi A --mpi B` measures in rounds)"
        )
    for name, run in zip(names, runs, strict=True):
        found += [f"{name}: {text}" for text in run.environment.get("warnings", [])]
    return found
