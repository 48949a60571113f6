"""The charts of a group of benchmarks, whichever benchmarks it has:

- beside peers: a benchmark's base case by size, a line for each implementation;
- ways: the variants of one benchmark by size, a line for each way, of the run alone;
- dots: what has few sizes, or too many variants: times at one size, a row for each case, a marker for each
  implementation.
"""

from __future__ import annotations

import dataclasses

from tasuki.report import words
from tasuki.report.axes import Axis, value_text
from tasuki.report.chart import STYLES, Chart, Dots, Line, Point
from tasuki.report.material import (
    Material,
    benchmarks_in,
    common_of,
    differing_in,
    labels_of,
    main_series,
    rows_of,
    series_in,
    title_of,
    words_of,
)
from tasuki.results import Row, Run, base_of
from tasuki.units import bytes_text, number_text, percent_text, rate_text, time_text

SIZES_OF_A_CURVE = 3
VARIANTS_OF_A_CHART = 3
OVERLAP = "overlap"  # a note, and the form of the variant whose rows have it: they are no times of one call
DOT_ROWS_MAX = 16

BY_SIZE = Axis("bytes", "message size")
TIME = Axis("seconds", "time of one operation")
RATE = Axis("rate", "throughput", logarithmic=False)


def point_of(row: Row, name: str, quantity: str = "seconds") -> Point:
    """A row as a point over its size, with its time or its throughput."""
    if quantity == "rate":
        low, high = (row.factor * row.bytes / end for end in (row.high_seconds, row.low_seconds))
        value = row.bytes_per_second
    else:
        low, high, value = row.low_seconds, row.high_seconds, row.median_seconds
    between = f"{value_text(quantity, low)} to {value_text(quantity, high)}"
    text = f"{name}, {bytes_text(row.bytes)}: {value_text(quantity, value)} (95 %: {between})"
    return Point(float(row.bytes), value, text, low, high)


def line_of(rows: list[Row], name: str, style: int, quantity: str = "seconds") -> Line:
    rows = [row for row in rows if row.bytes > 0] if quantity == "rate" else rows
    return Line(name, [point_of(row, name, quantity) for row in rows], style)


def beside_peers(material: Material, rows: list[Row], title: str) -> Chart:
    """A series of the run with the same series of each peer."""
    lines, told = [line_of(rows, material.names[0], 0)], []
    for style, (name, peer) in enumerate(material.peers, 1):
        other = rows_of(peer, rows[0].series)
        if other:
            lines.append(line_of(other, name, style % STYLES))
            told.append(words.beside_peer(name, material.verdicts_of(style - 1, rows)))
    explained = " ".join(filter(None, told)) or words.growth(rows)
    return Chart(title, BY_SIZE, TIME, lines, explained, about=words_of(rows[0].variant))


def ways(named: list[tuple[str, list[Row]]], title: str, quantity: str = "seconds") -> Chart:
    """Several series of the run in one box."""
    y = RATE if quantity == "rate" else TIME
    lines = [line_of(rows, name, style, quantity) for style, (name, rows) in enumerate(named)]
    about = common_of([rows[0] for _, rows in named])
    return Chart(title, BY_SIZE, y, lines, words.who_is_best(named), about=about)


def dots_of(material: Material, chosen: list[Row], title: str, labels: list[str]) -> Dots:
    """Rows of the run with the same cases of the peers, fastest first."""
    order = sorted(range(len(chosen)), key=lambda place: chosen[place].median_seconds)
    rows = []
    for place in order:
        row, points = chosen[place], []
        for name, run in zip(material.names, material.runs, strict=True):
            same = next((other for other in rows_of(run, row.series) if other.bytes == row.bytes), None)
            points.append(dot(same, f"{name}, {labels[place]}") if same else None)
        rows.append((labels[place], points))
    styles = [style % STYLES for style in range(len(material.runs))]
    first, last = chosen[order[0]], chosen[order[-1]]
    explained = f"From {time_text(first.median_seconds)} ({labels[order[0]]}) "
    explained += f"to {time_text(last.median_seconds)} ({labels[order[-1]]})."
    explained = explained if len(chosen) > 1 else ""
    explained = " ".join(filter(None, [explained, *peers_in_dots(material, chosen)]))
    return Dots(title, Axis("seconds", "time"), material.names, styles, rows, explained)


def dot(row: Row, name: str) -> Point:
    between = f"{time_text(row.low_seconds)} to {time_text(row.high_seconds)}"
    text = f"{name}: {time_text(row.median_seconds)} (95 %: {between})"
    return Point(row.median_seconds, 0.0, text, row.low_seconds, row.high_seconds)


def peers_in_dots(material: Material, chosen: list[Row]) -> list[str]:
    told = []
    for place, (name, _) in enumerate(material.peers):
        verdicts = [row.verdict for row in material.verdicts_of(place, chosen)]
        if verdicts:
            told.append(how_many(verdicts.count("faster"), verdicts.count("slower"), len(verdicts), name))
    return told


def how_many(faster: int, slower: int, count: int, name: str) -> str:
    """ "Faster than MPICH in 3 of 11, slower in 2."; what is none is not told."""
    counted = [(word, number) for word, number in (("faster", faster), ("slower", slower)) if number]
    if not counted:
        return f"Nowhere clearly faster or slower than {name}."
    (word, number), *rest = counted
    text = f"{word} than {name} in " + (f"all {count}" if number == count > 1 else f"{number} of {count}")
    return words.sentence(text + "".join(f", {other} in {number}" for other, number in rest))


def by_ranks(rows: list[list[Row]]) -> dict[int, list[list[Row]]]:
    """Series by their number of ranks, the smallest number first."""
    found: dict[int, list[list[Row]]] = {}
    for series in rows:
        found.setdefault(series[0].ranks, []).append(series)
    return dict(sorted(found.items()))


def with_ranks(title: str, series: list[Row], several: bool) -> str:
    return f"{title}, {series[0].ranks} ranks" if several else title


def curves_beside_peers(material: Material, group: str, skip: tuple[str, ...] = ()) -> list[Chart]:
    """Each benchmark with enough sizes: its base case beside the peers, for each number of ranks; without
    peers all numbers of ranks in one chart."""
    charts = []
    for benchmark in benchmarks_in(material.run, group):
        bases = [base_of(found) for found in by_ranks(series_in(material.run, group, benchmark)).values()]
        bases = [rows for rows in bases if len(rows) >= SIZES_OF_A_CURVE]
        if benchmark in skip or not bases:
            continue
        title = title_of(bases[0][0])
        if len(bases) > 1 and not material.peers:
            charts.append(of_all_ranks(bases, title))
        else:
            charts += [
                beside_peers(material, rows, with_ranks(title, rows, len(bases) > 1)) for rows in bases
            ]
    return charts


def of_all_ranks(bases: list[list[Row]], title: str) -> Chart:
    lines = [line_of(rows, f"{rows[0].ranks} ranks", place % STYLES) for place, rows in enumerate(bases)]
    told = [f"With {rows[0].ranks} ranks {words.growth(rows)}" for rows in (bases[0], bases[-1])]
    return Chart(title, BY_SIZE, TIME, lines, " ".join(told), about=words_of(bases[0][0].variant))


def curves_of_ways(
    material: Material, group: str, quantity: str = "seconds", skip: tuple[str, ...] = ()
) -> list[Chart]:
    """For each benchmark (and number of ranks) with several variants over enough sizes: the variants."""
    charts = []
    several = len({row.ranks for row in material.run.rows if row.group == group}) > 1
    for benchmark in benchmarks_in(material.run, group):
        for found in by_ranks(series_in(material.run, group, benchmark)).values():
            long = [rows for rows in found if len(rows) >= SIZES_OF_A_CURVE and OVERLAP not in rows[0].notes]
            if benchmark in skip or len(long) < 2:
                continue
            parts = -(-len(long) // STYLES)
            for place in range(parts):
                part = long[place * len(long) // parts : (place + 1) * len(long) // parts]
                firsts = [series[0] for series in part]
                title = f"{title_of(firsts[0])} by {words.listed(differing_in(firsts))}".replace("_", " ")
                title = with_ranks(title, part[0], several)
                named = list(zip(labels_of(firsts), part, strict=True))
                charts.append(ways(named, title, quantity))
    return charts


def dots_of_cases(material: Material, group: str) -> list[Dots]:
    """Each benchmark's variants at the sizes that they share; those of few variants in one chart."""
    charts, alone = [], []  # `alone`: (row, label)
    several = len({row.ranks for row in material.run.rows if row.group == group}) > 1
    for benchmark in benchmarks_in(material.run, group):
        found = [rows for rows in series_in(material.run, group, benchmark) if OVERLAP not in rows[0].notes]
        if not found:
            continue
        base = main_series(material.run, group, benchmark)[0]
        labels = labels_of([series[0] for series in found], base)
        labels = [with_ranks(label, series, several) for label, series in zip(labels, found, strict=True)]
        sizes = shared_sizes(found) if len(found) >= VARIANTS_OF_A_CHART else []
        for size in sizes:
            rows = [(row, label) for label, series in zip(labels, found, strict=True) for row in series]
            rows = [(row, label) for row, label in rows if row.bytes == size]
            title = title_of(base) + (f" of {bytes_text(size)}" if size else "")
            charts += in_parts(material, rows, title, about_labels([row for row, _ in rows], labels, base))
        for label, series in zip(labels, found, strict=True):
            if not any(row.bytes in sizes for row in series) and len(series) < SIZES_OF_A_CURVE:
                alone += [(row, alone_label(row, label, len(found))) for row in series]
    return charts + in_parts(material, alone, "others" if charts else "times")


def shared_sizes(found: list[list[Row]]) -> list[int]:
    """The smallest and the largest of the sizes that most of the series have."""
    counted = [row.bytes for series in found for row in series]
    most = max(counted.count(size) for size in counted)
    shared = [size for size in counted if counted.count(size) == most]
    return sorted({min(shared), max(shared)})


def about_labels(rows: list[Row], labels: list[str], base: Row) -> str:
    """What the labels leave out: which case the base case is, or what all rows have in common."""
    if any(label.startswith("base case") for label in labels):
        return f"base case: {words_of(base.variant)}" if base.variant else ""
    return common_of(rows)


def curves_by_ranks(material: Material, group: str) -> list[Chart]:
    """Of benchmarks measured at enough numbers of ranks: their base cases at the smallest size."""
    named = []
    for benchmark in benchmarks_in(material.run, group):
        firsts = [base_of(found)[0] for found in by_ranks(series_in(material.run, group, benchmark)).values()]
        same = [row for row in firsts if (row.bytes, row.variant) == (firsts[0].bytes, firsts[0].variant)]
        if len(same) >= SIZES_OF_A_CURVE:
            size = f", {bytes_text(same[0].bytes)}" if same[0].bytes else ""
            named.append((f"{title_of(same[0])}{size}", same))
    charts, parts = [], -(-len(named) // STYLES)
    for place in range(parts):
        part = named[place * len(named) // parts : (place + 1) * len(named) // parts]
        title = "time by ranks" + (f" ({place + 1} of {parts})" if parts > 1 else "")
        lines = [
            Line(name, [dataclasses.replace(point_of(row, name), x=float(row.ranks)) for row in rows], style)
            for style, (name, rows) in enumerate(part)
        ]
        charts.append(Chart(title, Axis("ranks", "ranks"), TIME, lines, ranks_text(part)))
    return charts


def ranks_text(named: list[tuple[str, list[Row]]]) -> str:
    """How many times as long the most ranks take as the fewest."""
    few, many = named[0][1][0].ranks, named[0][1][-1].ranks
    times = [
        f"{name} {number_text(r[-1].median_seconds / r[0].median_seconds, 2)} times" for name, r in named
    ]
    return f"With {many} ranks it takes, of the time with {few}: {words.listed(times)}."


def overlap_dots(material: Material, group: str) -> list[Dots]:
    """The share of a nonblocking operation's time that computing hid, where rows tell it as a note."""
    told = [row for row in material.run.rows if row.group == group and OVERLAP in row.notes]
    several = len({row.ranks for row in told}) > 1
    rows = []
    for row in sorted(told, key=lambda row: -row.notes[OVERLAP]):
        label = with_ranks(alone_label(row, "", 1), [row], several)
        rows.append((label, [overlap_of(run, row, name, label) for name, run in runs_of(material)]))
    styles = [style % STYLES for style in range(len(material.runs))]
    charts, parts = [], -(-len(rows) // DOT_ROWS_MAX)
    for part in range(parts):
        chosen = rows[part * len(rows) // parts : (part + 1) * len(rows) // parts]
        title = "overlap with computing" + (f" ({part + 1} of {parts})" if parts > 1 else "")
        axis = Axis("share", "overlap", logarithmic=False)
        charts.append(Dots(title, axis, material.names, styles, chosen, overlap_text(material, told)))
    return charts


def runs_of(material: Material) -> list[tuple[str, Run]]:
    return list(zip(material.names, material.runs, strict=True))


def overlap_of(run: Run, row: Row, name: str, label: str) -> Point | None:
    """As a point from 0 on: an overlap below it means that computing was held up."""
    same = next((other for other in rows_of(run, row.series) if other.bytes == row.bytes), None)
    if same is None or OVERLAP not in same.notes:
        return None
    share = same.notes[OVERLAP]
    return Point(min(1.0, max(0.0, share)), 0.0, f"{name}, {label}: {percent_text(share)}")


def overlap_text(material: Material, told: list[Row]) -> str:
    shares = sorted(row.notes[OVERLAP] for row in told)
    text = f"How much of the pure time of a nonblocking call computing hides: of {material.names[0]} "
    return text + f"{percent_text(max(0.0, shares[len(shares) // 2]))} in the middle of {len(shares)} cases."


def alone_label(row: Row, label: str, variants: int) -> str:
    """The benchmark, what its variant is if there are several, and the size if there is one."""
    told = [title_of(row), label if variants > 1 else "", bytes_text(row.bytes) if row.bytes else ""]
    return ", ".join(filter(None, told))


def in_parts(material: Material, named: list[tuple[Row, str]], title: str, about: str = "") -> list[Dots]:
    """At most so many rows in a chart; neighbours stay together."""
    charts = []
    parts = -(-len(named) // DOT_ROWS_MAX)
    for part in range(parts):
        chosen = named[part * len(named) // parts : (part + 1) * len(named) // parts]
        numbered = title if parts == 1 else f"{title} ({part + 1} of {parts})"
        rows, labels = [row for row, _ in chosen], [label for _, label in chosen]
        charts.append(dots_of(material, rows, numbered, labels))
        charts[-1].about = about
    return charts


def peak(rows: list[Row]) -> tuple[float, int]:
    """The highest throughput of a series, and the size of it."""
    best = max((row for row in rows if row.bytes), key=lambda row: row.bytes_per_second)
    return best.bytes_per_second, best.bytes


def peaks_text(named: list[tuple[str, list[Row]]]) -> str:
    told = []
    for name, rows in named:
        rate, size = peak(rows)
        told.append(f"{name} {rate_text(rate)} at {bytes_text(size)}")
    return words.listed(told)
