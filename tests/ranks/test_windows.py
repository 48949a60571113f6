"""One-sided communication between processes: each flavor of windows, each synchronization, and bad input."""

import signal

import pytest
from harness import RANKS

OVER_NODES = [(2, 2), (3, 2), (4, 2), (4, 4), (8, 2), (8, 4)]  # ranks and nodes


@pytest.mark.parametrize("ranks", RANKS)
def test_windows_of_every_flavor(run, ranks):
    done = run("windows.c", ranks)
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("memory", ["global", "mixed", "closed", "closed-late"])
def test_windows_of_global_memory(mpiexec, build, ranks, memory):
    done = mpiexec("-n", ranks, "--heap=global", build("windows.c"), memory)
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text


@pytest.mark.parametrize("ranks", [2, 4])
def test_what_mpi_allocates_is_global_though_malloc_is_private(mpiexec, build, ranks):
    done = mpiexec("-n", ranks, "--heap=private", build("windows.c"), "private")
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


@pytest.mark.parametrize("ranks, nodes", OVER_NODES)
def test_windows_over_nodes(mpiexec, build, ranks, nodes):
    done = mpiexec("-n", ranks, "--nodes", nodes, build("windows.c"), "nodes")
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text


@pytest.mark.parametrize("ranks, nodes", [(2, 2), (3, 2)])
def test_pieces_that_adjoin_over_nodes(mpiexec, build, ranks, nodes):
    done = mpiexec("-n", ranks, "--nodes", nodes, build("attached.c"))
    assert done.returncode == 0 and done.stdout == "well\n", done.text


@pytest.mark.parametrize("what", ["memory", "locks"])
@pytest.mark.parametrize("ranks, nodes", OVER_NODES)
@pytest.mark.parametrize("heap", ["global", "private"])
def test_nodes_share_no_memory_of_a_window(mpiexec, build, what, ranks, nodes, heap):
    program = build("windows_over_nodes.c")
    done = mpiexec("-n", ranks, "--nodes", nodes, "--heap", heap, program, what)
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows over nodes: right") == 1, done.text


def test_windows_over_nodes_in_checking_mode(mpiexec, build):
    """Conflicts of accesses are not looked for there; all else is."""
    words = ("-n", 4, "--nodes", 2, build("windows.c"), "nodes")
    done = mpiexec(*words, environment={"TASUKI_CHECK": 3})
    assert done.returncode == 0 and done.stdout.count("windows: right") == 1, done.text


@pytest.mark.parametrize("mortal", [0, 3])
def test_an_owner_that_dies_ends_the_waits_for_its_lock(mpiexec, build, mortal):
    program = build("windows_over_nodes.c")
    done = mpiexec("-n", 4, "--nodes", 4, program, "dies", mortal)
    assert done.returncode == 128 + signal.SIGKILL, done.text
    assert f"rank {mortal}" in done.stderr, done.text


def test_few_flushes_offer_the_processor(run):
    """Where ranks share processors: beside a process that computes an offer costs milliseconds. Without any,
    a rank that looks at a window in a loop would keep the processor of the one that is to change it."""
    done = run("flushes.c", 2, environment={"TASUKI_SPIN_COUNT": "0"})
    assert done.returncode == 0, done.text
    offers = [int(line.split()[-1]) for line in done.stdout.splitlines()]
    assert len(offers) == 2 and all(10 <= offer <= 640 for offer in offers), done.text
