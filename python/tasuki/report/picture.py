"""The main charts as one PNG, drawn with matplotlib from the same data as the page's."""

from __future__ import annotations

import pathlib

from tasuki.report import chart as charts
from tasuki.report import svg
from tasuki.report.axes import Scale

INCHES, DOTS_PER_INCH = (6.0, 4.3), 160  # of one chart
COLORS = ("#0063a8", "#c04f00", "#007d5a", "#9c4a82", "#7a6a00", "#4a4fb5")
MARK_POINTS = 11  # the height of a row of marks' texts
LIMIT_COLOR, MARK_COLOR, TEXT_COLOR, RULE_COLOR = "#6d7580", "#b03a1e", "#59616b", "#dcdcd6"
MARKERS = ("o", "s", "^", "D", "x", "+")


def write(chosen: list[charts.Chart], path: str | pathlib.Path, heading: str) -> None:
    """Charts side by side below a heading."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(INCHES[0] * len(chosen), INCHES[1]), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(heading, fontsize=12, x=0.01, ha="left")
    rows_of_marks = max((row + 1 for chart in chosen for row in svg.mark_rows(chart)), default=0)
    for axes, chart in zip(figure.subplots(1, len(chosen), squeeze=False)[0], chosen, strict=True):
        draw(axes, chart, 6 + MARK_POINTS * rows_of_marks)
    figure.savefig(path, format="png")


def draw(axes, chart: charts.Chart, title_points: float) -> None:
    """In the chart's own scales, from 0 to 1, so that ticks and the place of 0 B are those of the page. The
    title stands `title_points` above it, as high as the others'."""
    x, y = chart.scales()
    rows = svg.mark_rows(chart)
    axes.set_title(chart.title, loc="left", fontsize=11, pad=title_points)
    axes.set_xlim(0, 1), axes.set_ylim(0, 1)
    set_ticks(axes.xaxis, x, 7)
    set_ticks(axes.yaxis, y, 6)
    axes.set_xlabel(chart.x.label, fontsize=9, color=TEXT_COLOR)
    axes.set_ylabel(chart.y.label, fontsize=9, color=TEXT_COLOR)
    axes.grid(axis="y", color=RULE_COLOR, linewidth=0.8)
    axes.tick_params(labelsize=9, labelcolor=TEXT_COLOR, length=3)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    for mark, row in zip(sorted(chart.marks, key=lambda mark: mark.x), rows, strict=True):
        axes.axvspan(x.place(mark.low), x.place(mark.high), color=MARK_COLOR, alpha=0.12, linewidth=0)
        place = {"xy": (x.place(mark.x), 1.0), "xytext": (0, 1 + MARK_POINTS * row)}
        how = {"textcoords": "offset points", "fontsize": 8, "ha": "center", "va": "bottom"}
        axes.annotate(mark.text, **place, **how, color=MARK_COLOR)
    for line in sorted(chart.lines, key=lambda line: (line.style >= 0, -line.style)):
        draw_line(axes, line, x, y)
    for point in chart.labels:
        place = (x.place(point.x), y.place(point.y))
        axes.plot(*place, "o", markersize=9, fillstyle="none", color="black")
        axes.annotate(point.text, place, (8, -10), textcoords="offset points", fontsize=9)
    handles = dict(zip((line.get_label() for line in axes.lines), axes.lines, strict=True))
    named = [handles[line.name] for line in chart.lines if line.name]
    axes.legend(handles=named, fontsize=8, frameon=False, handlelength=3)


def set_ticks(axis, scale: Scale, most: int) -> None:
    ticks = scale.ticks(most)
    axis.set_ticks([scale.place(value) for value, _ in ticks], [text for _, text in ticks])


def draw_line(axes, line: charts.Line, x: Scale, y: Scale) -> None:
    limit = line.style in charts.LIMIT_DASHES
    dashes = charts.LIMIT_DASHES.get(line.style) or charts.DASHES[line.style % charts.STYLES]
    pattern = (0, [float(part) / 1.5 for part in dashes.split()]) if dashes else "solid"
    axes.plot(
        [x.place(point.x) for point in line.points],
        [y.place(point.y) for point in line.points],
        label=line.name or None,
        color=LIMIT_COLOR if limit else COLORS[line.style % charts.STYLES],
        linestyle="none" if line.shown == "points" else pattern,
        marker=None if line.shown == "curve" else MARKERS[line.style % charts.STYLES],
        markersize=4,
        linewidth=1.2 if limit else 1.5,
    )
