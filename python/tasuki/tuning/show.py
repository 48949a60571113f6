"""What `tasuki tune` shows: parameters before and after, choices that changed, and what that gained."""

from __future__ import annotations

import collections
import math
import statistics

from rich.console import Console
from rich.table import Table

from tasuki.tuning import decide, fitting, messages, regret, tables, thresholds
from tasuki.tuning.cases import Case
from tasuki.tuning.samples import Ratio
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


def show_network(console: Console, rows: list[Parameter], times, old, new) -> None:
    """What messages between nodes took, and the network's row before and after."""
    seen = Table(title="messages between nodes", title_justify="left", header_style="bold")
    for column in ("kind", "pairs at once", "bytes", "lower quartile us", "median us"):
        seen.add_column(column, justify="left" if column == "kind" else "right")
    for row in times:
        median = f"{1e6 * statistics.median(row.seconds):.2f}"
        seen.add_row(row.kind, str(row.pairs), bytes_text(row.bytes), f"{row.ns() / 1e3:.2f}", median)
    table = Table(title="parameters", title_justify="left", header_style="bold")
    for column in ("parameter", "unit", "before", "after", "what it is"):
        table.add_column(column, justify="right" if column in ("before", "after") else "left")
    for row in rows:
        if row.path.startswith(tables.NETWORK):
            before, after = (f"{one.values[row.path]:.4g}" for one in (old, new))
            table.add_row(row.path, unit_of(row.path), before, after, row.description)
    console.print(seen, table)


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
        gains = [gain_text(outcome.checked.get(case)) for case in cases]
        table.add_row(operation, str(ranks), " to ".join(ends), old, new, ", ".join(gains))
    return table


def gain_text(ratio: Ratio | None) -> str:
    if ratio is None:
        return "[dim]not looked at again[/]"
    colour = "green" if decide.is_better(ratio) else "default"
    interval = "" if math.isinf(ratio.high) else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"[{colour}]{ratio.median:.2f}[/]{interval}"


DISTANCE_TEXTS = {
    "cache": "a last-level cache in common",
    "package": "a socket in common",
    "machine": "different sockets",
}
TITLES = (
    (thresholds.RECEIVE_FIRST, "the receive was posted, data touched"),
    (thresholds.MESSAGE_FIRST, "the message came first, data touched"),
    (thresholds.RECEIVE_FIRST + messages.UNTOUCHED, "the receive was posted, data untouched"),
)


def threshold_table(rows: list[Parameter], founds: list[messages.Found]) -> Table:
    """Who copies a message, from which size on; what each change gained, when it was looked at again."""
    told = {row.path: row.description for row in rows}
    table = Table(title="who copies a message", title_justify="left", header_style="bold")
    for place, column in enumerate(("parameter", "unit", "before", "after", "what it is")):
        table.add_column(column, justify="right" if place in (2, 3) else "left")
    for found in founds:
        for name, before, after in zip(thresholds.Thresholds._fields, found.old, found.new, strict=True):
            path = messages.path_of(found.distance, name)
            what = told[messages.path_of("cache", name)].partition(";")[0]
            after_text = f"{after}" if after == before else f"[green]{after}[/]"
            table.add_row(path, "bytes", str(before), after_text, what)
    return table


def ways_table(found: messages.Found, order: str, cases: list[Case]) -> Table:
    """The least time of each way by size, in microseconds one way."""
    measured = {name for case in cases for name in found.samples.least(case)}
    ways = [name for name in (*messages.WAYS, *messages.BARE_LOOPS) if name in measured]
    table = Table(header_style="bold")
    titles = [f"bare {way}" if way in messages.BARE_LOOPS else way for way in ways]
    for column in ("size", *titles, "taken"):
        table.add_column(column, justify="right", no_wrap=True)
    for case in cases:
        times = found.samples.least(case)
        best = min((times[way] for way in ways if way in times and way not in messages.BARE_LOOPS), default=0)
        cells = [
            "-"
            if way not in times
            else f"[{'green' if times[way] == best else 'default'}]{1e6 * times[way]:.2f}[/]"
            for way in ways
        ]
        taken = thresholds.way_of(found.new, order.removesuffix(messages.UNTOUCHED), case.bytes)
        table.add_row(bytes_text(case.bytes), *cells, taken)
    return table


def show_messages(console: Console, rows: list[Parameter], founds: list[messages.Found]) -> None:
    """The thresholds, and for each size whose way changed its new time over the old one."""
    if not founds:
        return
    console.print(threshold_table(rows, founds))
    for found in founds:
        seen = len(found.samples.cases())
        if seen < found.asked:
            cases = f"{seen} of {found.asked} cases"
            console.print(
                f"with {DISTANCE_TEXTS[found.distance]}, the budget was enough for {cases}", style="yellow"
            )
        changed = thresholds.changes(found.samples.cases(), found.old, found.new)
        gains = [
            f"{bytes_text(case.bytes)} {case.operation.replace('_', ' ')} {before} → {after} "
            + gain_text(found.checked.get(case))
            for case, (before, after) in changed.items()
        ]
        if gains:
            console.print(f"with {DISTANCE_TEXTS[found.distance]}, time new over old: {', '.join(gains)}")
        if found.taken_back:
            console.print(
                f"with {DISTANCE_TEXTS[found.distance]}, what the second look found slower was taken back"
            )


def show_ways(console: Console, founds: list[messages.Found]) -> None:
    for found in founds:
        console.print(f"Ranks that have {DISTANCE_TEXTS[found.distance]}, {tables.processor_name()}:")
        for order, title in TITLES:
            cases = sorted(case for case in found.samples.cases() if case.operation == order)
            if cases:
                console.print(f"us one way: {title}")
                console.print(ways_table(found, order, cases))


def show(console: Console, rows: list[Parameter], outcome: Outcome) -> None:
    if outcome.network:
        show_network(console, rows, outcome.network, outcome.old, outcome.new)
    if outcome.fit.factors:
        console.print(parameter_table(rows, outcome))
    show_messages(console, rows, outcome.messages)
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
