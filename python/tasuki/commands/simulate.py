"""tasuki simulate: the library's own collectives on a machine that one does not have."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tasuki.commands import Refusal


def register(app: typer.Typer) -> None:
    app.command("simulate")(simulate)


def option(metavar: str, help: str, *names: str):
    return typer.Option(*names, metavar=metavar, help=help)


Machine = Annotated[str, option("NAME|FILE", "The machine: one that is shipped, or a file.")]
Shape = Annotated[str, option("8x6x8", "The nodes; else as the machine has them.")]
Collective = Annotated[str, option("NAME", "bcast, allreduce, allgather, …")]
Bytes = Annotated[str, option("SIZE[:SIZE]", "One size, or all from one to another, doubling.")]
Algorithm = Annotated[
    str, option("NAME|all|chosen|recorded", "Which; chosen: what the formulas say; recorded: as traced.")
]
Way = Annotated[str, option("rounds|data", "As the executor runs them, or each step when it can.")]
Segment = Annotated[str, option("SIZE", "Of pipelines; else what is chosen.")]
Changes = Annotated[
    list[str] | None, option("NAME=VALUE", "Change a parameter of the machine. Repeatable.", "--set")
]
ExchangeFile = Annotated[
    str, option("FILE", "A collective write: orders, aggregators, cycles (docs/simulate.md).")
]
PatternsFile = Annotated[
    str,
    option("FILE", "A list of patterns, as `tasuki predict` takes: each is simulated once.", "--patterns"),
]
TraceFile = Annotated[
    str,
    option("FILE|FOLDER", "A program: the trace that mpiexec --trace wrote, or the folder of its parts."),
]
Placement = Annotated[
    str,
    option(
        "block|round_robin|traffic|FILE",
        "Where the ranks of a list or trace are; traffic: those that exchange much share nodes.",
    ),
]
ComputeFactor = Annotated[
    float, typer.Option(metavar="F", min=0, help="A trace's computing takes F times as long.")
]
Paper = Annotated[str, option("004|000|002", "A paper's table: predicted, printed, off by.")]
Goal = Annotated[
    str, option("FILE", "Write the schedules in GOAL, for LogGOPSim (FILE.bin: binary); simulate nothing.")
]
Tune = Annotated[
    str, option("FILE", "Write a tuning table, and tell where the formulas and the simulation disagree.")
]
Pictures = Annotated[
    str, option("FOLDER", "Draw times by size, and of the best: ranks over time, a torus's links.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON document and nothing else.")]


def simulate(
    machine: Machine = "",
    shape: Shape = "",
    collective: Collective = "bcast",
    bytes: Bytes = "128KiB:2MiB",
    algorithm: Algorithm = "chosen",
    way: Way = "rounds",
    segment: Segment = "",
    changes: Changes = None,
    exchange: ExchangeFile = "",
    patterns_: PatternsFile = "",
    trace: TraceFile = "",
    placement: Placement = "block",
    compute_factor: ComputeFactor = 1.0,
    paper: Paper = "",
    goal: Goal = "",
    tune: Tune = "",
    pictures: Pictures = "",
    as_json: AsJson = False,
) -> None:
    """Runs a collective's own schedules on a simulated machine, whose links all that goes through shares.

    tasuki simulate --machine k-computer --shape 8x6x8 --algorithm all

    tasuki simulate --machine k-computer --set link_bytes_per_second=10e9

    tasuki simulate --machine tsubame2.5 --exchange hpio.toml

    tasuki simulate --machine k-computer --trace solver.trace

    tasuki simulate --machine k-computer --patterns list.txt

    tasuki simulate --paper 004
    """
    from tasuki import machines, patterns, simulation
    from tasuki.simulation import papers, show

    try:
        if paper:
            if paper not in papers.PAPERS:
                raise Refusal(f"--paper {paper}: expected {', '.join(papers.PAPERS)}")
            show.print_paper(papers.PAPERS[paper](on_start=show.progress), as_json)
            return
        if not machine:
            raise Refusal(f"--machine: not given, expected {', '.join(machines.names())} or a file")
        found = changed(machines.load(machine), changes or [])
        extents = extents_of(shape)
        if trace or patterns_:
            others = {"--exchange": exchange, "--tune": tune, "--goal": goal}
            if patterns_:
                others |= {"--trace": trace, "--pictures": pictures}
            refuse_together("--patterns" if patterns_ else "--trace", others)
            run_program(
                found, trace, patterns_, placement, extents, algorithm, way, compute_factor, pictures, as_json
            )
            return
        if exchange:
            show.print_exchanges(found, exchange, extents, as_json)
            return
        if tune:
            write_table(found, extents, tune, as_json)
            return
        sizes = sizes_of(bytes)
        cases = cases_of(found, extents, collective, sizes, algorithm, way, segment)
        if goal:
            write_goal(found, cases, goal, extents)
        else:
            run_cases(found, cases, extents, pictures, as_json)
    except (machines.MachineError, simulation.SimulationError, patterns.PatternsError) as error:
        raise Refusal(str(error)) from None


def refuse_together(name: str, others: dict[str, str]) -> None:
    given = [other for other, value in others.items() if value]
    if given:
        raise Refusal(f"{name} and {', '.join(given)}: given together, expected one of them")


def run_program(
    machine, trace_path, list_path, placement, extents, algorithm, way, factor, folder, as_json
) -> None:
    """A trace or a list of patterns."""
    from tasuki import patterns, replay, simulation, trace
    from tasuki.simulation import patterned, pictures, show, traced

    if way not in simulation.WAYS:
        raise Refusal(f"--way {way}: expected {' or '.join(simulation.WAYS)}")
    known = ("chosen", "recorded") if trace_path else ("chosen",)
    if algorithm not in known:
        raise Refusal(f"--algorithm {algorithm}: expected {' or '.join(known)} here")
    try:
        if trace_path:
            loaded, recorded = traced.load(trace_path), algorithm == "recorded"
            asked = traced.simulation(loaded, machine, placement, extents, factor, recorded, way)
        else:
            asked = patterned.simulation(patterns.load(list_path), machine, placement, extents, way)
        found = asked.run(on_start=show.progress)
        if folder:
            pictures.write_program(machine, found, asked.spans, extents, folder)
    except (trace.TraceError, replay.ReplayError) as error:
        raise Refusal(str(error)) from None
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    elif trace_path:
        show.print_trace(machine, found)
    else:
        show.print_patterns(machine, found)


def run_cases(machine, cases, extents, folder: str, as_json: bool) -> None:
    from tasuki import simulation
    from tasuki.simulation import path, pictures, show

    estimate = simulation.estimate(machine, cases, extents)
    each = [simulation.estimate(machine, [case], extents) for case in cases]
    with show.progress(estimate, each) as on_end:
        answers = simulation.run(machine, cases, extents, on_end=on_end)
    told = simulation.details(machine, simulation.best(answers), extents)
    sentence = path.sentence(path.critical_path(told["spans"]), told["seconds"]) if told else ""
    if folder:
        pictures.write(machine, answers, told, extents, folder)
    if as_json:
        document = {"machine": machine.name, "estimate": estimate, "answers": answers}
        print(json.dumps(document | {"critical_path": sentence}, indent=1, ensure_ascii=False))
    else:
        show.print_answers(machine, answers, estimate, sorted({case.bytes for case in cases}), sentence)


def write_table(machine, extents, path: str, as_json: bool) -> None:
    from tasuki.simulation import show, tune

    tuned = tune.tune(machine, path, extents, on_start=show.progress)
    if as_json:
        print(json.dumps(tuned.found, indent=1, ensure_ascii=False))
        return
    takes = f"TASUKI_TUNING_FILE={path} TASUKI_TUNING_FOREIGN=allow"
    print(f"{path}: a table of a simulated machine: {takes} takes it")
    print(f"simulated {show.expectation(tuned.estimate)}")
    for sentence in tuned.sentences():
        print(f"{sentence}.")


def write_goal(machine, cases, path: str, extents) -> None:
    from tasuki import simulation

    if len(cases) != 1:
        raise Refusal(f"--goal {path}: {len(cases)} cases, expected one algorithm and one size")
    answer = simulation.write_goal(machine, cases[0], path, extents)
    print(f"{path}: {answer['algorithm']}, {answer['messages']:,.0f} messages")


def cases_of(machine, extents, collective: str, sizes: list[int], algorithm: str, way: str, segment: str):
    from tasuki import simulation

    if way not in simulation.WAYS:
        raise Refusal(f"--way {way}: expected {' or '.join(simulation.WAYS)}")
    segment_bytes = size_of(segment, "--segment") if segment else 0
    names = ["*"] if algorithm == "chosen" else [algorithm]
    if algorithm == "all":
        names = simulation.algorithms(machine, collective, sizes[0], extents)
    return [simulation.Case(collective, size, name, segment_bytes, way) for name in names for size in sizes]


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
