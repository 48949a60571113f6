"""tasuki predict: what communication costs a program, of a list of patterns or of a trace."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Annotated

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)


def predict(
    program: Annotated[
        pathlib.Path | None,
        typer.Argument(metavar="FILE", help="A list of patterns, or a trace that mpiexec --trace wrote."),
    ] = None,
    run: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="RUN.json", help="The machine: what `tasuki bench` measured there."),
    ] = None,
    machine: Annotated[
        str,
        typer.Option(metavar="NAME|FILE", help="Another machine: --machine list names those that are known."),
    ] = "",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of the machine. Repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document and nothing else.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the lines as CSV.")] = False,
    compute_factor: Annotated[
        float, typer.Option(metavar="F", min=0, help="A trace's computing takes F times as long.")
    ] = 1.0,
) -> None:
    """Predicts the communication time of a program.

    A list has a line for each pattern: what, among how many ranks, of how many bytes, how often, and, if it
    is known, how long that took:

        concurrent/exchange/way=put_fence  64  6150KiB  2400  80.24s

        MPI_Allreduce                      64  8        1e5

    The time of each comes from a run (`tasuki bench -o run.json`), or from a machine's parameters: what
    would the program take on the K computer?

        tasuki predict list.txt --run run.json

        tasuki predict list.txt --machine k-computer

    A trace (`mpiexec --trace=FILE …`) is replayed: each rank's calls, with the computing between them as it
    was.
    """
    from tasuki import machines, patterns, pricing
    from tasuki.results import ResultsError

    if machine == "list":
        print_machines()
        return
    if program is None:
        raise Refusal("predict: no FILE given, expected a list of patterns or a trace")
    try:
        pricer = pricer_of(run, machine, changes or [])
        if is_trace(program):
            replay_trace(program, pricer, compute_factor, as_json, as_csv)
            return
        prediction = patterns.predict(patterns.load(program), pricer)
    except (ResultsError, machines.MachineError, pricing.PricingError, patterns.PatternsError) as error:
        raise Refusal(str(error)) from None
    if as_json:
        print(json.dumps(prediction.document(), indent=1, ensure_ascii=False))
    elif as_csv:
        prediction.frame().to_csv(sys.stdout, index=False)
    else:
        print_table(prediction)


def is_trace(path: pathlib.Path) -> bool:
    """Whether a file begins as a trace does."""
    from tasuki import trace

    return trace.is_trace(path)


def replay_trace(path: pathlib.Path, pricer, compute_factor: float, as_json: bool, as_csv: bool) -> None:
    from tasuki import replay, trace

    try:
        found = replay.replay(trace.load(path), pricer, compute_factor)
    except (trace.TraceError, replay.ReplayError) as error:
        raise Refusal(str(error)) from None
    if as_json:
        print(json.dumps(found.document(), indent=1, ensure_ascii=False))
    elif as_csv:
        found.by("world", "rank", "phase", "function").to_csv(sys.stdout, index=False)
    else:
        print(found.text())


def pricer_of(run: pathlib.Path | None, machine: str, changes: list[str]):
    """The machine that the options name, with the changes that they ask for."""
    from tasuki import machines, pricing, results

    if (run is None) == (machine == ""):
        told = "both --run and" if run else "neither --run nor"
        raise Refusal(f"predict: {told} --machine given, expected one of them")
    found = machines.of_run(results.load(run)) if run else machines.load(machine)
    for change in changes:
        name, _, value = change.partition("=")
        try:
            number = float(value)
        except ValueError:
            raise Refusal(f"--set {change}: expected NAME=VALUE with a number") from None
        found = found.with_value(name, number)
    return pricing.Pricer(found)


def print_machines() -> None:
    from rich.console import Console
    from rich.table import Table

    from tasuki import machines

    table = Table("name", "machine", "unknown", box=None, pad_edge=False)
    for name in machines.names():
        one = machines.load(name)
        unknown = [name for name, parameter in one.parameters.items() if parameter.value is None]
        table.add_row(name, one.title, ", ".join(unknown) or "-")
    Console().print(table)


def time_text_of(seconds: float) -> str:
    from tasuki.units import time_text

    return time_text(seconds, 4)


def print_table(prediction) -> None:
    """A line for each pattern, the sum, and below it how each time was found."""
    from rich.console import Console
    from rich.table import Table

    from tasuki.units import bytes_text, percent_text

    def span(one) -> str:
        return (
            "-"
            if one.low is None or one.high is None
            else f"{time_text_of(one.low)} … {time_text_of(one.high)}"
        )

    measured = any(one.item.measured_seconds for one in prediction.items)
    known = any(one.low is not None for one in prediction.items)
    heads = ["ranks", "size", "count", "predicted"]
    heads += (["95 %"] if known else []) + (["measured", "off by"] if measured else []) + ["note", "pattern"]
    table = Table(box=None, pad_edge=False)
    for head in heads:
        left = head == "pattern"
        table.add_column(head, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    ways = list(dict.fromkeys(one.how for one in prediction.items))
    for one in prediction.items:
        item = one.item
        words = [str(item.ranks), bytes_text(item.bytes), f"{item.count:,.6g}"]
        words += [time_text_of(one.seconds)] + ([span(one)] if known else [])
        if measured and item.measured_seconds:
            words += [
                time_text_of(item.measured_seconds),
                percent_text(one.seconds / item.measured_seconds - 1),
            ]
        elif measured:
            words += ["-", "-"]
        table.add_row(*words, str(1 + ways.index(one.how)), item.pattern)
    total = f"together {time_text_of(prediction.seconds)}"
    total += f" ({span(prediction)})" if prediction.low is not None and prediction.high is not None else ""
    if prediction.measured_seconds:
        off = percent_text(prediction.seconds / prediction.measured_seconds - 1)
        total += f", measured {time_text_of(prediction.measured_seconds)}, off by {off}"
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    console.print(f"on {prediction.machine}:")
    console.print(table)
    console.print(total)
    for number, way in enumerate(ways, 1):
        console.print(f"note {number}: {way}")
