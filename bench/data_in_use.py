"""make bench-in-use: messages and collectives of data that programs use, beside other libraries, in turns.

Each rank writes the cache lines of what it gives before a call, and reads those of what it got after it
(bench/operations.hpp); what that takes by itself does not count. Each library takes whatever way it
chooses. A job of a library has all operations and sizes; the libraries take turns, round after round.

A virtual machine's host may move its processors to others, which share no cache. So each row is measured
with the time that a cache line takes from rank 0 to rank 1 and back, before and after it: "near" where that
is less than 200 ns, "far" where it is more, and left out where it changed meanwhile. A figure is the least
of all rounds in that state. Behind the least time of ours is its ratio to the least of the others, and the
same of the medians.
"""

import argparse
import collections
import os
import statistics

import peers
from rich.table import Table
from tasuki.results import FAR_SECONDS, STATES
from tasuki.units import bytes_text, time_text

MESSAGES = ("pingpong", "sendrecv", "isend_irecv", "in_a_row", "sendrecv_replace")
COLLECTIVES = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "gather", "scatter")
SIZES = (8, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)
RANKS = (2, 4)
TURNS = 3
SECONDS_MAX = 60
# More ranks than processors take it milliseconds, by any of its settings that were tried.
ONLY_WITH_PROCESSORS = ("mpich",)


def state_of(line_ns):
    """Of a row; None: the machine changed meanwhile. Where ranks share a processor a line says nothing."""
    far = [ns >= 1e9 * FAR_SECONDS for ns in line_ns]
    return STATES[far[0]] if far[0] == far[1] else None


def measure(present, programs, ranks, args):
    """(state, operation, bytes) -> library -> seconds of batches; how many rows were left out; what went
    wrong."""
    crowded = ranks > (os.cpu_count() or 1)
    operations = [one for one in args.operations if ranks == 2 or one not in MESSAGES]
    words = [f"{operation}:{size}" for operation in operations for size in args.sizes]
    found, mixed, troubles = collections.defaultdict(dict), 0, []
    for number in range(args.rounds):
        first = number % len(present)
        for one in (*present[first:], *present[:first]):
            if crowded and one.name in ONLY_WITH_PROCESSORS:
                continue
            way = peers.with_variables(one, ranks)
            rows, trouble = peers.rows_of(
                way, "collective_times", [*programs[one.name], TURNS, *words], ranks, SECONDS_MAX
            )
            troubles += [trouble] if trouble else []
            for row in rows:
                state = "any" if crowded else state_of(row["line_ns"])
                if state is None:
                    mixed += 1
                    continue
                of_all = found[state, row["operation"], row["bytes"]]
                of_all.setdefault(one.name, []).extend(row["seconds"])
    return found, mixed, troubles


def ratio_text(of_all, statistic):
    others = [own for name, own in of_all.items() if name != "tasuki"]
    if not others or "tasuki" not in of_all:
        return ""
    ratio = statistic(of_all["tasuki"]) / min(map(statistic, others))
    return f"[{'green' if ratio <= 1 else 'yellow'}]{ratio:.2f}[/]"


def show(console, ranks, state, found, names):
    words = {"near": "lines near", "far": "lines far", "any": "more ranks than processors"}[state]
    table = Table(title=f"{ranks} ranks, {words}: least", title_justify="left")
    for column in ("operation", "bytes", *names, "to best peer: least", "median"):
        table.add_column(column, justify="left" if column == "operation" else "right")
    for (of_state, operation, size), of_all in sorted(found.items(), key=lambda row: row[0][2]):
        if of_state != state:
            continue
        cells = [time_text(min(of_all[name])) if name in of_all else "" for name in names]
        cells += [ratio_text(of_all, statistic) for statistic in (min, statistics.median)]
        table.add_row(operation, bytes_text(size), *cells)
    if table.rows:
        console.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peers.add_arguments(parser)
    parser.set_defaults(rounds=5)
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--operations", nargs="+", default=(*MESSAGES, *COLLECTIVES))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes")
    args, console = parser.parse_args(), peers.make_console()
    args.out.mkdir(parents=True, exist_ok=True)
    present, absent = peers.implementations(args)
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    programs = {one.name: peers.compile_with(one, "collective_times", args.out) for one in present}
    rows, troubles = [], []
    for ranks in args.ranks:
        found, mixed, wrong = measure(present, programs, ranks, args)
        troubles += wrong
        states = sorted({state for state, _, _ in found}, reverse=True)
        for state in states:
            show(console, ranks, state, found, [one.name for one in present])
        if len(states) == 1 and states != ["any"]:
            console.print(
                f"{ranks} ranks: the machine was in one state alone, lines {states[0]}", style="yellow"
            )
        if mixed:
            console.print(f"{ranks} ranks: {mixed} rows are left out, during which the machine changed")
        for (state, operation, size), of_all in found.items():
            rows.append(
                {"ranks": ranks, "state": state, "operation": operation, "bytes": size, "seconds": of_all}
            )
    peers.tell_gaps(args, absent, troubles, console)
    peers.finish(args, "data_in_use.json", machine, {"rows": rows}, console)


if __name__ == "__main__":
    main()
