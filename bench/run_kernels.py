"""make bench-kernels: the kernels of apps/kernels on our library and on others, interleaved.

Every implementation builds them with its own mpifort and mpicc (gfortran, -O2 -falign-loops=64) and starts
them by its own mpiexec, in turns. The others are Debian's MPICH and Open MPI (tools/fetch-peers-debian), for
those of PyPI have no Fortran. A figure is the time that the kernel says itself; it counts only where its
verification is right. "ratio" is our time to the best of the others: 1.03 is the goal, a difference that
noise makes, too. "best" is the best of all rounds, in brackets and "of medians" are their medians.

A second table says how our kernels' bytes went between the ranks (mpiexec --stats), in the terms of
MPI/MBCF's table 5: written straight into a receive buffer, eagerly, or in other ways.

Prints the tables and writes OUT/bench_kernels.json: all figures, with the environment.
"""

import argparse
import json
import os
import re
import sys
import tempfile

import peers
import turns
from rich.table import Table
from turns import Row, Wrong

KERNELS = peers.HERE.parent / "apps" / "kernels"
# name -> source, and its command line. Sizes of some tenths of a second: short runs meet quiet moments.
PROGRAMS = {
    "cg": ("cg.f90", ["256"]),
    "ft": ("ft.f90", ["64", "12"]),
    "mg": ("mg.f90", ["64", "18"]),
    "is": ("is.c", ["20", "20"]),
}
RATIO_GOAL = 1.03
# Where a loop begins within a line of the cache is luck, and made CG on one rank 7 % faster or slower.
FLAGS = ["-O2", "-falign-loops=64"]
# Of our ways: straight from buffer to buffer, and through the ring at once.
WRITTEN, EAGER = ("sender-write", "put", "cooperative", "get"), ("short", "eager")


def build(one, out):
    """name -> the program of this implementation."""
    built = {}
    for name, (source, _) in PROGRAMS.items():
        compiler = one.mpicc if source.endswith(".c") else one.mpifort
        built[name] = out / f"kernel-{name}-{one.name}"
        done = peers.call(one, [compiler, *FLAGS, KERNELS / source, "-o", built[name]])
        if done.returncode != 0:
            sys.exit(f"{one.name}: {compiler}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return built


def read_seconds(text, row):
    """What a kernel says of its time, where its result is right."""
    if not re.search(r"verification right$", text, re.M):
        raise Wrong("its verification is not right")
    return float(re.search(r" in (\S+) s$", text, re.M).group(1))


def make_table(found, present, rows):
    table = Table(
        title="seconds, best (median); ratio: to the best peer", title_justify="left", header_style="bold"
    )
    table.add_column("kernel", no_wrap=True)
    for title in (*(one.name for one in present), "ratio", "of medians"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        cells = [turns.cell(found[row].get(one.name), min, 4) for one in present]
        both = turns.ratios(found[row], present[0].name, min)
        table.add_row(row.text, *cells, *(turns.ratio_text(ratio, RATIO_GOAL) for ratio in both))
    return table


def count_messages(one, rows, words_of, args):
    """row -> what mpiexec --stats says of it, in our library."""
    found = {}
    for row in rows:
        if row.ranks == 1:
            continue
        with tempfile.TemporaryDirectory(prefix="bench-kernels-") as folder:
            path = os.path.join(folder, "stats")
            options = ["--stats=json", "--stats-file", path]
            words = [one.mpiexec, *options, "-n", row.ranks, *words_of(one, row)]
            done = peers.call(one, words, args.limit)
            if done.returncode == 0:
                with open(path) as file:
                    found[row] = json.load(file)
    return found


def shares(counts):
    """Of the bytes sent: written straight into a receive buffer, eagerly, and in other ways; and the
    share of the bytes received whose receive came first."""
    whole = counts["all"]["sent_bytes"]

    def share(ways):
        return sum(counts["ways"][way]["sent_bytes"] for way in ways) / whole if whole else 0.0

    written, eager = share(WRITTEN), share(EAGER)
    received = counts["all"]["received_bytes"]
    first = 1 - counts["all"]["message_first_bytes"] / received if received else 0.0
    return written, eager, max(1 - written - eager, 0.0) if whole else 0.0, first


def make_stats_table(counted):
    table = Table(
        title="our messages: shares of the bytes, by how they went", title_justify="left", header_style="bold"
    )
    table.add_column("kernel", no_wrap=True)
    for title in ("messages", "MB", "written", "eager", "other", "receive first", "messages/s", "MB/s"):
        table.add_column(title, justify="right", no_wrap=True)
    for row, counts in counted.items():
        whole = counts["all"]
        table.add_row(
            row.text,
            f"{whole['sent_messages']:,}",
            f"{whole['sent_bytes'] / 1e6:.1f}",
            *(f"{100 * share:.1f} %" for share in shares(counts)),
            f"{counts['messages_per_second']:,.0f}",
            f"{counts['bytes_per_second'] / 1e6:.1f}",
        )
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    turns.add_arguments(parser, rounds=7, limit=60)
    parser.add_argument("--only", nargs="+", default=list(PROGRAMS), choices=PROGRAMS, metavar="KERNEL")
    return parser.parse_args()


def main():
    args, console = parse_arguments(), peers.make_console()
    present, absent = peers.implementations(args, peers.OF_DEBIAN)
    present[0].pinned = ["--bind-to", "core"]  # as the others: alone, a rank of ours may use all processors
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    args.out.mkdir(parents=True, exist_ok=True)
    built = {one.name: build(one, args.out) for one in present}
    rows = [Row(name, ranks) for name in args.only for ranks in args.ranks]

    def words_of(one, row):
        return [built[one.name][row.program], *PROGRAMS[row.program][1]]

    found, troubles = turns.take(present, rows, words_of, read_seconds, args, console)
    machine["load_after"] = os.getloadavg()
    console.print(make_table(found, present, rows))
    counted = count_messages(present[0], rows, words_of, args)
    console.print(make_stats_table(counted))
    peers.tell_gaps(args, absent, troubles, console, "tools/fetch-peers-debian")
    told = [
        {"kernel": row.program, "words": PROGRAMS[row.program][1], "ranks": row.ranks, "seconds": found[row]}
        | ({"messages": counted[row]["ways"]} if row in counted else {})
        for row in rows
    ]
    peers.finish(args, "bench_kernels.json", machine, {"rounds": args.rounds, "rows": told}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
