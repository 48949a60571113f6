"""One-sided communication between processes: each flavor of windows, each synchronization, and bad input."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("ranks", RANKS)
def test_windows_of_every_flavor(run, ranks):
    done = run("windows.c", ranks, timeout=120)
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("memory", ["global", "mixed", "closed", "closed-late"])
def test_windows_of_global_memory(mpiexec, build, ranks, memory):
    done = mpiexec("-n", ranks, "--heap=global", build("windows.c"), memory, timeout=120)
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text


@pytest.mark.parametrize("ranks", [2, 4])
def test_what_mpi_allocates_is_global_though_malloc_is_private(mpiexec, build, ranks):
    done = mpiexec("-n", ranks, "--heap=private", build("windows.c"), "private", timeout=120)
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_an_access_may_span_memory_that_was_attached_in_adjoining_pieces(run, ranks):
    done = run("attached.c", ranks)
    assert done.returncode == 0 and done.stdout == "well\n", done.text


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_errors_reach_the_window_and_leave_it_usable(run, ranks):
    done = run("windows.c", ranks, "errors")
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text
