"""python bench/run_heap.py --prefix PREFIX: bench/heap.cpp with a private and with a global heap, as ratios.

The two take turns, and so do the rounds, so that a machine that gets slower meets both alike. A row's figure
is the least of all batches of all rounds; the spread, median over least, tells how far the machine was from
quiet. `more` is by how many MiB more the process has in memory after the row with a global heap: the goal is
64. A private heap is libc's malloc.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HEAPS = ("private", "global")
GOALS = {"triad": 1.02, "random": 1.02, "fresh": 1.1, "first_touch": 1.1, "churn": 1.1}
SECONDS_MAX = 120


def run(prefix, ranks, program, heap):
    """(row, bytes) -> what the program says of it."""
    command = [prefix / "bin/mpiexec", "-n", str(ranks), f"--heap={heap}", program]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=SECONDS_MAX)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(row["row"], row["bytes"]): row for row in rows}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="where Tasuki is installed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2, help="of which one works")
    options = parser.parse_args()
    batches = {heap: {} for heap in HEAPS}
    resident = {heap: {} for heap in HEAPS}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "heap"
        mpicxx = [options.prefix / "bin/mpicxx", "-std=c++20", "-O3", HERE / "heap.cpp", "-o", program]
        subprocess.run(mpicxx, check=True)
        for _ in range(options.rounds):
            for heap in HEAPS:
                for row, figures in run(options.prefix, options.ranks, program, heap).items():
                    batches[heap].setdefault(row, []).extend(figures["seconds"])
                    resident[heap][row] = figures["resident"]
    titles = f"{'private, ns':>12} {'global, ns':>12} {'ratio':>6} {'goal':>5} {'more':>5}  spread"
    print(f"{'row':<12} {'bytes':>10} {titles}")
    for row, seconds in batches["private"].items():
        mine, other = min(batches["global"][row]), min(seconds)
        spread = max(statistics.median(batches[heap][row]) / min(batches[heap][row]) for heap in HEAPS)
        goal = GOALS.get(row[0], "")
        figures = f"{other * 1e9:12.2f} {mine * 1e9:12.2f} {mine / other:6.3f}"
        more = (resident["global"][row] - resident["private"][row]) >> 20
        print(f"{row[0]:<12} {row[1]:>10} {figures} {goal:>5} {more:>5}  {spread:.2f}")


if __name__ == "__main__":
    main()
