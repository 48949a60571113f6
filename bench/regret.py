"""make regret: how good the choice among the algorithms of the collectives is, and the model behind it.

Runs bench/algorithms.cpp, which times every algorithm of an operation, forced in turn, and the library's own
choice, over a grid of operations, ranks and sizes. A time is that of many short batches that take turns, at
the rank that took longest: the lower quartile, since the best of them is a matter of luck where ranks share
processors, and the upper half one of what else the machine has to do.

*Regret* of a case: the time of the algorithm that the library chooses over that of the best one (1: none is
better); cases with a single algorithm do not count. *Predicted* is what TASUKI_EXPLAIN says; the error of a
prediction is the factor by which it is off, either way.

Prints both tables, and writes OUT/regret.json and OUT/predicted.png.
"""

import argparse
import collections
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

import matplotlib
from rich.console import Console
from rich.table import Table

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_MAX = 300
# As bench/operations.hpp names them.
OPERATIONS = (
    "barrier bcast reduce allreduce scan allgather alltoall reduce_scatter_block gather scatter"
).split()
GOAL_MEDIAN, GOAL_WORST = 1.05, 1.3
EXPLAINED = re.compile(
    r"tasuki: rank 0: (?P<operation>\w+) of (?P<bytes>\d+) bytes among (?P<ranks>\d+) ranks: "
    r"(?P<algorithm>\w+).*?, predicted (?P<time>[\d.e+-]+) (?P<unit>us|ms)"
)
# Of these the library counts the bytes of all blocks, we those of one.
WHOLE = ("allgather", "reduce_scatter")

Case = collections.namedtuple("Case", "operation bytes ranks")


def library_operation(name):
    return name.removesuffix("_block")


def predictions_of(text):
    """(case as we count it, algorithm) -> seconds."""
    found = {}
    for match in EXPLAINED.finditer(text):
        ranks, size = int(match["ranks"]), int(match["bytes"])
        if match["operation"] in WHOLE:
            size //= ranks
        seconds = float(match["time"]) * (1e-6 if match["unit"] == "us" else 1e-3)
        found.setdefault((Case(match["operation"], size, ranks), match["algorithm"]), seconds)
    return found


def run(prefix, program, ranks, words, explain=False):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI_")}
    if explain:
        environment["TASUKI_EXPLAIN"] = "1"
    if "TASUKI_TUNING_FILE" in os.environ:
        environment["TASUKI_TUNING_FILE"] = os.environ["TASUKI_TUNING_FILE"]
    command = [prefix / "bin" / "mpiexec", "-n", ranks, program, *words]
    command = [str(word) for word in command]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"{' '.join(command)} did not end within {SECONDS_MAX} s")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done


def collect(args):
    """case -> algorithm -> seconds; case -> algorithm chosen; (case, algorithm) -> seconds predicted."""
    args.out.mkdir(parents=True, exist_ok=True)
    program = args.out / "algorithms"
    compiler = args.prefix / "bin" / "mpicxx"
    subprocess.run([compiler, "-std=c++20", "-O2", HERE / "algorithms.cpp", "-o", program], check=True)
    seconds, chosen, predicted = collections.defaultdict(list), {}, {}
    cases = list(itertools.product(args.ranks, args.operations))
    for ranks, operation in cases:  # apart from the timing, since telling takes time
        told = run(args.prefix, program, ranks, ["untimed", operation, *args.sizes], explain=True)
        predicted.update(predictions_of(told.stderr))
    for _ in range(args.rounds):
        for ranks, operation in cases:
            done = run(args.prefix, program, ranks, [operation, *args.sizes])
            for row in map(json.loads, done.stdout.splitlines()):
                case = Case(row["operation"], row["bytes"], row["ranks"])
                # The own choice and the same algorithm, forced, are the same code: all their batches count.
                seconds[case, row["algorithm"]] += row["seconds"]
                if row["own_choice"]:
                    chosen[case] = row["algorithm"]
    times = collections.defaultdict(dict)
    for (case, name), batches in seconds.items():
        times[case][name] = lower_quartile(batches)
    return times, chosen, predicted


def lower_quartile(values):
    return sorted(values)[(len(values) - 1) // 4]


def prediction(predicted, case, algorithm):
    return predicted.get((case._replace(operation=library_operation(case.operation)), algorithm))


def us(seconds):
    return "-" if seconds is None else f"{1e6 * seconds:.3g}"


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"


def regret_table(times, chosen, predicted):
    table = Table(title="regret: chosen over best (us)", title_justify="left", header_style="bold")
    columns = ("operation", "ranks", "size", "chosen", "time", "predicted", "best", "time", "regret")
    for column in columns:
        table.add_column(column, justify="left" if column in ("operation", "chosen", "best") else "right")
    regrets = {}
    for case in sorted(times, key=lambda case: (case.operation, case.ranks, case.bytes)):
        if case not in chosen or len(times[case]) < 2:
            continue
        mine, own = chosen[case], times[case]
        best = min(own, key=own.get)
        regrets[case] = own[mine] / own[best]
        colour = (
            "green" if regrets[case] <= GOAL_MEDIAN else "red" if regrets[case] > GOAL_WORST else "yellow"
        )
        cells = (case.operation, str(case.ranks), size_text(case.bytes), mine, us(own[mine]))
        told = us(prediction(predicted, case, mine))
        table.add_row(*cells, told, best, us(own[best]), f"[{colour}]{regrets[case]:.2f}[/]")
    return table, regrets


def errors_of(times, predicted):
    """operation -> [(case, algorithm, measured, predicted)]."""
    points = collections.defaultdict(list)
    for case, own in times.items():
        for algorithm, measured in own.items():
            told = prediction(predicted, case, algorithm)
            if told:
                points[case.operation].append((case, algorithm, measured, told))
    return points


def factor(points):
    """The median factor by which predictions are off: 1.2 is 20 % too much or too little."""
    return math.exp(statistics.median(abs(math.log(told / measured)) for _, _, measured, told in points))


def error_table(points):
    table = Table(title="predicted against measured", title_justify="left", header_style="bold")
    for column in ("operation", "points", "median error", "worst"):
        table.add_column(column, justify="left" if column == "operation" else "right")
    everything = [point for own in points.values() for point in own]
    for name, own in [*sorted(points.items()), ("all", everything)]:
        worst = max(own, key=lambda point: abs(math.log(point[3] / point[2])))
        where = f"{worst[1]}, {worst[0].ranks} ranks, {size_text(worst[0].bytes)}: {worst[3] / worst[2]:.2f}"
        table.add_row(name, str(len(own)), f"{100 * (factor(own) - 1):.0f} %", where)
    return table


def plot(points, path):
    """A panel for each number of ranks. On the diagonal predictions are right; bands: 30 %, and twice."""
    ranks = sorted({case.ranks for own in points.values() for case, *_ in own})
    figure, panels = pyplot.subplots(1, len(ranks), figsize=(5 * len(ranks), 5), squeeze=False, sharey=True)
    colours = pyplot.get_cmap("tab10")
    for panel, count in zip(panels[0], ranks, strict=True):
        everything = []
        for place, (operation, own) in enumerate(sorted(points.items())):
            here = [(1e6 * measured, 1e6 * told) for case, _, measured, told in own if case.ranks == count]
            everything += here
            if here:
                panel.scatter(
                    *zip(*here, strict=True), s=14, alpha=0.7, color=colours(place), label=operation
                )
        ends = [min(min(pair) for pair in everything) / 1.5, max(max(pair) for pair in everything) * 1.5]
        panel.plot(ends, ends, color="black", linewidth=1)
        for band in (1.3, 2):
            panel.fill_between(
                ends, [end / band for end in ends], [end * band for end in ends], color="black", alpha=0.07
            )
        panel.set(xscale="log", yscale="log", xlim=ends, title=f"{count} ranks", xlabel="measured (us)")
    panels[0][0].set_ylabel("predicted (us)")
    panels[0][0].legend(fontsize="small", loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def summary(console, regrets):
    values = list(regrets.values())
    if not values:
        return console.print("no case has two algorithms to choose from", style="yellow")
    worst = max(regrets, key=regrets.get)
    console.print(
        f"regret: median {statistics.median(values):.2f} (goal {GOAL_MEDIAN}), worst {regrets[worst]:.2f} "
        f"(goal {GOAL_WORST}): {worst.operation} {size_text(worst.bytes)}, {worst.ranks} ranks; "
        f"{len(values)} cases"
    )


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="our installed tree")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--operations", nargs="+", default=OPERATIONS, choices=OPERATIONS)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[], help="bytes; by default the program's grid"
    )
    parser.add_argument("--rounds", type=int, default=2, help="how often everything is run")
    return parser.parse_args()


def main():
    args, console = parse_arguments(), Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=150)
    if not (args.prefix / "bin" / "mpiexec").exists():
        sys.exit(f"{args.prefix}/bin/mpiexec is not there: run `make build` first")
    args.prefix, args.out = args.prefix.resolve(), args.out.resolve()
    load = os.getloadavg()[0]
    if load > 0.8:
        console.print(
            f"load {load:.1f}: others use this machine, and the figures will show it", style="yellow"
        )
    times, chosen, predicted = collect(args)
    table, regrets = regret_table(times, chosen, predicted)
    console.print(table)
    points = errors_of(times, predicted)
    if points:
        console.print(error_table(points))
        plot(points, args.out / "predicted.png")
    else:
        console.print("no prediction was told", style="yellow")
    rows = [
        {
            **case._asdict(),
            "algorithm": algorithm,
            "chosen": chosen.get(case) == algorithm,
            "seconds": seconds,
            "predicted_seconds": prediction(predicted, case, algorithm),
        }
        for case, own in times.items()
        for algorithm, seconds in own.items()
    ]
    (args.out / "regret.json").write_text(json.dumps({"load_before": load, "rows": rows}, indent=1))
    summary(console, regrets)
    if points:
        error = factor([point for own in points.values() for point in own]) - 1
        console.print(f"predictions: median error {100 * error:.0f} %; {args.out / 'predicted.png'}")


if __name__ == "__main__":
    main()
