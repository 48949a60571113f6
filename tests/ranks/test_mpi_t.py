"""MPI_T in whole programs, in both ABIs: what it counts, what it can change, and what it says of bad use."""

import re

import pytest
from harness import ROOT, compile_for_mpich, run_command

PROGRAMS = ["mpi_t", "mpi_t_events"]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_mpi_t(run, program, ranks):
    done = run(f"{program}.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count(f"{program}: right") == 1, done.text


def ranges():
    """NAME:MIN:MAX of each control variable, as docs/variables.md has them."""
    found = []
    page = (ROOT / "docs/variables.md").read_text().split("\n## ")[1]
    for name, takes in re.findall(r"^\| `(TASUKI_\w+)` \| [^|]* \| ([^|]*) \|", page, re.M):
        number = re.fullmatch(r"a number(?: of bytes)?, (\d+)(\w?) to (\d+)(\w?)(?:, .*)?", takes)
        if number:
            units = {"": 1, "k": 2**10, "M": 2**20, "G": 2**30}
            low, low_unit, high, high_unit = number.groups()
            found.append(f"{name}:{int(low) * units[low_unit]}:{int(high) * units[high_unit]}")
        elif takes == "0 or 1":
            found.append(f"{name}:0:1")
        elif not takes.startswith(("the path", "a name")):
            found.append(f"{name}:0:{len(re.split(', | or ', takes)) - 1}")
    return found


@pytest.mark.parametrize("ranks", [1, 2])
def test_control_variables_take_their_whole_range(run, ranks):
    done = run("mpi_t.c", ranks, *ranges())
    assert done.returncode == 0, done.text


@pytest.mark.parametrize("helper", ["0", "1"])
def test_events_where_calls_hold_a_lock(run, helper):
    done = run("mpi_t_events.c", 2, "threads", environment={"TASUKI_PROGRESS_THREAD": helper})
    assert done.returncode == 0, done.text
    assert "mpi_t_events: right" in done.stdout, done.text


@pytest.mark.parametrize("program", PROGRAMS)
def test_mpi_t_in_the_mpich_abi(mpiexec, program):
    done = mpiexec("-n", 2, compile_for_mpich(program))
    assert done.returncode == 0, done.text
    assert done.stdout.count(f"{program}: right") == 1, done.text


@pytest.mark.parametrize("program", PROGRAMS)
def test_mpi_t_without_a_launcher(build, program):
    done = run_command(build(f"{program}.c"))
    assert done.returncode == 0, done.text
