"""make demo: real programs on the library just built, one after the other, and where their results lie.

1. hello.c, compiled by our mpicc (the MPI-5.0 standard ABI), on four ranks.
2. heat.py, on the unmodified mpi4py wheel from PyPI (the MPICH ABI), on four ranks, checked against serial.
3. pingpong.c on two ranks: latency and bandwidth beside the limit of the memory itself.
4. SPAM, the reference application: a shock wave by smoothed particles, on four ranks, and its picture.
5. A part of the benchmark suite, the model fitted to it, and both as one page: tasuki bench, fit, report.
"""

import argparse
import pathlib
import re
import subprocess
import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.rule import Rule

# The part of the suite that the demo has time for.
MEASURED = (
    "limit",
    "point_to_point/pingpong",
    "collectives/barrier",
    "collectives/bcast",
    "collectives/allreduce",
    "collectives/allgather",
    "collectives/alltoall",
    "concurrent/exchange",
    "rma/ping",
    "start_up",
)

HERE = pathlib.Path(__file__).resolve().parent
console = Console(highlight=False)


def run(words, log=None):
    """Runs a command under the reader's eyes; its output also goes to `log`. Ends the demo if it fails."""
    words = [str(word) for word in words]
    console.print("$ " + " ".join(shortened(word) for word in words), style="dim", soft_wrap=True)
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    lines = []
    with Progress(
        TextColumn("{task.description:<8}"),
        BarColumn(40),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[left]:>3} s left"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bars:
        for line in process.stdout:
            told = re.fullmatch(r"(.+): (\d+) %, (\d+) s left\n", line)
            if told and console.is_terminal:
                show_progress(bars, *told.groups())
                continue
            for task in bars.task_ids:
                bars.remove_task(task)
            lines.append(line)
            bars.console.print(line.rstrip("\n"), markup=False, soft_wrap=True)
        status = process.wait()
    if log:
        log.write_text("".join(lines))
    end_if_failed(words, status)


def run_with_own_bar(words):
    """Runs a command that draws its progress itself."""
    words = [str(word) for word in words]
    console.print("$ " + " ".join(shortened(word) for word in words), style="dim", soft_wrap=True)
    end_if_failed(words, subprocess.run(words, stdin=subprocess.DEVNULL).returncode)


def end_if_failed(words, status):
    if status != 0:
        console.print(f"the demo failed: {words[0]} ended with exit status {status}", style="bold red")
        sys.exit(1)


def show_progress(bars, name, percent, left):
    """A line of progress that a program told: moves its bar, or opens one, in place of the one before."""
    tasks = {task.description: task.id for task in bars.tasks}
    if name not in tasks:
        for task in tasks.values():
            bars.remove_task(task)
        tasks[name] = bars.add_task(name, total=100, left=left)
    bars.update(tasks[name], completed=int(percent), left=left)


def shortened(word):
    """Paths as the reader would type them, from the repository's root."""
    root = str(HERE.parent) + "/"
    return word[len(root) :] if word.startswith(root) else word


def title(text):
    console.print()
    console.print(Rule(text, align="left", style="cyan"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="the installed tree")
    parser.add_argument(
        "--out", type=pathlib.Path, required=True, help="folder of the pictures and the table"
    )
    parser.add_argument("--ranks", type=int, default=4)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    mpicc, mpiexec = args.prefix / "bin" / "mpicc", args.prefix / "bin" / "mpiexec"
    table = args.out / "pingpong.txt"

    title("1. A C program, compiled by mpicc")
    run([mpicc, "-O2", HERE / "hello.c", "-o", args.out / "hello", "-lm"])
    run([mpiexec, "-n", args.ranks, args.out / "hello"])

    title("2. A Python program on mpi4py's wheel from PyPI")
    run([mpiexec, "-n", args.ranks, sys.executable, HERE / "heat.py", "--out", args.out])

    title("3. Ping-pong, beside one memcpy through shared memory")
    run([mpicc, "-O2", HERE / "pingpong.c", "-o", args.out / "pingpong"])
    run([mpiexec, "-n", 2, args.out / "pingpong"], log=table)

    title("4. A shock wave by smoothed particles")
    spam, shock = args.prefix / "bin" / "spam", args.out / "shock"
    words = ["--threads", 1, "--overwrite", "--output", shock]
    run([mpiexec, "-n", args.ranks, spam, "run", HERE.parent / "apps/spam/examples/shock.toml", *words])
    run([spam, "picture", shock])

    title("5. The suite, its model, and both as one page")
    tasuki, results = args.prefix / "bin" / "tasuki", args.out / "run.json"
    page, charts = args.out / "report.html", args.out / "report.png"
    chosen = [word for name in MEASURED for word in ("--only", name)]
    run_with_own_bar([tasuki, "bench", "--quick", "-n", 2, "--budget", 0.02, *chosen, "-o", results])
    run_with_own_bar([tasuki, "fit", results])
    run_with_own_bar([tasuki, "report", results, "-o", page, "--png", charts])

    title("All went well")
    console.print(
        f"pictures {shortened(str(args.out / 'heat.png'))}, {shortened(str(shock / 'picture.png'))}"
    )
    console.print(f"table    {shortened(str(table))}")
    console.print(f"report   {shortened(str(page))} (its main charts: {shortened(str(charts))})")


if __name__ == "__main__":
    main()
