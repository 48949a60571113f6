"""What differs from the peers, row by row, and which performance guidelines the run violates.

The verdicts are those of tasuki.compare and tasuki.guidelines, at their tolerance and level.
"""

from __future__ import annotations

from collections.abc import Sequence

from tasuki import guidelines
from tasuki.compare import Comparison, Verdict
from tasuki.report import tables
from tasuki.report.markup import Markup, element
from tasuki.report.material import GROUP_TITLES, Material, rows_of
from tasuki.report.tables import folded, table
from tasuki.results import Run
from tasuki.units import bytes_text, number_text, time_text

TITLES = GROUP_TITLES | {"all": "All"}
SHOWN = 12  # rows of a table that is not folded
RATIO_HEADS = ["case", "size", "time", "beside", "ratio", "95 %"]
RULE_HEADS = ["guideline", "case", "size", "left", "right", "ratio", "95 %"]


def comparisons_text(material: Material) -> str:
    """How many rows got which verdict against each peer."""
    told = []
    for comparison, (name, _) in zip(material.comparisons, material.peers, strict=True):
        if comparison is None:
            told.append(f"{name} has no row in common with {material.names[0]}.")
            continue
        if not comparison.rows:
            told.append(f"{name} was measured in another state of the machine: no row is compared.")
            continue
        total = next(line for line in comparison.summary() if line["group"] == "all")
        told.append(
            f"Of {len(comparison.rows)} rows {material.names[0]} is faster than {name} in {total['faster']} "
            f"and slower in {total['slower']}; of the others {total['loose']} are too restless to tell."
        )
    tolerance = next((one.tolerance for one in material.comparisons if one), None)
    if tolerance is None:
        return " ".join(told)
    told.append(
        f"Faster and slower mean by more than {100 * tolerance:g} %; at most 5 % of those rows are expected "
        "to be called so by chance."
    )
    return " ".join(told)


def controls(material: Material) -> Markup | None:
    """What the limits, which no MPI has a part in, say against the ratios."""
    items = []
    for comparison, (name, _) in zip(material.comparisons, material.peers, strict=True):
        items += [element("li", f"{name}: {text}") for text in (comparison.warnings if comparison else [])]
    return element("div", element("ul", items), class_="warnings") if items else None


def summary_table(material: Material) -> Markup:
    """A line for each peer and group: the mean ratio and the counts."""
    rows = []
    for comparison, (name, _) in zip(material.comparisons, material.peers, strict=True):
        for place, line in enumerate(comparison.summary() if comparison else []):
            group = TITLES.get(line["group"], line["group"].replace("_", " "))
            counts = [str(line[verdict]) for verdict in ("faster", "same", "slower")]
            rows.append([name if place == 0 else "", group, f"{number_text(line['ratio'])} ×", *counts])
    heads = ["beside", "group", "mean ratio of times", "faster", "same", "slower"]
    return table(heads, rows, f"{material.names[0]} beside its peers: below 1 it takes less time", 2)


def slowest(comparison: Comparison) -> list[Verdict]:
    """Where the run is slower, the worst first."""
    return sorted((row for row in comparison.rows if row.verdict == "slower"), key=lambda row: -row.ratio)


def slower_tables(material: Material) -> list[Markup]:
    found = []
    for comparison, (name, _) in zip(material.comparisons, material.peers, strict=True):
        rows = slowest(comparison) if comparison else []
        if rows:
            title = f"Slower than {name}: {len(rows)} rows, the worst first"
            cells = [verdict_cells(material.run, row) for row in rows]
            found.append(folded(title, table(RATIO_HEADS, cells, title, unseen=True)))
    return found


def verdict_cells(run: Run, row: Verdict) -> list:
    times = [time_text(row.other_seconds), time_text(row.base_seconds)]
    ratio = element("span", f"{number_text(row.ratio)} ×", class_="worse")
    interval = f"{number_text(row.low)} to {number_text(row.high)}"
    return [case_cell(run, row.series), bytes_text(row.bytes), *times, ratio, interval]


def case_cell(run: Run, series: str) -> Markup:
    row = rows_of(run, series)[0]
    return tables.case_cell(row.group, row.benchmark, row.variant, row.ranks)


def guidelines_text(findings: Sequence[guidelines.Finding]) -> str:
    counts = [sum(1 for one in findings if one.verdict == verdict) for verdict in guidelines.VERDICTS]
    violated, kept, unclear = counts
    text = f"What an MPI must not be slower than: of {len(findings)} such pairs of times {kept} are kept, "
    return text + f"{violated} violated, and for {unclear} the measurements do not tell."


def guidelines_table(run: Run, findings: Sequence[guidelines.Finding]) -> Markup | None:
    worst = guidelines.violations(findings)
    if not worst:
        return None
    rows = [
        [
            one.rule,
            case_cell(run, one.subject),
            bytes_text(one.bytes),
            time_text(one.left_seconds),
            time_text(one.right_seconds),
            element("span", f"{number_text(one.ratio)} ×", class_="worse"),
            f"{number_text(one.low)} to {number_text(one.high)}",
        ]
        for one in worst
    ]
    title = f"Violated: {len(rows)}, the worst first"
    violated = table(RULE_HEADS, rows, title, numbers_from=2, unseen=True)
    return folded(title, violated, opened=len(rows) <= SHOWN)
