"""Which error handler communicators begin with: mpiexec, the environment or the parents say it (MPI 9.3)."""

import pytest

PROGRAM = "initial_errhandler.c"


@pytest.mark.parametrize("name", ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"])
def test_mpiexec_sets_it(mpiexec, build, name):
    done = mpiexec("-initial-errhandler", name, "-n", 2, build(PROGRAM), name)
    assert done.returncode == 0, done.text


def test_errors_are_fatal_where_nobody_says(run):
    assert run(PROGRAM, 2, "mpi_errors_are_fatal").returncode == 0


def test_a_spawned_job_has_its_own(mpiexec, build):
    words = ["mpi_errors_return", "spawn", "mpi_errors_abort"]
    done = mpiexec("-initial-errhandler", "mpi_errors_return", "-n", 2, build(PROGRAM), *words)
    assert done.returncode == 0, done.text


def test_other_names_are_refused(mpiexec):
    done = mpiexec("-initial-errhandler", "mpi_errors_ignored", "true")
    assert done.returncode != 0
    assert "-initial-errhandler mpi_errors_ignored: expected mpi_errors_are_fatal" in done.stderr, done.text
