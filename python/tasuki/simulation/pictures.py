"""Pictures of a simulated collective: time by size, ranks over time, and the loads of a torus's links."""

from __future__ import annotations

import math
import pathlib
import re

from tasuki import machines
from tasuki.simulation import SimulationError, nodes_of
from tasuki.simulation.path import BEGIN, END, KIND, PEER, RANK, critical_path

COLORS = {
    "program": "#d9d5c3",
    "send": "#e08a1e",
    "transfer": "#9cc7e6",
    "compute": "#12365e",
    "recorded": "#8d8d8d",
}
NAMES = {
    "program": "the program computes",
    "send": "software of a send",
    "transfer": "transfer, at its sender",
    "compute": "reduction, copy",
    "recorded": "call as recorded",
}
UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6))  # of times, the first in which the whole is 1 or more
PATH_COLOR, LINE_COLOR, TEXT_COLOR = "#c02942", "#b9b9b4", "#59616b"
DOTS_PER_INCH = 160
LINK = re.compile(r"from_(\d+)_to_(\d+)_(UP|DOWN)$")
PANELS_MAX = 16  # planes that are drawn


def write(machine: machines.Machine, answers: list[dict], told: dict | None, shape, folder: str) -> None:
    """What can be drawn: times where there are several sizes, ranks and links of `told`
    (simulation.details)."""
    into = pathlib.Path(folder)
    shape = shape or machine.topology.shape
    try:
        into.mkdir(parents=True, exist_ok=True)
        if len({one["bytes"] for one in answers}) > 1:
            draw_times(machine, answers, shape, into / "time.png")
        if told is None:
            return
        ranks = nodes_of(machine, shape) * int(machine.value("ranks_per_node") or 1)
        draw_ranks(told, told["spans"], ranks, into / "ranks.png")
        if machine.topology.kind == "torus" and len(shape) <= 3:
            draw_links(told, shape, into / "links.png")
    except OSError as error:
        raise SimulationError(f"{folder}: {error.strerror}") from None


def write_program(machine: machines.Machine, found: dict, spans: list, shape, folder: str) -> None:
    """Ranks over time and a torus's links of a traced program; `found`: what traced.Simulation.run told."""
    into = pathlib.Path(folder)
    shape = shape or machine.topology.shape
    try:
        into.mkdir(parents=True, exist_ok=True)
        if spans:
            draw_ranks(found, spans, len(found["ranks_of"]), into / "ranks.png")
        if machine.topology.kind == "torus" and len(shape) <= 3 and found["links"]:
            draw_links(found, shape, into / "links.png")
    except OSError as error:
        raise SimulationError(f"{folder}: {error.strerror}") from None


def canvas(width: float, height: float):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure, path: pathlib.Path) -> None:
    figure.savefig(path, dpi=DOTS_PER_INCH)


def draw_times(machine: machines.Machine, answers: list[dict], shape, path: pathlib.Path) -> None:
    """The time of each algorithm by size, and what the machine's papers print of it."""
    figure = canvas(8, 5.5)
    axes = figure.add_subplot()
    by_name: dict[str, list[dict]] = {}
    for one in answers:
        by_name.setdefault(one["algorithm"], []).append(one)
    for name, those in by_name.items():
        sizes, times = [one["bytes"] for one in those], [one["seconds"] * 1e6 for one in those]
        axes.plot(sizes, times, marker="o", markersize=4, label=name)
    first, last = (end(one["bytes"] for one in answers) for end in (min, max))
    operation, extents = answers[0]["operation"], "x".join(map(str, shape))
    for curve in machine.curves:
        if curve.pattern != f"collectives/{operation}/shape={extents}":
            continue
        for line in curve.lines():
            sizes = [size for size in (first, last) if line.bytes_first <= size <= line.bytes_last]
            latency, rate = line.latency_seconds.value, line.bytes_per_second.value
            times = [(latency + size * curve.factor / rate) * 1e6 for size in sizes]
            label = f"measured ({machine.sources.get(curve.source, '').partition(':')[0]})"
            axes.plot(sizes, times, color="black", linestyle="--", marker="s", markersize=5, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda size, _: size_text(size))
    axes.set_xticks(sorted({one["bytes"] for one in answers}))
    axes.xaxis.minorticks_off()
    for ticks in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        ticks(lambda time, _: f"{time:,.4g}")
    axes.set_xlabel("size")
    axes.set_ylabel("time, µs")
    axes.grid(color=LINE_COLOR, linewidth=0.4)
    axes.legend(fontsize=8)
    axes.set_title(f"{operation} on {machine.name}, {extents} nodes", fontsize=11)
    save(figure, path)


def size_text(size: float) -> str:
    from tasuki.units import bytes_text

    return bytes_text(int(size))


def draw_ranks(answer: dict, spans: list, ranks: int, path: pathlib.Path) -> None:
    """What each rank did when: its processor above, its transfers below; and the critical path."""
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    figure = canvas(11, min(14, 2 + 0.16 * ranks) if ranks < 64 else 9)
    axes = figure.add_subplot()
    unit, factor = next((one for one in UNITS if answer["seconds"] * one[1] >= 1), UNITS[-1])
    lanes = {kind: (0.0, 0.42) if kind == "transfer" else (-0.42, 0.0) for kind in COLORS}
    for kind, (low, high) in lanes.items():
        boxes = [
            [(s[BEGIN] * factor, s[RANK] + low), (s[END] * factor, s[RANK] + low)]
            + [(s[END] * factor, s[RANK] + high), (s[BEGIN] * factor, s[RANK] + high)]
            for s in spans
            if s[KIND] == kind
        ]
        axes.add_collection(PolyCollection(boxes, facecolors=COLORS[kind], edgecolors="none"))
    through = critical_path(spans)
    steps = [
        [(s[BEGIN] * factor, s[RANK]), (s[END] * factor, s[PEER] if s[KIND] == "transfer" else s[RANK])]
        for s in through
    ]
    axes.add_collection(LineCollection(steps, colors=PATH_COLOR, linewidths=1.4))
    axes.set_xlim(0, answer["seconds"] * factor)
    axes.set_ylim(ranks - 0.5, -0.5)
    axes.set_xlabel(f"time, {unit}")
    axes.set_ylabel("rank")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    kinds = [kind for kind in COLORS if any(s[KIND] == kind for s in spans)]
    legend = [Patch(color=COLORS[kind], label=NAMES[kind]) for kind in kinds]
    legend.append(Line2D([], [], color=PATH_COLOR, label="critical path"))
    figure.legend(
        handles=legend,
        fontsize=8,
        loc="outside upper right",
        ncols=3 if len(legend) > 4 else 4,
        frameon=False,
    )
    figure.suptitle(title_of(answer), fontsize=11, x=0.01, ha="left")
    save(figure, path)


def title_of(answer: dict) -> str:
    from tasuki.units import bytes_text, time_text

    if "trace" in answer:
        name = pathlib.Path(answer["trace"]).name
        return f"{name}, {answer['ranks']} ranks, {answer['machine']}: {time_text(answer['seconds'], 4)}"
    return (
        f"{answer['operation']}, {answer['algorithm']}, {bytes_text(answer['bytes'])}, "
        f"by {answer['way']}: {time_text(answer['seconds'], 4)}"
    )


def place(node: int, shape) -> tuple[int, int, int]:
    """Plane, row and column of a node of a torus of up to three dimensions; the last one counts fastest."""
    extents = [1] * (3 - len(shape)) + list(shape)
    return node // (extents[1] * extents[2]), node // extents[2] % extents[1], node % extents[2]


def draw_links(answer: dict, shape, path: pathlib.Path) -> None:
    """The planes of a torus: each link's line is as dark as it is busy, one line for each direction; a node's
    disk is as dark as the busier of its links to the plane before and the one behind."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    extents = [1] * (3 - len(shape)) + list(shape)
    planes = min(extents[0], PANELS_MAX)
    columns = math.ceil(math.sqrt(planes * extents[1] / extents[2]))
    columns = max(1, min(planes, columns))
    rows = math.ceil(planes / columns)
    panel = (max(1.6, 0.42 * extents[2]), max(1.2, 0.42 * extents[1]))
    figure = canvas(max(5, min(20, columns * panel[0] + 1.2)), max(3, min(20, rows * panel[1] + 1.2)))
    panels = figure.subplots(rows, columns, squeeze=False)
    most = max(link["busy"] for link in answer["links"])
    scale = ScalarMappable(Normalize(0, most), "YlOrRd")
    lines, disks = links_of(answer["links"], shape)
    for number, axes in enumerate(panels.flat):
        axes.set_axis_off()
        if number >= planes:
            continue
        here = [(line, busy) for plane, line, busy in lines if plane == number]
        colors = [scale.to_rgba(busy) for _, busy in here]
        axes.add_collection(LineCollection([line for line, _ in here], colors=colors, linewidths=2.2))
        nodes = [(row, column) for row in range(extents[1]) for column in range(extents[2])]
        loads = [disks.get((number, *node), 0) for node in nodes]
        axes.scatter(
            [column for _, column in nodes],
            [row for row, _ in nodes],
            c=[scale.to_rgba(load) for load in loads],
            s=34,
            edgecolors=TEXT_COLOR,
            linewidths=0.5,
            zorder=3,
        )
        axes.set_xlim(-0.8, extents[2] - 0.2)
        axes.set_ylim(extents[1] - 0.2, -0.8)
        axes.set_aspect("equal")
        if extents[0] > 1:
            axes.set_title(f"plane {number}", fontsize=8, color=TEXT_COLOR)
    digits = 0 if most >= 0.1 else 1
    figure.colorbar(
        scale, ax=panels, label="busy, of the time", format=lambda share, _: f"{share:.{digits}%}"
    )
    figure.suptitle(title_of(answer), fontsize=10)
    save(figure, path)


def links_of(links: list[dict], shape):
    """Lines within planes (plane, from and to, busy), beside each other for the two directions and as stubs
    where they go round; and for each node the most of what goes between planes."""
    lines, disks = [], {}
    for link in links:
        found = LINK.search(link["name"])
        if found is None:
            continue
        one, other = (place(int(found[i]), shape) for i in (1, 2))
        if one[0] != other[0]:
            for node in (one, other):
                disks[node] = max(disks.get(node, 0), link["busy"])
            continue
        side = 0.06 if found[3] == "UP" else -0.06
        along = 2 if one[1] == other[1] else 1  # the dimension
        step = other[along] - one[along]
        stubs = [(one, step)] if abs(step) == 1 else [(one, -0.55 * sign(step)), (other, 0.55 * sign(step))]
        for (plane, row, column), length in stubs:
            if along == 2:
                line = [(column, row + side), (column + length, row + side)]
            else:
                line = [(column + side, row), (column + side, row + length)]
            lines.append((plane, line, link["busy"]))
    return lines, disks


def sign(number: float) -> int:
    return 1 if number > 0 else -1
