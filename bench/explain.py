"""make explain: programs that are slow for one known reason each (bench/slow_programs.c), run and explained.

Each is recorded (`mpiexec --trace`) and the trace explained; what comes first must be the reason. Prints a
table with the gain, and where the program's own figures say it, what could be gained. On a machine that
others use a run may be held up by them instead: it is done again, at most RUNS times.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import peers
from rich.console import Console
from rich.table import Table
from tasuki import explain
from tasuki import trace as traces
from tasuki.units import percent_text

RUNS = 3
# Program: the kind of its first finding, the share that could be gained by its figures (None: they do not
# say), ranks, variables.
PROGRAMS = {
    "late_sender": ("late_sender", 1 / 3, 2, {}),
    "late_receiver": ("late_receiver", 1 / 3, 2, {}),
    "imbalance": ("collective", 1 / 3, 2, {}),
    "late_root": ("collective", 4 / 9, 2, {}),
    "small_messages": ("small_messages", None, 2, {}),
    "small_collectives": ("small_messages", None, 2, {}),
    "files": ("files", None, 2, {}),
    "private_buffers": ("private_buffer", 1 / 2, 2, {}),
    "packed_type": ("packed_type", 1 / 2, 2, {}),
    "wrong_algorithm": ("algorithm", None, 2, {"TASUKI_ALLREDUCE_ALGORITHM": "ring"}),
    "chain": ("chain", None, 4, {}),
    "efficient": ("", 0.0, 2, {}),
}


def run(prefix, program, name, folder):
    _, _, ranks, variables = PROGRAMS[name]
    path = folder / f"{name}.trace"
    words = [prefix / "bin/mpiexec", "-n", ranks, f"--trace={path}", program, name]
    words[3:3] = [word for one, value in variables.items() for word in ("-x", f"{one}={value}")]
    subprocess.run(list(map(str, words)), check=True, capture_output=True, cwd=folder, timeout=120)
    return explain.explain(traces.load(path))


def first_of(found):
    """Of what the program does itself: MPI_Init is short runs' own, and processors the machine's."""
    return next((one for one in found.findings if one.kind not in ("init", "processors")), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS), choices=list(PROGRAMS))
    options = parser.parse_args()
    table = Table(title="programs that are slow for one reason", title_justify="left")
    for title in ("program", "could gain", "found", "gain", "in words"):
        table.add_column(title, overflow="fold")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = folder / "slow_programs"
        compiler = options.prefix / "bin/mpicc"
        subprocess.run([compiler, "-g", "-O2", peers.HERE / "slow_programs.c", "-o", program], check=True)
        for name in options.only:
            wanted, share = PROGRAMS[name][:2]
            for _ in range(RUNS):
                first = first_of(run(options.prefix, program, name, folder))
                kind = first.kind if first else ""
                if kind == wanted:
                    break
            wrong += kind != wanted
            told = f"[{'green' if kind == wanted else 'red'}]{kind or 'efficient'}[/]"
            known = percent_text(share) if share is not None else ""
            table.add_row(
                name,
                known,
                told,
                percent_text(first.gain_share) if first else "",
                first.text if first else "",
            )
    Console(width=None if sys.stdout.isatty() else 150).print(table)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
