"""make fortran-calls, and a part of make bench: what a call of MPI costs from Fortran over the same call
in C, with our library and, where they are there, with Debian's MPICH and Open MPI
(tools/fetch-peers-debian).

One process times both in turns (fortran_calls.f90, gfortran -O2), and the least of all turns counts. "mpi" is
`use mpi` and mpif.h, whose calls are the same; the goals are 3 ns there, and 6 ns with mpi_f08.
"""

import argparse
import shutil
import sys

import peers
from rich.table import Table

GOALS_NS = {"mpi": 3.0, "f08": 6.0}
TITLES = {"Comm_rank": "MPI_Comm_rank", "Send": "MPI_Send, a scalar", "Send_4x4": "MPI_Send, a 4 x 4 array"}


def build(one, out):
    """The program of this implementation."""
    in_c, program = out / f"fortran-calls-{one.name}.o", out / f"fortran-calls-{one.name}"
    modules = out / f"fortran-calls-{one.name}-modules"
    modules.mkdir(parents=True, exist_ok=True)
    mismatch = "-fallow-argument-mismatch"  # MPICH 4's module mpi has no interfaces of calls with buffers
    steps = (
        [one.mpicc, "-O2", "-c", peers.HERE / "fortran_calls_in_c.c", "-o", in_c],
        [
            one.mpifort,
            "-O2",
            mismatch,
            "-w",
            "-J",
            modules,
            peers.HERE / "fortran_calls.f90",
            in_c,
            "-o",
            program,
        ],
    )
    for words in steps:
        done = peers.call(one, words)
        if done.returncode != 0:
            sys.exit(f"{one.name}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return program


def measure(one, program, rounds):
    """(call, interface) -> the least nanoseconds."""
    found = {}
    for _ in range(rounds):
        done = peers.call(one, one.launch(1, program))
        if done.returncode != 0:
            sys.exit(f"{one.name}: {(done.stderr or done.stdout).strip()[-2000:]}")
        for line in done.stdout.splitlines():
            call, interface, ns = line.split()
            found[call, interface] = min(found.get((call, interface), float("inf")), float(ns))
    return found


def make_table(found):
    table = Table(title="ns for a call, and over C", title_justify="left", header_style="bold")
    for title in ("library", "call"):
        table.add_column(title, no_wrap=True)
    for title in ("C", "mpi", "over C", "mpi_f08", "over C"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, times in found.items():
        for call, title in TITLES.items():
            in_c, cells = times[call, "c"], []
            for interface, goal in GOALS_NS.items():
                over = times[call, interface] - in_c
                colour = "green" if over <= goal else "red"
                cells += [f"{times[call, interface]:.1f}", f"[{colour}]{over:+.1f}[/]"]
            table.add_row(name, title, f"{in_c:.1f}", *cells)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peers.add_arguments(parser)
    parser.set_defaults(rounds=5)
    args, console = parser.parse_args(), peers.make_console()
    if shutil.which("gfortran") is None:
        console.print("calls from Fortran are left out: there is no gfortran", style="yellow")
        return 0
    present, _ = peers.implementations(args, peers.OF_DEBIAN)
    machine = peers.environment_of_machine(present)
    args.out.mkdir(parents=True, exist_ok=True)
    programs = {one.name: build(one, args.out) for one in present}
    found = {one.name: measure(one, programs[one.name], args.rounds) for one in present}
    console.print(make_table(found))
    told = {name: {" ".join(key): ns for key, ns in times.items()} for name, times in found.items()}
    peers.finish(args, "fortran_calls.json", machine, {"ns": told}, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
