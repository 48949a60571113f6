"""tasuki simulate: the library's own collectives on a machine that one does not have."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("simulate")(simulate)


def simulate(
    machine: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="The machine: one that is shipped, or a file.")
    ] = "",
    shape: Annotated[
        str, typer.Option(metavar="8x6x8", help="The nodes; else as the machine has them.")
    ] = "",
    collective: Annotated[str, typer.Option(metavar="NAME", help="bcast, allreduce, allgather, …")] = "bcast",
    bytes: Annotated[
        str, typer.Option(metavar="SIZE[:SIZE]", help="One size, or all from one to another, doubling.")
    ] = "128KiB:2MiB",
    algorithm: Annotated[
        str, typer.Option(metavar="NAME|all|chosen", help="Which; chosen: what the library's formulas say.")
    ] = "chosen",
    way: Annotated[
        str, typer.Option(metavar="rounds|data", help="As the executor runs them, or each step when it can.")
    ] = "rounds",
    segment: Annotated[str, typer.Option(metavar="SIZE", help="Of pipelines; else what is chosen.")] = "",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of the machine. Repeatable."),
    ] = None,
    paper: Annotated[
        str, typer.Option(metavar="004|000", help="A paper's table: predicted, printed, off by.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document and nothing else.")] = False,
) -> None:
    """Runs a collective's own schedules on a simulated machine, whose links all that goes through shares.

    tasuki simulate --machine k-computer --shape 8x6x8 --algorithm all

    tasuki simulate --machine k-computer --set link_bytes_per_second=10e9

    tasuki simulate --paper 004
    """
    from tasuki import machines, patterns, simulation

    try:
        if paper:
            if paper not in simulation.PAPERS:
                raise Refusal(f"--paper {paper}: expected {', '.join(simulation.PAPERS)}")
            print_paper(simulation.PAPERS[paper](), as_json)
            return
        if not machine:
            raise Refusal(f"--machine: not given, expected {', '.join(machines.names())} or a file")
        if way not in simulation.WAYS:
            raise Refusal(f"--way {way}: expected {' or '.join(simulation.WAYS)}")
        found = changed(machines.load(machine), changes or [])
        extents = extents_of(shape)
        sizes = sizes_of(bytes)
        segment_bytes = size_of(segment, "--segment") if segment else 0
        names = ["*"] if algorithm == "chosen" else [algorithm]
        if algorithm == "all":
            names = simulation.algorithms(found, collective, sizes[0], extents)
        cases = [
            simulation.Case(collective, size, name, segment_bytes, way) for name in names for size in sizes
        ]
        estimate = simulation.estimate(found, cases, extents)
        answers = simulation.run(found, cases, extents)
    except (machines.MachineError, simulation.SimulationError, patterns.PatternsError) as error:
        raise Refusal(str(error)) from None
    if as_json:
        document = {"machine": found.name, "estimate": estimate, "answers": answers}
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print_answers(found, answers, estimate, sizes)


def changed(machine, changes: list[str]):
    for change in changes:
        name, _, value = change.partition("=")
        try:
            machine = machine.with_value(name, float(value))
        except ValueError as error:
            from tasuki.machines import MachineError

            if isinstance(error, MachineError):
                raise
            raise Refusal(f"--set {change}: expected NAME=VALUE with a number") from None
    return machine


def extents_of(text: str) -> list[int] | None:
    if not text:
        return None
    words = text.split("x")
    if not all(word.isdigit() and int(word) >= 1 for word in words):
        raise Refusal(f"--shape {text}: expected whole numbers with x between, as 8x6x8")
    return [int(word) for word in words]


def size_of(text: str, place: str) -> int:
    from tasuki import patterns

    return int(patterns.quantity(text, patterns.SIZES, place, "a size such as 64, 8KiB or 1.5MB"))


def sizes_of(text: str) -> list[int]:
    first, _, last = text.partition(":")
    size = size_of(first, "--bytes")
    end = size_of(last, "--bytes") if last else size
    if size < 1 or end < size:
        raise Refusal(f"--bytes {text}: expected SIZE or SIZE:SIZE, the smaller one first, from 1 on")
    sizes = []
    while size <= end:
        sizes.append(size)
        size *= 2
    return sizes


def print_answers(machine, answers: list[dict], estimate: dict, sizes: list[int]) -> None:
    from rich.console import Console
    from rich.table import Table

    from tasuki import simulation
    from tasuki.units import bytes_text, time_text

    console = Console(highlight=False, width=160)
    console.print(
        f"{machine.title}; {answers[0]['engine']}; expected about {estimate['messages']:,.0f} messages, "
        f"{bytes_text(estimate['memory_bytes'])} of memory"
    )
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
    best = min(at_last, key=lambda one: one["seconds"])
    console.print(f"{best['algorithm']} at {bytes_text(best['bytes'])}: {simulation.reason(best)}.")
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
            f"{one.predicted:,.4g}" if one.predicted < 100 else f"{one.predicted:,.0f}",
            f"{one.printed:,.4g}" if one.printed < 100 else f"{one.printed:,.0f}",
            percent_text(one.off),
            one.kind,
        )
    Console(highlight=False, width=120).print(table)
