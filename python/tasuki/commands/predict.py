"""tasuki predict: what communication costs a program, of a list of patterns or of a trace."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
from typing import Annotated

import typer

from tasuki.commands import Refusal
from tasuki.nodes import Nodes

Ranks = Annotated[
    int | None,
    typer.Option("-n", "--ranks", metavar="N", help="Among so many ranks.", min=1),
]
Json = Annotated[bool, typer.Option("--json", help="Print a JSON document and nothing else.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print the lines as CSV.")]
RunFile = Annotated[
    pathlib.Path | None,
    typer.Option(metavar="RUN.json", help="The machine: what `tasuki bench` measured there."),
]
MachineName = Annotated[
    str,
    typer.Option(metavar="NAME|FILE", help="Another machine: --machine list names those that are known."),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of the machine. Repeatable."),
]
Smaller = Annotated[
    pathlib.Path | None,
    typer.Option(metavar="TRACE", help="The program among fewer ranks, from which --ranks goes on."),
]
Weak = Annotated[
    bool, typer.Option("--weak", help="With --ranks: each rank of the trace has a problem of its own.")
]
Map = Annotated[
    str,
    typer.Option(
        "--map",
        metavar="NODESxRANKS",
        help="Where the ranks are: 2x4 is 2 nodes of 4; 4,2 one of 4, one of 2.",
    ),
]


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)


def predict(
    program: Annotated[
        pathlib.Path | None,
        typer.Argument(metavar="FILE", help="A list of patterns, or a trace that mpiexec --trace wrote."),
    ] = None,
    run: RunFile = None,
    machine: MachineName = "",
    changes: Changes = None,
    ranks: Ranks = None,
    map_: Map = "",
    smaller: Smaller = None,
    weak: Weak = False,
    as_json: Json = False,
    as_csv: Csv = False,
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

    What if it were 16 ranks on 2 nodes, with the network that `tasuki tune --host` measured?

        tasuki predict list.txt --machine hosts.json --ranks 16 --map 2x8

    A trace (`mpiexec --trace=FILE …`) is replayed: each rank's calls, with the computing between them as it
    was; with --ranks as if that problem were divided among more ranks, or, with --smaller, as it changed from
    that trace to this one.

        tasuki predict four.trace --ranks 8 --smaller two.trace --run run.json
    """
    from tasuki import machines, patterns, pricing
    from tasuki.results import ResultsError

    if machine == "list":
        return print_machines()
    if program is None:
        raise Refusal("predict: no FILE given, expected a list of patterns or a trace")
    try:
        place = placement_of(map_, ranks)
        pricer = pricer_of(run, machine, changes or [], place)
        if is_trace(program):
            others = Scaling(ranks, weak, smaller)
            replay_trace(program, pricer, compute_factor, as_json, as_csv, others, place)
            return
        if weak or smaller:
            raise Refusal(f"--weak, --smaller: {program} is a list of patterns, expected a trace")
        prediction = patterns.predict(items_of(program, ranks, place), pricer)
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


def placement_of(text: str, ranks: int | None) -> Nodes | None:
    """The nodes of "2x4", which have so many ranks together."""
    if not text:
        return None
    try:
        nodes = Nodes.read(text)
    except ValueError as wrong:
        raise Refusal(str(wrong)) from None
    if ranks not in (None, nodes.ranks):
        raise Refusal(f"--ranks {ranks} --map {text}: expected {nodes.ranks} ranks")
    return nodes


def items_of(path: pathlib.Path, ranks: int | None, place: Nodes | None) -> list:
    """The lines of a list, among another number of ranks where one is given."""
    from tasuki import patterns

    items = patterns.load(path)
    items = items if ranks is None else patterns.among(items, ranks)
    for item in items if place else ():
        if item.ranks > place.ranks:
            raise Refusal(
                f"{item.place}: {item.ranks} ranks, --map {place} has room for {place.ranks}; "
                f"--ranks N takes another number"
            )
    return items


@dataclasses.dataclass(frozen=True)
class Scaling:
    """Of a trace among other ranks: how many, and by what its computing changes."""

    ranks: int | None = None
    weak: bool = False
    smaller: pathlib.Path | None = None

    def builder_of(self, traced, place: Nodes | None, pricer):
        """None: the traced ranks themselves, where they were."""
        from tasuki import scaled, trace

        own = traced.parts[0].size
        wanted = self.ranks or (place.ranks if place else own)
        if wanted == own:
            for given, name in ((self.weak, "--weak"), (self.smaller, "--smaller")):
                if given:
                    raise Refusal(f"{name}: expected --ranks N, too, more than the {own} of {traced.path}")
            if place is None:
                return None
        smaller = trace.load(self.smaller) if self.smaller else None
        processors = getattr(pricer, "processors", 0)
        return scaled.ScaledBuilder(traced, wanted, self.weak, smaller, place, processors)


def must_fit_trace(path, ranks: int, place: Nodes | None) -> None:
    if place and place.ranks != ranks:
        raise Refusal(f"--map {place}: {path} has the calls of {ranks} ranks")


def replay_trace(
    path: pathlib.Path,
    pricer,
    compute_factor: float,
    as_json: bool,
    as_csv: bool,
    scaling: Scaling,
    place: Nodes | None,
) -> None:
    from tasuki import replay, trace

    try:
        loaded = trace.load(path)
        builder = scaling.builder_of(loaded, place, pricer)
        found = replay.replay(loaded, pricer, compute_factor, builder)
    except (trace.TraceError, replay.ReplayError) as error:
        raise Refusal(str(error)) from None
    if as_json:
        print(json.dumps(found.document(), indent=1, ensure_ascii=False))
    elif as_csv:
        found.by("world", "rank", "phase", "function").to_csv(sys.stdout, index=False)
    else:
        print(found.text())


def pricer_of(run: pathlib.Path | None, machine: str, changes: list[str], place: Nodes | None = None):
    """The machine that the options name, with the changes that they ask for."""
    from tasuki import machines, pricing, results
    from tasuki.tuning import table_pricer

    if (run is None) == (machine == ""):
        told = "both --run and" if run else "neither --run nor"
        raise Refusal(f"predict: {told} --machine given, expected one of them")
    numbers = dict(map(number_of, changes))
    if machine and table_pricer.is_table(machine):
        if place is None:
            raise Refusal(
                f"--machine {machine}: a tuning table has prices within a node and between nodes: expected "
                "--map NODESxRANKS, too"
            )
        return table_pricer.load(machine, place, numbers)
    found = machines.of_run(results.load(run)) if run else machines.load(machine)
    for name, number in numbers.items():
        found = found.with_value(name, number)
    if place is not None:
        must_know_places(found, place)
    return pricing.Pricer(found)


def number_of(change: str) -> tuple[str, float]:
    name, _, value = change.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise Refusal(f"--set {change}: expected NAME=VALUE with a number") from None


def must_know_places(machine, place: Nodes) -> None:
    """The numbers of a machine are of so many ranks on a node, and of no others."""
    known = machine.value("ranks_per_node")
    if known is None:
        raise Refusal(
            f"--map {place}: {machine.name} tells nothing of where its ranks were: expected a machine with "
            "ranks_per_node, or a table that `tasuki tune --host` wrote"
        )
    if set(place.sizes) != {known}:
        raise Refusal(
            f"--map {place}: the numbers of {machine.name} are of {known:g} on a node: expected "
            f"NODESx{known:g}"
        )


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
