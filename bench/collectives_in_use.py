"""make bench-collectives: collectives of data that programs use, next to other MPI libraries, in turns.

Each rank writes the cache lines of what it gives before a call, and reads those of what it got after it
(bench/operations.hpp); what that takes by itself does not count. Each library takes whatever algorithm it
chooses. A job of a library has all operations and sizes; the libraries take turns, round after round. A
figure is the least of all rounds: a machine whose host moves its processors meets each library in each of its
states. Behind the least time of ours is its ratio to the least of the others, and the same of the medians.
"""

import argparse
import collections
import os
import statistics

import peers
from rich.table import Table
from tasuki.units import bytes_text, time_text

OPERATIONS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "gather", "scatter")
SIZES = (8, 4 << 10, 32 << 10, 256 << 10, 1 << 20)
RANKS = (2, 4)
TURNS = 3
SECONDS_MAX = 60
# More ranks than processors take it milliseconds, by any of its settings that were tried.
ONLY_WITH_PROCESSORS = ("mpich",)


def measure(present, programs, ranks, args):
    """(operation, bytes) -> library -> seconds of batches, and what went wrong."""
    crowded = ranks > (os.cpu_count() or 1)
    words = [f"{operation}:{size}" for operation in args.operations for size in args.sizes]
    found, troubles = collections.defaultdict(dict), []
    for _ in range(args.rounds):
        for one in present:
            if crowded and one.name in ONLY_WITH_PROCESSORS:
                continue
            way = peers.with_variables(one, ranks)
            rows, trouble = peers.rows_of(
                way, "collective_times", [*programs[one.name], TURNS, *words], ranks, SECONDS_MAX
            )
            troubles += [trouble] if trouble else []
            for row in rows:
                of_all = found[row["operation"], row["bytes"]]
                of_all.setdefault(one.name, []).extend(row["seconds"])
    return found, troubles


def show(console, ranks, found, names):
    table = Table(title=f"{ranks} ranks: us, least", title_justify="left")
    for column in ("operation", "bytes", *names, "to best peer: least", "median"):
        table.add_column(column, justify="left" if column == "operation" else "right")
    for (operation, size), of_all in found.items():
        cells = [time_text(min(of_all[name])) if name in of_all else "" for name in names]
        others = [own for name, own in of_all.items() if name != "tasuki"]
        for statistic in (min, statistics.median):
            if others and "tasuki" in of_all:
                ratio = statistic(of_all["tasuki"]) / min(map(statistic, others))
                cells.append(f"[{'green' if ratio <= 1 else 'yellow'}]{ratio:.2f}[/]")
        table.add_row(operation, bytes_text(size), *cells)
    console.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peers.add_arguments(parser)
    parser.set_defaults(rounds=5)
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--operations", nargs="+", default=OPERATIONS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes")
    args, console = parser.parse_args(), peers.make_console()
    args.out.mkdir(parents=True, exist_ok=True)
    present, absent = peers.implementations(args)
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    programs = {one.name: peers.compile_with(one, "collective_times", args.out) for one in present}
    rows, troubles = [], []
    for ranks in args.ranks:
        found, wrong = measure(present, programs, ranks, args)
        troubles += wrong
        show(console, ranks, found, [one.name for one in present])
        for (operation, size), of_all in found.items():
            rows.append({"ranks": ranks, "operation": operation, "bytes": size, "seconds": of_all})
    peers.tell_gaps(args, absent, troubles, console)
    peers.finish(args, "collectives_in_use.json", machine, {"rows": rows}, console)


if __name__ == "__main__":
    main()
