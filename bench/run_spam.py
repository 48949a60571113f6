"""make bench-spam: SPAM with the paper's conditions (apps/spam) on our library and on others, interleaved.

Every implementation builds it with its own mpicxx and starts it by its own mpiexec: at each number of ranks,
with either halo, MPI alone. Ourselves, too, as one process with a thread for each of as many ranks (hybrid).
They take turns, round after round. A figure is the time of a step as the program tells it in run.json (that
of the slowest rank, without remapping and output): the best of all rounds, and their median. "ratio" is ours
to the best of the others, and of the hybrid ours to MPI alone; "exchange" is what share of our time the ranks
spend in it, or wait there.

Prints the table and writes OUT/bench_spam.json: what run.json says of every run, with the environment.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import peers
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

SPAM = peers.HERE.parent / "apps" / "spam"
SECONDS_MAX = 120
BUILD_SECONDS_MAX = 900
RATIO_GOAL = 1.0


@dataclasses.dataclass(frozen=True)
class Row:
    ranks: int
    threads: int
    halo: str

    @property
    def text(self):
        return f"{self.ranks} x {self.threads}, {self.halo}"


def build(one, out):
    """The program of this implementation."""
    folder = out / f"spam-{one.name}"
    configure = ["cmake", "-S", SPAM, "-B", folder, f"-DCMAKE_CXX_COMPILER={one.mpicxx}"]
    for words in (configure, ["cmake", "--build", folder, "-j", str(os.cpu_count())]):
        done = peers.call(one, words, BUILD_SECONDS_MAX)
        if done.returncode != 0:
            sys.exit(
                f"{one.name}: {' '.join(map(str, words))}\n{(done.stderr or done.stdout).strip()[-2000:]}"
            )
    return folder / "spam"


def simulate(one, program, row, args):
    """What run.json says, or a line that says why there is none."""
    what = f"{one.name}: {row.text}"
    with tempfile.TemporaryDirectory(prefix="bench-spam-") as folder:
        output = pathlib.Path(folder) / "run"
        options = ["--halo", row.halo, "--threads", row.threads, "--mapping", args.mapping, "--quiet"]
        words = [program, "run", args.input, "--output", output, *options]
        if row.threads > 1:  # to processors of their own, as mpiexec binds processes
            words = ["env", "OMP_PROC_BIND=true", *words]
        try:
            done = peers.call(one, one.launch(row.ranks, *words), SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return None, f"{what} did not end within {SECONDS_MAX} s"
        if done.returncode != 0:
            return None, f"{what}: {(done.stderr or done.stdout).strip()[-300:]}"
        return json.loads((output / "run.json").read_text()), None


def collect(present, args, console):
    """row -> name -> all runs, interleaved; and what went wrong."""
    args.out.mkdir(parents=True, exist_ok=True)
    ours = present[0]
    built = {}
    for one in present:
        with console.status(f"building it for {one.name}"):
            built[one.name] = build(one, args.out)
    rows = [Row(ranks, 1, halo) for ranks in args.ranks for halo in ("messages", "shared")]
    turns = [(row, one) for row in rows for one in present]
    turns += [(Row(1, ranks, "messages"), ours) for ranks in args.ranks if ranks <= os.cpu_count()]
    found, troubles = {}, []
    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=args.rounds * len(turns))
        for _ in range(args.rounds):
            for row, one in turns:
                progress.update(task, description=f"{one.name} {row.text}")
                told, trouble = simulate(one, built[one.name], row, args)
                if told:
                    found.setdefault(row, {}).setdefault(one.name, []).append(told)
                elif trouble not in troubles:
                    troubles.append(trouble)
                progress.advance(task)
    return found, troubles


def step_ms(runs):
    return [1e3 * one["seconds"] / one["steps"] for one in runs]


def ratios(row, found, ours):
    """(of the best, of the medians): of MPI alone to the best of the others, of the hybrid to MPI alone."""
    mine = found[row].get(ours)
    if row.ranks == 1:
        others = [found.get(Row(row.threads, 1, "messages"), {}).get(ours)]
    else:
        others = [runs for name, runs in found[row].items() if name != ours]
    others = [runs for runs in others if runs]
    if not mine or not others:
        return None, None
    return tuple(
        pick(step_ms(mine)) / min(pick(step_ms(runs)) for runs in others) for pick in (min, statistics.median)
    )


def exchange_share(runs):
    """Of the phases' time, on average over ranks, in the quickest run."""
    phases = min(runs, key=lambda one: one["seconds"])["phases"]
    inside = {name: sum(phases[name]) for name in ("force", "sorting", "exchange", "move")}
    return inside["exchange"] / sum(inside.values())


def ratio_text(ratio):
    if ratio is None:
        return "-"
    return f"[{'green' if ratio <= RATIO_GOAL else 'red'}]{ratio:.2f}[/]"


def make_table(found, present):
    table = Table(
        title="ms for a step, best (median); ranks x threads", title_justify="left", header_style="bold"
    )
    table.add_column("row", no_wrap=True)
    for title in (*(one.name for one in present), "ratio", "of medians", "exchange"):
        table.add_column(title, justify="right", no_wrap=True)
    ours = present[0].name
    for row, by_name in found.items():
        cells = []
        for one in present:
            times = step_ms(by_name.get(one.name, []))
            cells.append(f"{min(times):.2f} ({statistics.median(times):.2f})" if times else "-")
        cells += [ratio_text(ratio) for ratio in ratios(row, found, ours)]
        cells.append(f"{100 * exchange_share(by_name[ours]):.0f} %" if ours in by_name else "-")
        table.add_row(row.text, *cells)
    return table


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peers.add_arguments(parser)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--input", type=pathlib.Path, default=SPAM / "examples" / "paper.toml")
    parser.add_argument("--mapping", default="cyclic(4)")
    parser.set_defaults(rounds=5)
    return parser.parse_args()


def main():
    args, console = parse_arguments(), peers.make_console()
    present, absent = peers.implementations(args)
    machine = peers.environment_of_machine(present)
    peers.warn_if_busy(machine, console)
    found, troubles = collect(present, args, console)
    machine["load_after"] = os.getloadavg()
    console.print(make_table(found, present))
    peers.tell_gaps(args, absent, troubles, console)
    rows = [
        {**dataclasses.asdict(row), "implementation": name, "runs": runs}
        for row, by_name in found.items()
        for name, runs in by_name.items()
    ]
    peers.finish(args, "bench_spam.json", machine, {"rounds": args.rounds, "rows": rows}, console)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
