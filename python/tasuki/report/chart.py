"""A chart as data: svg.py draws it into the page, picture.py into a PNG.

`style` is a place in the palette: a color, a marker and a dash pattern at once, so that nothing is told by
color alone. LIMIT and OTHER_LIMIT are the grey of what bounds the measured values, in two patterns.
"""

from __future__ import annotations

import dataclasses
import math

from tasuki.report import axes

STYLES = 6
LIMIT, OTHER_LIMIT = -1, -2
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "plus")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")
LIMIT_DASHES = {LIMIT: "4 3", OTHER_LIMIT: "1 4"}


@dataclasses.dataclass
class Point:
    """`text` tells it in full; `low` and `high` are the ends of its interval in y (of Dots: in x)."""

    x: float
    y: float
    text: str
    low: float | None = None
    high: float | None = None


@dataclasses.dataclass
class Line:
    """`shown`: "both" (markers, joined), "points" (markers alone) or "curve" (no markers). Without a name
    it goes on with the line before it, and is not in the legend."""

    name: str
    points: list[Point]
    style: int
    shown: str = "both"


@dataclasses.dataclass
class Mark:
    """A range of the x axis, drawn as a pale band with a text above its middle. `low` above 0."""

    low: float
    high: float
    text: str

    @property
    def x(self) -> float:
        """The middle, on a logarithmic axis."""
        return math.sqrt(self.low * self.high)


@dataclasses.dataclass
class Chart:
    """`about`: which case it is, below the title; `explained`: the plain sentence below the chart; `labels`:
    points with a text beside them."""

    title: str
    x: axes.Axis
    y: axes.Axis
    lines: list[Line]
    explained: str = ""
    about: str = ""
    marks: list[Mark] = dataclasses.field(default_factory=list)
    labels: list[Point] = dataclasses.field(default_factory=list)
    diagonal: bool = False  # the line y = x

    def scales(self) -> tuple[axes.Scale, axes.Scale]:
        points = [point for line in self.lines for point in line.points] + self.labels
        xs = [point.x for point in points]
        if self.diagonal:
            both = xs + [point.y for point in points]
            return axes.scale_of(self.x, both), axes.scale_of(self.y, both)
        return axes.scale_of(self.x, xs), axes.scale_of(self.y, [point.y for point in points])


@dataclasses.dataclass
class Dots:
    """Things compared by one number each: a row for each thing, in it a marker for each of `names`.

    The x of a point is its number, `styles` are those of the names; a row may lack some of them.
    """

    title: str
    x: axes.Axis
    names: list[str]
    styles: list[int]
    rows: list[tuple[str, list[Point | None]]]
    explained: str = ""
    about: str = ""

    def scale(self) -> axes.Scale:
        points = [point for _, row in self.rows for point in row if point]
        return axes.scale_of(self.x, [point.x for point in points])
