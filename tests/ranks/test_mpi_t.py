"""MPI_T in whole programs, in both ABIs: what it counts, what it can change, and what it says of bad use."""

import pytest
from harness import run_command
from test_profiling import compile_for_mpich

PROGRAMS = ["mpi_t", "mpi_t_events"]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_mpi_t(run, program, ranks):
    done = run(f"{program}.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count(f"{program}: right") == 1, done.text


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
