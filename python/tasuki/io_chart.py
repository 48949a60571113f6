"""The phases of collective access to files as a Gantt chart: a row for each rank, time from left to right.

In a row, exchange is above and access to the file below, so that what overlaps is seen; behind both lies the
time that the rank was in the call. The colours differ in lightness, too, so that they do in grey.
"""

from __future__ import annotations

import dataclasses
import pathlib

from tasuki.io_times import Access, Call, Job
from tasuki.units import bytes_text, rate_text, time_text

COLORS = {"read": "#9cc7e6", "exchange": "#e08a1e", "write": "#12365e"}
INSIDE_COLOR, NODE_COLOR, TEXT_COLOR = "#ececea", "#b9b9b4", "#59616b"
FORMATS = (".png", ".svg", ".pdf")

WIDTH_INCHES, DOTS_PER_INCH = 11.0, 160
PLOT_INCHES = 9.6  # of the width: about what the time axis has
ROW_INCHES_MAX, ROW_INCHES_MIN, HEIGHT_INCHES_MAX = 0.42, 0.115, 24.0
GAP_DOTS = 0.4  # spans that are nearer than that are drawn as one
NUMBER_DOTS, NUMBER_ROW_INCHES = (
    16,
    0.25,
)  # bars that are shorter or lower have no room for their cycle's number
EDGE_DOTS = 8  # the narrowest bar that a white line sets apart from the next one
# Where a bar is in its row, and how high: of a rank that has both kinds of phase, and of one that has one.
EXCHANGE_LANE, FILE_LANE, WHOLE_LANE = (-0.38, 0.36), (0.02, 0.36), (-0.38, 0.76)


@dataclasses.dataclass
class Window:
    """What the time axis shows, and how fine."""

    begin_ns: int  # of the axis' 0
    first_ms: float
    last_ms: float
    row_inches: float

    @property
    def dots_per_ms(self) -> float:
        return PLOT_INCHES * DOTS_PER_INCH / (self.last_ms - self.first_ms)

    def ms(self, time_ns: int) -> float:
        return (time_ns - self.begin_ns) * 1e-6


def write(
    job: Job,
    calls: list[Call],
    ranks: list[int],
    path: str | pathlib.Path,
    between: tuple[float, float] | None = None,
) -> None:
    """A picture of these calls, all on one axis, in the format that the name's ending says; of the time
    `between` two points of it, in milliseconds. REQUIRES: calls, and `ranks` that are in one of them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = rows_of(job, ranks)
    height = min(max(ROW_INCHES_MAX - 0.006 * len(ranks), ROW_INCHES_MIN) * len(ranks), HEIGHT_INCHES_MAX)
    figure = Figure(figsize=(WIDTH_INCHES, height + 1.5), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    begin, end = min(call.begin_ns for call in calls), max(call.end_ns for call in calls)
    first, last = between or (0.0, max((end - begin) * 1e-6, 1e-6))
    window = Window(begin, first, last, height / len(ranks))
    for call in calls:
        for access in call.accesses:
            if access.rank in rows:
                draw_access(axes, access, rows[access.rank], window)
    draw_rows(axes, job, calls, rows, window.row_inches)
    axes.set_xlim(first, last)
    axes.set_xlabel("ms since the first rank came", fontsize=9, color=TEXT_COLOR)
    axes.tick_params(axis="x", labelsize=9, labelcolor=TEXT_COLOR, length=3)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.suptitle(title_of(job, calls), fontsize=11, x=0.01, ha="left")
    draw_legend(figure, calls, ranks)
    figure.savefig(path, format=pathlib.Path(path).suffix[1:])


def rows_of(job: Job, ranks: list[int]) -> dict[int, int]:
    """Rank to row, from above: node after node."""
    ordered = sorted(ranks, key=lambda rank: (job.node_of[rank], rank))
    return {rank: row for row, rank in enumerate(ordered)}


def draw_access(axes, access: Access, row: int, window: Window) -> None:
    left, right = window.ms(access.begin_ns), window.ms(access.end_ns)
    axes.broken_barh([(left, right - left)], (row - 0.42, 0.84), facecolors=INSIDE_COLOR, linewidth=0)
    has_both = len({span.phase == "exchange" for span in access.spans}) == 2
    for phase in COLORS:
        spans = [
            (window.ms(span.begin_ns), window.ms(span.end_ns), span.cycle)
            for span in access.spans
            if span.phase == phase
        ]
        seen = [span for span in spans if span[1] >= window.first_ms and span[0] <= window.last_ms]
        low, high = WHOLE_LANE if not has_both else EXCHANGE_LANE if phase == "exchange" else FILE_LANE
        draw_bars(axes, phase, bars_of(seen, GAP_DOTS / window.dots_per_ms), (row + low, high), window)


def draw_bars(axes, phase: str, bars: list[tuple], lane: tuple[float, float], window: Window) -> None:
    color = COLORS[phase]
    least = EDGE_DOTS / window.dots_per_ms
    axes.broken_barh(
        [(left, right - left) for left, right, _ in bars],
        lane,
        facecolors=color,
        edgecolors=["white" if right - left >= least else color for left, right, _ in bars],
        linewidth=0.4,
    )
    if window.row_inches < NUMBER_ROW_INCHES:
        return
    for left, right, cycle in bars:
        left, right = max(left, window.first_ms), min(right, window.last_ms)
        if cycle is None or (right - left) * window.dots_per_ms < NUMBER_DOTS * len(str(cycle)) ** 0.5:
            continue
        place = ((left + right) / 2, lane[0] + lane[1] / 2)
        ink = "white" if phase == "write" else "black"
        text = axes.text(*place, cycle, fontsize=5.5, color=ink, ha="center", va="center", clip_on=True)
        text.set_in_layout(False)


def bars_of(spans: list[tuple], gap: float) -> list[tuple[float, float, int | None]]:
    """Begin, end and cycle of what is drawn: spans with less than `gap` between them, one of which is too
    short to be seen, become one bar. It has a cycle where it is next to nothing but one span of it."""
    bars: list[list] = []  # begin, end, cycle and length of the longest span
    for left, right, cycle in sorted(spans):
        length = right - left
        before = bars[-1] if bars else None
        if before and left - before[1] < gap and min(length, before[1] - before[0]) < 4 * gap:
            before[1] = max(before[1], right)
            if length > before[3]:
                before[2:] = cycle, length
        else:
            bars.append([left, right, cycle, length])
    return [
        (left, right, cycle if longest >= 0.8 * (right - left) else None)
        for left, right, cycle, longest in bars
    ]


def draw_rows(axes, job: Job, calls: list[Call], rows: dict[int, int], row_inches: float) -> None:
    aggregators = {rank for call in calls for rank in call.aggregators}
    font = min(9.0, max(4.5, row_inches * 72 * 0.8))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(list(rows.values()), [f"{'◆ ' if rank in aggregators else ''}{rank}" for rank in rows])
    axes.tick_params(axis="y", labelsize=font, length=0)
    axes.set_ylabel("rank", fontsize=9, color=TEXT_COLOR)
    if job.nodes == 1:
        return
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for rank, row in rows.items():
        node = job.node_of[rank]
        first.setdefault(node, row)
        last[node] = row
    for node, row in first.items():
        if row:
            axes.axhline(row - 0.5, color=NODE_COLOR, linewidth=0.8)
        place = (1.004, (row + last[node]) / 2)
        how = {"transform": axes.get_yaxis_transform(), "va": "center", "ha": "left", "color": TEXT_COLOR}
        axes.text(*place, f"node {node}", fontsize=min(8.0, font * (1 + last[node] - row)), **how)


def draw_legend(figure, calls: list[Call], ranks: list[int]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = [one for call in calls for one in call.accesses if one.rank in ranks]
    there = {span.phase for one in shown for span in one.spans}
    handles = [Patch(color=color, label=phase) for phase, color in COLORS.items() if phase in there]
    handles.append(Patch(color=INSIDE_COLOR, label="in the call"))
    if any(one.aggregator is not None for one in shown):
        handles.append(Line2D([], [], marker="D", linestyle="none", color="black", markersize=4))
        handles[-1].set_label("aggregator")
    figure.legend(handles=handles, loc="outside lower left", ncols=5, fontsize=8, frameon=False)


def title_of(job: Job, calls: list[Call]) -> str:
    file = pathlib.PurePath(calls[0].file).name.encode(errors="replace").decode()
    nodes = f" on {job.nodes} nodes" if job.nodes > 1 else ""
    if len(calls) > 1:
        files = {call.file for call in calls}
        told = file if len(files) == 1 else f"{len(files)} files"
        return f"{len(calls)} collective accesses to {told}, {job.size} ranks{nodes}"
    call = calls[0]
    parts = [f"{len(call.accesses)} ranks{nodes}"]
    if call.way == "two-phase":
        number, cycles = len(call.aggregators), call.cycles
        parts.append(f"{number} aggregator{'s' if number != 1 else ''}")
        parts.append(f"{cycles} cycle{'s' if cycles != 1 else ''}")
    else:
        parts.append("each rank by itself")
    moved = f"{bytes_text(call.bytes)} in {time_text(call.seconds)}"
    rate = f" ({rate_text(call.bytes / call.seconds)})" if call.seconds else ""
    return f"{call.function} of {file}, call {call.number}: {', '.join(parts)}\n{moved}{rate}"
