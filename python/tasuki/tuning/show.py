"""What `tasuki tune` shows: parameters before and after, choices that changed, and what that gained."""

from __future__ import annotations

import collections
import math
import statistics

from rich.console import Console
from rich.table import Table

from tasuki.tuning import decide, fitting, regret
from tasuki.tuning.cases import Case
from tasuki.tuning.session import Outcome
from tasuki.tuning.tables import Parameter
from tasuki.units import bytes_text, percent_text


def unit_of(path: str) -> str:
    return "bytes/ns" if path.endswith("bytes_per_ns") else "ns" if path.endswith("_ns") else "bytes"


def known_text(factor: float | None) -> str:
    """An uncertainty: the factor either way."""
    if factor is None:
        return "not told"
    return f"± {percent_text(factor - 1)}" if factor < 2 else f"× {factor:.1f}"


def parameter_table(rows: list[Parameter], outcome: Outcome) -> Table:
    """Those that were fitted, with the factor either way that they are known to."""
    table = Table(title="parameters", title_justify="left", header_style="bold")
    for place, column in enumerate(("parameter", "unit", "before", "after", "known to", "what it is")):
        table.add_column(column, justify="right" if place in (2, 3, 4) else "left")
    for row in rows:
        if row.path not in fitting.FITTED:
            continue
        known = known_text(outcome.fit.factors.get(row.path))
        before, after = outcome.old.values[row.path], outcome.new.values[row.path]
        table.add_row(row.path, unit_of(row.path), f"{before:.4g}", f"{after:.4g}", known, row.description)
    return table


def change_groups(outcome: Outcome) -> list[tuple[str, int, list[Case], str, str]]:
    """(operation, ranks, cases of neighbouring sizes, old series, new series) of what changed."""
    kinds = collections.defaultdict(dict)
    for case, series in outcome.decisions.items():
        kinds[case.operation, case.ranks][case.bytes] = (outcome.olds[case], series)
    return [
        (
            operation,
            ranks,
            [Case(operation, size, ranks) for size in sorted(pairs) if first <= size <= last],
            *pair,
        )
        for (operation, ranks), pairs in sorted(kinds.items())
        for first, last, pair in decide.runs(pairs)
        if pair[0] != pair[1]
    ]


def change_table(outcome: Outcome) -> Table:
    table = Table(title="choices that changed", title_justify="left", header_style="bold")
    for place, column in enumerate(("operation", "ranks", "sizes", "from", "to", "time, new over old")):
        table.add_column(column, justify="right" if place in (1, 2) else "left")
    for operation, ranks, cases, old, new in change_groups(outcome):
        ends = dict.fromkeys(bytes_text(case.bytes) for case in (cases[0], cases[-1]))
        gains = [gain_text(outcome, case) for case in cases]
        table.add_row(operation, str(ranks), " to ".join(ends), old, new, ", ".join(gains))
    return table


def gain_text(outcome: Outcome, case: Case) -> str:
    ratio = outcome.checked.get(case)
    if ratio is None:
        return "[dim]not looked at again[/]"
    colour = "green" if decide.is_better(ratio) else "default"
    interval = "" if math.isinf(ratio.high) else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"[{colour}]{ratio.median:.2f}[/]{interval}"


def show(console: Console, rows: list[Parameter], outcome: Outcome) -> None:
    console.print(parameter_table(rows, outcome))
    changes = outcome.changes()
    if changes:
        console.print(change_table(outcome))
    told = len(outcome.decisions)
    console.print(
        f"{len(changes)} of {told} choices changed; the table names {len(outcome.new.choices)} of them"
    )
    if outcome.taken_back:
        names = ", ".join(f"{c.operation} {bytes_text(c.bytes)} among {c.ranks}" for c in outcome.taken_back)
        console.print(f"taken back, since the second look found them slower: {names}")
    for trouble in outcome.troubles:
        console.print(trouble, style="yellow")
    for word, chosen in (("before", outcome.olds), ("after", outcome.decisions)):
        console.print(f"regret {word}: {regret.summary_of(decide.regrets_of(outcome.samples, chosen))}")
    ratios = [ratio.median for ratio in outcome.checked.values()]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        text = f"{len(ratios)} changes, new over old {mean:.3f} in the mean, {max(ratios):.2f} at worst"
        console.print(f"looked at again: {text}")
