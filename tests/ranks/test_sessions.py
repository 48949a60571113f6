"""Sessions: with and without the world model, in some ranks or in all, and what mpiexec makes of it."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("ranks", RANKS)
def test_sessions(run, ranks):
    done = run("sessions.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count("sessions: right") == 1, done.text


@pytest.mark.parametrize("what", [["session"], ["none", "session"], ["session", "none"]])
def test_a_session_needs_no_other_rank(run, what):
    done = run("session_alone.c", 3, *what)
    assert done.returncode == 0, done.text
    assert done.stdout.count("done") == 3, done.text


def test_a_session_that_is_left_open_is_a_failure(run):
    done = run("session_alone.c", 2, "session", "open")
    assert done.returncode == 1, done.text
    assert "rank 1" in done.stderr and "without finalising its MPI session" in done.stderr, done.text


@pytest.mark.parametrize("other", ["none", "session"])
def test_nobody_waits_in_mpi_init_for_a_rank_without_it(run, other):
    done = run("session_alone.c", 2, "world", other)
    assert done.returncode == 1, done.text
    assert "without calling MPI_Init" in done.stderr, done.text


def test_a_singleton_has_sessions_too(build):
    from harness import run_command

    done = run_command(build("sessions.c"))
    assert done.returncode == 0, done.text
    assert "sessions: right" in done.stdout, done.text
