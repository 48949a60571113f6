"""What a simulation says, for people: tables and sentences on the terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import json

SECONDS_WITHOUT_BAR = 3  # of simulating


@contextlib.contextmanager
def progress(total: dict, each: list[dict]):
    """A bar on standard error, where that is a terminal and it takes seconds: gives what is to be called with
    the number of each case that has ended."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal or total["seconds"] < SECONDS_WITHOUT_BAR:
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("simulating", total=total["messages"])
        yield lambda number: bar.advance(task, each[number]["messages"])


def header(machine, answers: list[dict], expected: dict) -> str:
    from tasuki.units import bytes_text, time_text

    return (
        f"{machine.title}; {answers[0]['engine']}\n"
        f"expected about {expected['messages']:,.0f} messages, {time_text(expected['seconds'])} of work, "
        f"{bytes_text(expected['memory_bytes'])} of memory"
    )


def print_exchanges(machine, path: str, extents, as_json: bool) -> None:
    from tasuki import simulation
    from tasuki.simulation import exchange

    asked = exchange.read(path)
    nodes = simulation.nodes_of(machine, extents)
    expected = exchange.estimate(machine, asked, nodes)
    each = [exchange.estimate(machine, [one], nodes) for one in asked]
    with progress(expected, each) as on_end:
        answers = exchange.run_exchanges(machine, asked, extents, on_end=on_end)
    sentences = [
        *exchange.advice(answers),
        simulation.reason(max(answers, key=lambda one: one["bytes_per_second"])),
    ]
    fitted = [name for name, one in machine.parameters.items() if one.source == "fitted"]
    if as_json:
        document = {"machine": machine.name, "estimate": expected, "fitted": fitted, "answers": answers}
        print(json.dumps(document | {"advice": sentences}, indent=1, ensure_ascii=False))
        return
    print_exchange_table(machine, answers, expected, fitted, sentences)


def print_exchange_table(machine, answers, expected: dict, fitted: list[str], sentences: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    from tasuki.units import time_text

    console = Console(highlight=False, width=160)
    console.print(header(machine, answers, expected))
    if fitted:
        console.print(f"fitted to printed values, not measured: {', '.join(fitted)}")
    table = Table(box=None, pad_edge=False)
    for head in ("order", "placement", "aggregators", "layout", "rate", "time", "bound", "exchange", "write"):
        left = head in ("order", "placement", "layout")
        table.add_column(head, justify="left" if left else "right")
    for one in answers:
        table.add_row(
            one["order"],
            one["placement"],
            str(one["aggregators"]),
            one["aggregator_layout"],
            f"{one['bytes_per_second'] / 1e9:,.3f} GB/s",
            *(
                time_text(one[name], 4)
                for name in ("seconds", "bound_seconds", "exchange_seconds", "write_seconds")
            ),
        )
    console.print(table)
    for sentence in sentences:
        console.print(f"{sentence}.")


def print_answers(machine, answers: list[dict], estimate: dict, sizes: list[int], path: str) -> None:
    from rich.console import Console
    from rich.table import Table

    from tasuki import simulation
    from tasuki.units import bytes_text, time_text

    console = Console(highlight=False, width=160)
    console.print(header(machine, answers, estimate))
    table = Table(box=None, pad_edge=False)
    for head in ("algorithm", "size", "segment", "time", "bound", "formula", "busiest link", "processor"):
        table.add_column(head, justify="left" if head == "algorithm" else "right")
    for one in answers:
        link = one.get("busiest_link", {"busy": 0})
        table.add_row(
            one["algorithm"],
            bytes_text(one["bytes"]),
            bytes_text(one["segment_bytes"]) if one["segment_bytes"] else "-",
            time_text(one["seconds"], 4),
            time_text(one["bound_seconds"], 4),
            time_text(one["formula_seconds"], 4),
            f"{link['busy']:.0%}",
            f"{one['processor_busy_seconds'] / one['seconds']:.0%}" if one["seconds"] else "-",
        )
    console.print(table)
    by_name: dict[str, list[dict]] = {}
    for one in answers:
        by_name.setdefault(one["algorithm"], []).append(one)
    for name, those in by_name.items():
        if len(those) == len(sizes) >= 2:
            line = simulation.fit(sizes, [one["seconds"] for one in those])
            console.print(
                f"{name}: B' {line.bytes_per_second / 1e6:,.0f} MB/s, "
                f"t_L {time_text(line.latency_seconds, 4)}, "
                f"M_1/2 {bytes_text(line.half_bytes)}"
            )
    at_last = [one for one in answers if one["bytes"] == sizes[-1]]
    best = simulation.best(answers)
    console.print(f"{best['algorithm']} at {bytes_text(best['bytes'])}: {simulation.reason(best)}.")
    if path:
        console.print(f"{path}.")
    for one in at_last:
        if one is not best:
            console.print(
                f"{one['algorithm']} takes {one['seconds'] / best['seconds']:.2f} times as long: "
                f"{simulation.reason(one)}."
            )


def print_paper(found, as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from tasuki.units import percent_text

    if as_json:
        rows = [dataclasses.asdict(one) | {"off": one.off} for one in found]
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    for head in ("case", "", "unit", "predicted", "printed", "off by", ""):
        table.add_column(head, justify="right" if head in ("predicted", "printed", "off by") else "left")
    for one in found:
        table.add_row(
            one.case,
            one.quantity,
            one.unit,
            number_text(one.predicted),
            number_text(one.printed),
            "-" if one.off is None else percent_text(one.off),
            one.kind,
        )
    Console(highlight=False, width=120).print(table)


def number_text(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g}" if value < 100 else f"{value:,.0f}"
