"""The rows of threads, of `make bench`: MPI_THREAD_MULTIPLE on our library and on others, in turns, 2 ranks.

Four tables: the longest and the middle round trip of one thread beside another one that writes a file in
memory, sends or reduces much; messages in a second of 1 to 16 threads a rank, each with its own communicator
and all on one; what one thread alone pays for the thread level; and what part of a message computing hides.
A figure is the best of all rounds, of the longest wait and of what is hidden the middle one, since a wait's
least says little. A ratio is ours to the best of the others.

Prints the tables and writes OUT/bench_threads.json.
"""

import argparse
import os
import pathlib
import statistics
import sys

import peers
from rich.progress import Progress
from rich.table import Table
from tasuki.units import bytes_text

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BESIDE = [("nothing", 0), ("write", GIB), ("send", GIB), ("reduce", 256 * MIB)]
BYTES = [8, KIB, 64 * KIB, MIB]
THREADS = [1, 2, 4, 8, 16]
COMMUNICATORS = ["own", "one"]
OVERLAP_BYTES = [64 * KIB, MIB, 8 * MIB, 64 * MIB]
SECONDS = 0.2  # a case and round
FILE_IN_MEMORY = pathlib.Path("/dev/shm") / f"tasuki-bench-threads-{os.getuid()}"


def cases(args):
    """(kind, the words that differ, all words) of each."""
    for what, most in BESIDE:
        size = min(most, args.bytes_max)
        yield "beside", (what, size), ["beside", what, size, FILE_IN_MEMORY]
    for size, place in [*((size, "free") for size in BYTES), (BYTES[0], "spread")]:
        for communicators in COMMUNICATORS:
            for threads in THREADS:
                yield (
                    "rate",
                    (size, communicators, threads, place),
                    ["rate", threads, size, communicators, SECONDS, place],
                )
    for who in ("sender", "receiver"):
        for when in ("posted", "late"):
            for size in OVERLAP_BYTES:
                yield "overlap", (who, when, size), ["overlap", who, when, size]
    for level in ("single", "multiple"):
        yield "latency", (level,), ["latency", level, SECONDS]


def collect(present, args, console):
    """{(kind, differing): {implementation: [row, …]}} and what went wrong."""
    programs = {one.name: peers.compile_with(one, "threads", args.out) for one in present}
    chosen = [case for case in cases(args) if not args.only or args.only in case[0]]
    found, troubles = {}, []
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("threads", total=args.rounds * len(chosen) * len(present))
        for _ in range(args.rounds):
            for kind, differing, words in chosen:
                for one in present:
                    rows, trouble = peers.rows_of(one, "threads", [*programs[one.name], *words], 2)
                    if trouble:
                        troubles.append(trouble)
                    for row in rows:
                        found.setdefault((kind, differing), {}).setdefault(one.name, []).append(row)
                    progress.advance(task)
    FILE_IN_MEMORY.unlink(missing_ok=True)
    return found, troubles


def make_table(title, first, present, others=("ratio",)):
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in (*(one.name for one in present), *others):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def add_row(table, title, values, present, best, form):
    """`values`: one of each implementation. `best`: min, or max where more is better."""
    others = [values[one.name] for one in present[1:] if one.name in values]
    mine = values.get(present[0].name)
    ratio = mine / best(others) if mine and others else None
    table.add_row(
        title,
        *(form(values[one.name]) if one.name in values else "-" for one in present),
        f"{ratio:.2f}" if ratio else "-",
    )


def tables(found, present):
    beside = make_table("round trip beside a busy thread: longest / middle, ms", "beside", present)
    rates = make_table("messages in a second, millions (slowest thread's share)", "threads", present)
    latency = make_table("half a round trip of one thread, us", "level", present)
    overlap = make_table("part of a message that computing hides", "who computes, receive", present, ())
    for (kind, differing), by_name in found.items():
        if kind == "beside":
            what, size = differing
            for field, label, form in [
                ("longest_s", "longest", lambda seconds: f"{1e3 * seconds:.2f}"),
                ("middle_s", "middle", lambda seconds: f"{1e3 * seconds:.4f}"),
            ]:
                values = {
                    name: statistics.median(row[field] for row in rows) for name, rows in by_name.items()
                }
                title = f"{what} {bytes_text(size) if size else ''}, {label}"
                add_row(beside, title, values, present, min, form)
        elif kind == "rate":
            size, communicators, threads, place = differing
            values = {name: max(row["messages_per_s"] for row in rows) for name, rows in by_name.items()}
            mine = by_name.get(present[0].name, [])
            share = max((row["slowest_share"] for row in mine), default=0)
            where = ", spread" if place == "spread" else ""
            title = f"{bytes_text(size)}, {communicators}{where}, {threads} threads (share {share:.2f})"
            add_row(rates, title, values, present, max, lambda rate: f"{rate / 1e6:.4f}")
        elif kind == "overlap":
            who, when, size = differing
            values = {
                name: statistics.median(row["hidden"] for row in rows) for name, rows in by_name.items()
            }
            title = f"{who}, {when}, {bytes_text(size)}"
            overlap.add_row(
                title, *(f"{values[one.name]:.2f}" if one.name in values else "-" for one in present)
            )
        else:
            values = {name: min(row["shortest_s"] for row in rows) for name, rows in by_name.items()}
            add_row(latency, differing[0], values, present, min, lambda seconds: f"{1e6 * seconds:.4f}")
    return [table for table in (beside, rates, latency, overlap) if table.row_count]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peers.add_arguments(parser)
    parser.add_argument("--only", help="kinds whose name contains this: beside, rate, latency, overlap")
    parser.add_argument("--bytes-max", type=int, default=GIB, help="of what a busy thread does")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    console = peers.make_console()
    present, absent = peers.implementations(args)
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    found, troubles = collect(present, args, console)
    machine["load_after"] = os.getloadavg()
    for table in tables(found, present):
        console.print(table)
    peers.tell_gaps(args, absent, troubles, console)
    rows = [
        {"implementation": name, **row}
        for by_name in found.values()
        for name, all_rows in by_name.items()
        for row in all_rows
    ]
    peers.finish(args, "bench_threads.json", machine, {"rounds": args.rounds, "rows": rows}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
