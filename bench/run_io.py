"""make bench-io: access to files (bench/io.cpp) by our library and by others, interleaved, with ratios.

Every implementation builds the program with its own mpicxx and starts it by its own mpiexec, with the same
hints (none but --hint). They take turns, round after round, at each number of ranks, on each file system:
tmpfs, and that of --disk. A row's figure is the best call of all rounds; "limit" is the same bytes by one
loop of pwrite or pread for each rank, "share" how much of the limit's speed that is, "spread" our median over
our best. "goal" is the highest ratio to the best of the others that we aim at.

Prints the tables and writes OUT/bench_io.json: every call of every round, with the environment.
"""

import argparse
import os
import pathlib
import statistics
import sys

import peers
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

SECONDS_MAX = 150
TMPFS = pathlib.Path("/dev/shm")
# row -> the highest ratio to the best of the others, of writing and of reading
GOALS = {
    "64 B, space 0": 0.35,
    "64 B, space 64 B": 0.35,
    "3744 B, space 256 B": 0.5,
    "subarray": 0.6,
    "contiguous": 0.95,
    "strided 4 KiB of 8 KiB": 0.95,
}


def collect(present, args, console):
    """(place, ranks, row, what) -> name -> seconds of all calls, interleaved; and what went wrong."""
    args.out.mkdir(parents=True, exist_ok=True)
    built = {one.name: peers.compile_with(one, "io", args.out) for one in present}
    only = ["--only", args.only] if args.only else []
    runs = [(place, ranks, one) for place in args.places for ranks in args.ranks for one in present]
    found, troubles = {}, []
    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=args.rounds * len(runs))
        for _ in range(args.rounds):
            for (name, folder), ranks, one in runs:
                progress.update(task, description=f"{one.name} {ranks} ranks, {name}")
                file = folder / f"bench-io-{os.getpid()}"
                tries = [(one.name, [*only, file, *args.hint])]
                if one is present[0]:
                    tries.append(("limit", ["--limit", *only, file]))
                for label, arguments in tries:
                    words = [*built[one.name], *arguments]
                    rows, trouble = peers.rows_of(one, "io", words, ranks, SECONDS_MAX)
                    file.unlink(missing_ok=True)
                    if trouble and trouble not in troubles:
                        troubles.append(trouble)
                    for row in rows:
                        key = (name, row["ranks"], row["row"], row["what"])
                        found.setdefault(key, {}).setdefault(label, []).extend(row["seconds"])
                progress.advance(task)
    return found, troubles


def make_table(title, found, present):
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("row", no_wrap=True)
    for title in (*(f"{one.name}, ms" for one in present), "ratio", "goal", "limit, ms", "share", "spread"):
        table.add_column(title, justify="right", no_wrap=True)
    ours = present[0].name
    for (_, _, row, what), seconds in found.items():
        best = {name: 1e3 * min(values) for name, values in seconds.items()}
        others = [best[one.name] for one in present[1:] if one.name in best]
        mine, limit = best.get(ours), best.get("limit")
        ratio = mine / min(others) if mine and others else None
        colour = "green" if ratio and ratio <= GOALS[row] else "red"
        table.add_row(
            f"{row}, {what}",
            *(f"{best[one.name]:.2f}" if one.name in best else "-" for one in present),
            f"[{colour}]{ratio:.2f}[/]" if ratio else "-",
            f"{GOALS[row]:.2f}",
            f"{limit:.2f}" if limit else "-",
            f"{100 * limit / mine:.0f} %" if mine and limit else "-",
            f"{statistics.median(seconds[ours]) * 1e3 / mine:.2f}" if mine else "-",
        )
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peers.add_arguments(parser)
    parser.add_argument("--disk", type=pathlib.Path, help="folder on a disk; default: OUT")
    parser.add_argument("--on", choices=["tmpfs", "disk", "both"], default="both")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--only", help="rows whose name contains this")
    parser.add_argument(
        "--hint", action="append", default=[], metavar="KEY=VALUE", help="for all implementations"
    )
    args = parser.parse_args()
    for hint in args.hint:
        if not hint.partition("=")[0] or not hint.partition("=")[2]:
            parser.error(f"--hint {hint}: expected KEY=VALUE")
    places = {"tmpfs": TMPFS, "disk": args.disk or args.out}
    args.places = [(name, folder) for name, folder in places.items() if args.on in (name, "both")]
    return args


def main():
    args, console = parse_arguments(), peers.make_console()
    present, absent = peers.implementations(args)
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    found, troubles = collect(present, args, console)
    machine["load_after"] = os.getloadavg()
    for name, folder in args.places:
        for ranks in args.ranks:
            part = {key: values for key, values in found.items() if key[:2] == (name, ranks)}
            if part:
                console.print(make_table(f"{name} ({folder}), {ranks} ranks", part, present))
    peers.tell_gaps(args, absent, troubles, console)
    keys = ("place", "ranks", "row", "what")
    rows = [
        {**dict(zip(keys, key, strict=True)), "implementation": name, "seconds": values}
        for key, seconds in found.items()
        for name, values in seconds.items()
    ]
    found = {"rounds": args.rounds, "hints": args.hint, "rows": rows}
    peers.finish(args, "bench_io.json", machine, found, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
