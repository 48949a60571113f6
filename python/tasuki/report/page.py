"""The page: from the material to one HTML document that needs nothing else.

A section is left out when the run has nothing for it; a line at the end of the contents says which groups are
missing.
"""

from __future__ import annotations

import re

from tasuki.report import groups, model, pingpong, svg, tables, verdicts, words
from tasuki.report.chart import Chart, Dots
from tasuki.report.frame import framed
from tasuki.report.markup import Markup, element, joined
from tasuki.report.material import GROUP_TITLES, Material, words_of
from tasuki.report.material import pingpong as pingpong_rows
from tasuki.results import Row

SHOWN_ABOVE = ("pingpong",)  # what has large charts of its own
WAYS_ALONE = ("concurrent", "io")  # groups of which the ways matter, in large charts
DOTS_SHOWN = 4  # charts of single times, up to which they are not folded

FITS_SHOWN = 12  # series, up to which their table is not folded

# What each group's charts show, told once above them.
GROUP_LEADS = {
    "point_to_point": "Other ways of sending, other buffers; the base case is that of the ping-pong above.",
    "collectives": "Time of one call, from the common begin until the last rank has ended.",
    "concurrent": "Patterns in which all ranks send at once, each programmed in several ways.",
    "rma": "Put, get and accumulate, and what keeps them in order.",
    "io": "Reading and writing files by each of MPI's ways; throughput counts the bytes of all ranks.",
    "start_up": "What it takes to begin and end a job, and to make communicators.",
}


def document(material: Material) -> str:
    sections = [section for section in sections_of(material) if section]
    title = title_of(material)
    body = [
        element("a", "To the numbers", href="#headlines", class_="skip"),
        svg.symbols(),
        header(material, title, sections),
        element("main", [part for _, _, part in sections]),
    ]
    footer = f"Made by tasuki report from {material.run.path or 'results'}. How to read it: docs/report.md."
    return framed("tasuki.report", title, body, footer)


def title_of(material: Material) -> str:
    names = material.names
    return f"{names[0]} beside {words.listed(names[1:])}" if material.peers else f"{names[0]}, measured"


def header(material: Material, title: str, sections: list) -> Markup:
    items = [element("li", element("a", text, href=f"#{name}")) for name, text, _ in sections]
    warned = tables.warnings(material)
    box = element(
        "div",
        element("strong", "Before you believe the numbers"),
        element("ul", [element("li", text) for text in warned]),
        class_="warnings",
    )
    return element(
        "header",
        element("h1", title),
        element("p", kept_together(tables.method_text(material)), class_="lead"),
        tables.measured(material),
        missing(material),
        box if warned else None,
        element("nav", element("ul", items), aria_label="Contents"),
    )


def sections_of(material: Material) -> list:
    """(id, title, markup) of each section that has something to show, top to bottom."""
    found = [headlines(material), curves(material)]
    found += [group_section(material, group) for group in material.groups()]
    return found + [
        fits(material),
        *predicted(material),
        compared(material),
        guided(material),
        everything(material),
    ]


def section(name: str, title: str, *content: object) -> tuple[str, str, Markup]:
    return name, title, element("section", element("h2", title), *content, id=name)


def figure(chart: Chart | Dots) -> Markup:
    """A chart with its title, its legend where more than one line is in it, and its sentence."""
    if isinstance(chart, Dots):
        there = [any(row[place] for _, row in chart.rows) for place in range(len(chart.names))]
        lines = zip(chart.names, chart.styles, there, strict=True)
        named = [(name, style, "points") for name, style, shown in lines if shown]
        drawn = svg.draw_dots(chart)
    else:
        named = [(line.name, line.style, line.shown) for line in chart.lines if line.name]
        drawn = svg.draw(chart)
    switches = isinstance(chart, Chart) and bool(chart.marks)
    legend = svg.legend(named, switches) if len(named) > 1 or switches else None
    caption = element("figcaption", kept_together(chart.explained)) if chart.explained else None
    title = element("h3", chart.title[:1].upper() + chart.title[1:])
    about = element("p", chart.about, class_="about") if chart.about else None
    return element("figure", title, about, legend, drawn, caption)


def kept_together(text: str) -> str:
    """No line ends between a number and its unit, or within a formula."""
    text = text.replace(" + M / ", "\u00a0+\u00a0M\u00a0/\u00a0").replace("t = ", "t\u00a0=\u00a0")
    return re.sub(r"(?<=\d) (?=(%|[KMGT]?i?B(/s)?|[nµm]?s|times|ranks)\b|%)", "\u00a0", text)


def grid(charts: list, kind: str = "grid") -> Markup | None:
    return element("div", [figure(chart) for chart in charts], class_=kind) if charts else None


def headlines(material: Material):
    told = pingpong.tiles(material)
    if not told:
        return None
    parts = [
        element(
            "div",
            element("div", what, class_="what"),
            element("div", number, class_="number"),
            element("div", kept_together(source), class_="from"),
            class_="tile",
        )
        for what, number, source in told
    ]
    base = f"Of the ping-pong between 2 ranks{base_text(pingpong_rows(material.run)[0])}."
    return section(
        "headlines",
        "In short",
        element("p", base, class_="lead"),
        element("div", parts, class_="tiles"),
        tables.headline_table(material),
    )


def base_text(row: Row) -> str:
    return f" ({words_of(row.variant)})" if row.variant else ""


def curves(material: Material):
    charts = pingpong.curves(material)
    if not charts:
        return None
    lead = "A message goes over and comes back; half of that is its time."
    fit = material.fits.get(pingpong_rows(material.run)[0].series)
    if fit and fit.segments:
        lead += f" Points are measured; {material.names[0]}'s line is the fit."
    return section("pingpong", "Ping-pong", element("p", lead, class_="lead"), grid(charts))


def group_section(material: Material, group: str):
    """Curves first; below them single times, folded where they are many."""
    title = GROUP_TITLES.get(group, group.replace("_", " "))
    lead = GROUP_LEADS.get(group)
    quantity = "rate" if group == "io" else "seconds"
    ways = groups.curves_of_ways(material, group, quantity, SHOWN_ABOVE)
    beside = [] if group in WAYS_ALONE else groups.curves_beside_peers(material, group, SHOWN_ABOVE)
    ways += groups.curves_by_ranks(material, group)
    dots = groups.overlap_dots(material, group) + groups.dots_of_cases(material, group)
    if not (ways or beside or dots):
        return None
    curves = grid(ways) if group in WAYS_ALONE else grid(beside + ways, "grid small")
    single = grid(dots, "grid small")
    if len(dots) > DOTS_SHOWN:
        single = tables.folded(f"Single times: {len(dots)} charts", single)
    return section(group, title, element("p", lead, class_="lead") if lead else None, curves, single)


def missing(material: Material) -> Markup | None:
    """The groups that the run does not have: in a line."""
    absent = [title for group, title in GROUP_TITLES.items() if group not in material.groups()]
    if not absent:
        return None
    return element("p", f"Not in this run: {', '.join(absent).lower()}.", class_="missing")


def fits(material: Material):
    table = model.fit_table(material)
    if not table:
        return None
    fitted = sum(1 for fit in material.fits.values() if fit.segments)
    troubled = [element("li", text) for text in model.fit_troubles(material)]
    return section(
        "fit",
        "The fit",
        element("p", model.fits_text(material), class_="lead"),
        tables.folded("Segments of every series", table, opened=fitted <= FITS_SHOWN),
        tables.folded("Series without a fit", element("ul", troubled)) if troubled else None,
    )


def predicted(material: Material) -> list:
    """A section for each prediction."""
    found = []
    for place, one in enumerate(material.predictions, 1):
        chart = model.prediction_chart(one)
        tellings = [
            tables.folded(f"By {by}", model.prediction_table(one, by), opened=True) for by in one.kinds()
        ]
        text = None if chart else element("p", kept_together(model.prediction_text(one)))
        title = "Predicted and measured" if chart else "Predicted"
        name = "prediction" if place == 1 else f"prediction{place}"
        found.append(section(name, title, text, grid([chart]) if chart else None, *tellings))
    return found


def compared(material: Material):
    if not material.peers:
        return None
    return section(
        "compared",
        "Beside the peers",
        element("p", kept_together(verdicts.comparisons_text(material)), class_="lead"),
        verdicts.controls(material),
        verdicts.summary_table(material) if any(material.comparisons) else None,
        *verdicts.slower_tables(material),
    )


def guided(material: Material):
    if not material.findings:
        return None
    return section(
        "guidelines",
        "Performance guidelines",
        element("p", verdicts.guidelines_text(material.findings), class_="lead"),
        verdicts.guidelines_table(material.run, material.findings),
    )


def everything(material: Material):
    told = tables.troubles(material)
    return section(
        "everything",
        "Every row, and where it was measured",
        joined(tables.all_rows(material), tables.environments(material)),
        tables.folded("Troubles", told, opened=True) if told else None,
    )
