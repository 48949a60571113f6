"""Draws a chart as inline SVG. Colors come from the page's style sheet: classes s0 … s5 and limit.

Lengths are units of the viewBox, whose width is about that of a phone: there the text is as large as drawn.
Markers are symbols that the page defines once (`symbols`), #m0 … #m5.
"""

from __future__ import annotations

import math

from tasuki.report import chart as charts
from tasuki.report.axes import Scale, value_text
from tasuki.report.markup import Markup, element, joined

WIDTH, HEIGHT = 380, 270
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 24, 38
LABEL_HEIGHT, CHARACTER_WIDTH = 12, 5.8
ROW_HEIGHT = 30

SHAPES = (
    element("circle", r=3.4),
    element("rect", x=-3, y=-3, width=6, height=6),
    element("polygon", points="0,-4 3.8,3 -3.8,3"),
    element("polygon", points="0,-4.4 4.4,0 0,4.4 -4.4,0"),
    element("path", d="M-3-3 3 3M-3 3 3-3", class_="stroked"),
    element("path", d="M0-4V4M-4 0H4", class_="stroked"),
)


def symbols() -> Markup:
    """The markers, to be put into the page once."""
    shapes = [element("g", shape, id=f"m{place}") for place, shape in enumerate(SHAPES)]
    return element("svg", element("defs", shapes), width=0, height=0, aria_hidden="true", class_="symbols")


def style_class(style: int) -> str:
    return "limit" if style in charts.LIMIT_DASHES else f"s{style % charts.STYLES}"


def dashes(style: int) -> str | None:
    return charts.LIMIT_DASHES.get(style) or charts.DASHES[style % charts.STYLES] or None


def fixed(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def marker(x: float, y: float, style: int, text: str) -> Markup:
    place = style % charts.STYLES
    return element(
        "use",
        element("title", text),
        href=f"#m{place}",
        x=fixed(x),
        y=fixed(y),
        class_=f"point {style_class(style)}",
    )


class Frame:
    """The box of a chart in which values become places."""

    def __init__(self, chart: charts.Chart, top: float):
        self.x, self.y = chart.scales()
        self.top = top
        self.right, self.bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def across(self, value: float) -> float:
        return LEFT + self.x.place(value) * (self.right - LEFT)

    def up(self, value: float) -> float:
        return self.bottom - self.y.place(value) * (self.bottom - self.top)


def draw(chart: charts.Chart) -> Markup:
    rows = mark_rows(chart)
    frame = Frame(chart, TOP + LABEL_HEIGHT * (max(rows, default=-1) + 1))
    parts = [grid(frame, chart), marks(frame, chart, rows)]
    if chart.diagonal:
        parts.append(diagonal(frame))
    # Limits first and the run's own line last, so that it lies on top.
    for line in sorted(chart.lines, key=lambda line: (line.style >= 0, -line.style)):
        parts.append(line_of(frame, line))
    parts += [label(frame, point) for point in chart.labels]
    return whole(chart.title, chart.explained, HEIGHT, parts)


def whole(title: str, description: str, height: float, parts: list) -> Markup:
    return element(
        "svg",
        element("title", title),
        element("desc", description or title),
        parts,
        viewBox=f"0 0 {WIDTH} {fixed(height)}",
        role="img",
        aria_label=title,
        class_="chart",
    )


def grid(frame: Frame, chart: charts.Chart) -> Markup:
    parts = []
    for value, text in frame.y.ticks(6):
        y = fixed(frame.up(value))
        parts.append(element("line", x1=LEFT, x2=frame.right, y1=y, y2=y, class_="grid"))
        parts.append(element("text", text, x=LEFT - 5, y=fixed(frame.up(value) + 4), class_="end"))
    for value, text in frame.x.ticks(6):
        x = fixed(frame.across(value))
        parts.append(element("line", x1=x, x2=x, y1=frame.bottom, y2=frame.bottom + 4, class_="axis"))
        parts.append(element("text", text, x=x, y=frame.bottom + 16, class_="middle"))
    parts.append(element("line", x1=LEFT, x2=frame.right, y1=frame.bottom, y2=frame.bottom, class_="axis"))
    parts.append(element("text", chart.y.label, x=2, y=11, class_="name"))
    parts.append(element("text", chart.x.label, x=frame.right, y=HEIGHT - 5, class_="name end"))
    return joined(parts)


def mark_rows(chart: charts.Chart) -> list[int]:
    """In which row above the box each mark's text stands, so that none lies on another."""
    scale, _ = chart.scales()
    ends: list[float] = []
    rows = []
    for mark in sorted(chart.marks, key=lambda mark: mark.x):
        begin, end = mark_text_span(scale, mark)
        row = next((row for row, taken in enumerate(ends) if taken < begin), len(ends))
        ends[row : row + 1] = [end + 4]
        rows.append(row)
    return rows


def mark_text_span(scale: Scale, mark: charts.Mark) -> tuple[float, float]:
    width = len(mark.text) * CHARACTER_WIDTH
    middle = LEFT + scale.place(mark.x) * (WIDTH - RIGHT - LEFT)
    begin = min(max(0.0, middle - width / 2), WIDTH - width)
    return begin, begin + width


def marks(frame: Frame, chart: charts.Chart, rows: list[int]) -> Markup:
    parts = []
    for mark, row in zip(sorted(chart.marks, key=lambda mark: mark.x), rows, strict=True):
        left, right = frame.across(mark.low), frame.across(mark.high)
        y = frame.top - 4 - LABEL_HEIGHT * row
        begin, _ = mark_text_span(frame.x, mark)
        width, height = fixed(max(right - left, 1)), fixed(frame.bottom - y - 2)
        parts.append(
            element("rect", x=fixed(left), y=fixed(y + 2), width=width, height=height, class_="mark")
        )
        parts.append(element("text", mark.text, x=fixed(begin), y=fixed(y), class_="marked"))
    return joined(parts)


def diagonal(frame: Frame) -> Markup:
    low, high = max(frame.x.low, frame.y.low), min(frame.x.high, frame.y.high)
    ends = {"x1": frame.across(low), "x2": frame.across(high), "y1": frame.up(low), "y2": frame.up(high)}
    return element("line", class_="diagonal", **{name: fixed(value) for name, value in ends.items()})


def line_of(frame: Frame, line: charts.Line) -> Markup:
    places = [(frame.across(point.x), frame.up(point.y)) for point in line.points]
    kind = style_class(line.style)
    parts = []
    if line.shown != "points" and len(places) > 1:
        path = "M" + " ".join(f"{fixed(x)},{fixed(y)}" for x, y in places)
        parts.append(element("path", d=path, class_=f"line {kind}", stroke_dasharray=dashes(line.style)))
    if line.shown != "curve":
        for point, (x, y) in zip(line.points, places, strict=True):
            parts.append(interval(frame, point, x, kind))
            parts.append(marker(x, y, line.style, point.text))
    return joined(parts)


def interval(frame: Frame, point: charts.Point, x: float, kind: str) -> Markup | None:
    """The interval as a vertical line, where it would be seen beside the marker."""
    if point.low is None or point.high is None:
        return None
    low, high = frame.up(max(point.low, frame.y.low)), frame.up(min(point.high, frame.y.high))
    if abs(high - low) < 8:
        return None
    return element("line", x1=fixed(x), x2=fixed(x), y1=fixed(low), y2=fixed(high), class_=f"interval {kind}")


def label(frame: Frame, point: charts.Point) -> Markup:
    """A point with its text beside it, on the side where there is room."""
    x, y = frame.across(point.x), frame.up(point.y)
    room = frame.right - x > len(point.text) * CHARACTER_WIDTH + 10
    ring = element("circle", cx=fixed(x), cy=fixed(y), r=5.5, class_="ring")
    place = {"x": fixed(x + 9), "y": fixed(y + 13)} if room else {"x": fixed(x - 9), "y": fixed(y - 8)}
    return joined(ring, element("text", point.text, class_="halo" if room else "halo end", **place))


def draw_dots(dots: charts.Dots) -> Markup:
    """A row for each thing: its name and the first number above a track with the markers."""
    scale = dots.scale()
    left, right = 6.0, WIDTH - 6.0
    parts, y = [], 4.0
    for name, row in dots.rows:
        first = next((point for point in row if point), None)
        track = y + 21
        parts.append(element("text", cut(name), x=0, y=fixed(y + 11)))
        if first:
            value = value_text(scale.axis.quantity, first.x)
            parts.append(
                element("text", value, x=WIDTH, y=fixed(y + 11), class_=f"end {style_class(0)} value")
            )
        parts.append(element("line", x1=left, x2=right, y1=fixed(track), y2=fixed(track), class_="grid"))
        for point, style in sorted(zip(row, dots.styles, strict=True), key=lambda pair: -pair[1]):
            if point:
                x = left + scale.place(point.x) * (right - left)
                parts.append(dot_interval(scale, point, left, right, track, style))
                parts.append(marker(x, track, style, point.text))
        y += ROW_HEIGHT
    parts += dot_ticks(scale, left, right, y)
    parts.append(element("line", x1=left, x2=right, y1=fixed(y + 2), y2=fixed(y + 2), class_="axis"))
    return whole(dots.title, dots.explained, y + 24, parts)


def dot_ticks(scale: Scale, left: float, right: float, y: float) -> list[Markup]:
    """The ticks below the rows; a text that would touch the one before it is left out."""
    parts, taken = [], -math.inf
    for value, text in scale.ticks(6):
        x, half = left + scale.place(value) * (right - left), len(text) * CHARACTER_WIDTH / 2
        middle = min(max(x, half), WIDTH - half)
        place = fixed(x)
        parts.append(element("line", x1=place, x2=place, y1=fixed(y + 2), y2=fixed(y + 6), class_="axis"))
        if middle - half > taken:
            parts.append(element("text", text, x=fixed(middle), y=fixed(y + 17), class_="middle"))
            taken = middle + half + 4
    return parts


def cut(name: str) -> str:
    """A name as long as there is room beside the number; the markers tell it in full."""
    most = int((WIDTH - 62) / CHARACTER_WIDTH)
    return name if len(name) <= most else name[: most - 1].rstrip(", ") + "…"


def dot_interval(scale: Scale, point: charts.Point, left: float, right: float, y: float, style: int):
    if point.low is None or point.high is None:
        return None
    ends = max(point.low, scale.low), min(point.high, scale.high)
    low, high = (left + scale.place(end) * (right - left) for end in ends)
    if high - low < 8:
        return None
    kind = f"interval {style_class(style)}"
    return element("line", x1=fixed(low), x2=fixed(high), y1=fixed(y), y2=fixed(y), class_=kind)


def legend(names: list[tuple[str, int, str]], switches: bool = False) -> Markup:
    """(name, style, shown) of each line, each with a piece of it; `switches`: and the marks of the fit's."""
    items = []
    for name, style, shown in names:
        kind = style_class(style)
        line = element("path", d="M0,7 30,7", class_=f"line {kind}", stroke_dasharray=dashes(style))
        mark = element("use", href=f"#m{style % charts.STYLES}", x=15, y=7, class_=kind)
        swatch = element(
            "svg",
            None if shown == "points" else line,
            None if shown == "curve" else mark,
            viewBox="0 0 30 14",
            width=30,
            height=14,
            aria_hidden="true",
        )
        items.append(element("li", swatch, " ", name))
    if switches:
        line = element("rect", x=9, y=0, width=12, height=14, class_="mark")
        swatch = element("svg", line, viewBox="0 0 30 14", width=30, height=14, aria_hidden="true")
        items.append(element("li", swatch, " the fit switches between these sizes"))
    return element("ul", items, class_="legend")
