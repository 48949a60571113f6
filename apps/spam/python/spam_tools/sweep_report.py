"""What a sweep writes: index.md with all tables and figures, and each as .csv and .png."""

from __future__ import annotations

import os
import pathlib

import pandas
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from spam_tools.sweep_parts import Part
from spam_tools.sweep_runs import MODEL_STEPS, Variant

# Told apart by lightness and mark, too.
STYLES = (("#12365e", "o"), ("#e08a1e", "s"), ("#2a9d8f", "^"), ("#b6377a", "D"))
TEXT_COLOR, GRID_COLOR = "#59616b", "#dddddb"
SIZE_INCHES, DOTS_PER_INCH = (6.4, 3.8), 130


def write(output: pathlib.Path, parts: list[Part], runs: dict[Variant, dict], input_file: pathlib.Path,
          steps: int, rounds: int) -> None:  # fmt: skip
    sections = [heading(runs, input_file, steps, rounds)]
    for part in parts:
        table = part.make(runs)
        table.to_csv(output / f"{part.name}.csv")
        lines = [f"## {part.heading}. {part.title}", part.about]
        if part.is_figure:
            draw(table, part, output / f"{part.name}.png")
            lines.append(f"![{part.title}]({part.name}.png)")
        if part.name == "table6":
            lines.append(source_of(part, runs))
        if part.unit:
            lines.append(f"In {part.unit}:")
        sections.append("\n\n".join([*lines, markdown(table, part.number_format)]))
    (output / "index.md").write_text("\n\n".join(sections) + "\n")


def heading(runs: dict[Variant, dict], input_file: pathlib.Path, steps: int, rounds: int) -> str:
    run = next(iter(runs.values()))
    times = (
        "" if rounds == 1 else f"; of {rounds} runs with the same options, made in turn, the fastest counts"
    )
    return (
        f"# The options of spam, compared\n\n{input_file.name}: {run['particles']:,} particles in "
        f"{run['columns']} columns of cells, {steps} steps{times}. {run['library']}, "
        f"{len(os.sched_getaffinity(0))} processors: where more ranks or threads ran, they took turns. "
        "runs.csv has every run."
    )


def source_of(part: Part, runs: dict[Variant, dict]) -> str:
    source = runs[part.variants[0]]["cache"]["source"]
    if source == "perf":
        return "Counted by the processor (perf): loads, and misses of its last cache."
    return (
        f"This machine lets nobody count its misses: a model of caches has them, in {MODEL_STEPS} step. "
        "Every load and store of the force loops goes through a cache of the thread, kept coherent by "
        "invalidation, of the shape that SPAM_CACHE=BYTES,LINE,WAYS says: else the paper's second level "
        "(1 MiB, lines of 32 bytes, 4 ways)."
    )


def markdown(table: pandas.DataFrame, number_format: str) -> str:
    def row(cells: list) -> str:
        return "| " + " | ".join(str(cell) for cell in cells) + " |"

    lines = [row([table.index.name, *table.columns]), row(["---"] + ["---:"] * len(table.columns))]
    for name, values in zip(table.index, table.to_numpy(), strict=True):
        lines.append(row([name, *(number_format.format(value) for value in values)]))
    return "\n".join(lines)


def draw(table: pandas.DataFrame, part: Part, path: pathlib.Path) -> None:
    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for (name, values), (color, mark) in zip(table.items(), STYLES, strict=False):
        axes.plot(table.index, values, color=color, marker=mark, label=name, linewidth=1.8, markersize=5.5)
    top = float(table.to_numpy().max())
    if top > 10 * float(table.to_numpy().min()):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, 1.08 * top)
    axes.set_xticks(table.index)
    axes.set_xlabel(table.index.name, color=TEXT_COLOR)
    axes.set_ylabel(part.unit, color=TEXT_COLOR)
    axes.set_title(part.title, loc="left", fontsize=11)
    axes.grid(axis="y", color=GRID_COLOR, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=TEXT_COLOR)
    figure.legend(loc="outside right center", frameon=False, fontsize=9)
    figure.savefig(path, dpi=DOTS_PER_INCH)
