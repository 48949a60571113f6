"""Accumulates of all sizes, operations and types, by many ranks and threads at once: nothing may be lost."""

import pytest
from harness import RANKS


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("threads", ["alone", "threads"])
def test_accumulates_that_meet(run, ranks, threads):
    done = run("accumulates.c", ranks, "-", threads)
    assert done.returncode == 0 and done.stdout == "accumulates: right\n", done.text


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("granularity", [1, 300, 100000])
def test_accumulates_of_every_granularity(run, ranks, granularity):
    """1: each word by itself for ever; else the locks of blocks of about that size from the start."""
    done = run("accumulates.c", ranks, granularity)
    assert done.returncode == 0 and done.stdout == "accumulates: right\n", done.text


@pytest.mark.parametrize("heap", ["global", "private"])
def test_accumulates_whatever_memory_is_shared(mpiexec, build, heap):
    done = mpiexec("-n", 4, f"--heap={heap}", build("accumulates.c"))
    assert done.returncode == 0 and done.stdout == "accumulates: right\n", done.text


@pytest.mark.parametrize("ranks, nodes", [(2, 2), (4, 2)])
def test_accumulates_over_nodes(mpiexec, build, ranks, nodes):
    done = mpiexec("-n", ranks, "--nodes", nodes, build("accumulates.c"))
    assert done.returncode == 0 and done.stdout == "accumulates: right\n", done.text
