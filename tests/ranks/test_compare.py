"""TASUKI_CHECK=2 in processes: calls that do not fit together are an error at every rank, never a hang."""

import pytest

LEVEL = {"TASUKI_CHECK": 2}
CASES = {
    "root": "rank 3 is in MPI_Bcast root 3, the others root 0",
    "function": "rank 3 is in MPI_Barrier, the others in MPI_Bcast root 0",
    "count": "rank 3 is in MPI_Bcast of 28 bytes, the others of 32 bytes",
    "op": "rank 3 is in MPI_Allreduce with MPI_MIN, the others with MPI_SUM",
    "type": "rank 3 is in MPI_Reduce of MPI_FLOAT, the others of MPI_INT",
    "dup": "rank 3 is in MPI_Barrier, the others in MPI_Comm_dup",
    "nonblocking": "rank 3 is in MPI_Ibcast root 3, the others root 0",
}


@pytest.mark.parametrize("case", CASES)
def test_every_rank_gets_the_error(run, case):
    done = run("compare.c", 4, case, "return", environment=LEVEL)
    assert done.returncode == 0, done.text
    assert done.stdout.count(CASES[case]) == 4, done.text
    assert "errors: 4 of 4" in done.stdout, done.text


def test_amounts_are_compared_by_who_receives_them(run):
    done = run("compare.c", 8, "alltoallv", "return", environment=LEVEL)
    text = "rank 7 sends 8 bytes to rank 0 in MPI_Alltoallv_init, which expects 4 bytes"
    assert done.returncode == 0, done.text
    assert done.stdout.count(text) == 8, done.text
    assert "errors: 8 of 8" in done.stdout, done.text


def test_groups_are_compared_with_each_other(run):
    done = run("compare.c", 4, "between", "return", environment=LEVEL)
    text = "rank 1 is in MPI_Bcast root 1, expected root 0 because remote rank 0 says MPI_ROOT"
    text_there = "remote rank 1 is in MPI_Bcast root 1, expected root 0 because rank 0 says MPI_ROOT"
    assert done.returncode == 0, done.text
    assert "errors: 4 of 4" in done.stdout, done.text
    assert done.stdout.count(text_there) == 2, done.text
    assert done.stdout.count(text) == 2, done.text


def test_every_collective_is_left_alone(mpiexec, build):
    """All operations, forms, roots and communicators of algorithms.cpp, whose calls fit together."""
    program = build("algorithms.cpp", "-std=c++20", compiler="mpicxx")
    done = mpiexec("-n", 3, program, 1, 2000, 1, environment=LEVEL)
    assert done.returncode == 0, done.text


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_what_fits_together_is_left_alone(run, ranks):
    done = run("compare.c", ranks, "nothing", environment=LEVEL)
    assert done.returncode == 0, done.text
    assert f"errors: 0 of {ranks}" in done.stdout, done.text


def test_two_ranks_are_both_named(run):
    done = run("compare.c", 2, "root", "return", environment=LEVEL)
    assert done.stdout.count("rank 1 is in MPI_Bcast root 1, rank 0 root 0") == 2, done.text


def test_it_ends_the_job_by_default(run):
    done = run("compare.c", 4, "function", environment=LEVEL)
    assert done.returncode != 0, done.text
    assert CASES["function"] in done.stderr, done.text


def test_a_level_that_is_none_is_refused(run):
    done = run("compare.c", 2, "nothing", environment={"TASUKI_CHECK": 4})
    assert done.returncode != 0, done.text
    assert "TASUKI_CHECK" in done.stderr and "0 to 3" in done.stderr, done.text
