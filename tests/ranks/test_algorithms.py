"""Every algorithm of every collective, forced by name, against a serial oracle: see algorithms.cpp.

The runs together must have run every algorithm that the library names. `make test-long` has more ranks, and
more, larger and other cases: what goes wrong tells its seed, and $ALGORITHMS_SEED repeats it.
"""

import collections
import os
import random

import pytest
from harness import compile_program

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
# ranks -> cases for each algorithm, kind and communicator; words at most
QUICK_SIZES = {1: (1, 3000), 2: (4, 30000), 3: (3, 20000), 4: (3, 20000)}
QUICK_SIZES.update({ranks: (1, 8000) for ranks in range(5, 10)})
LONG_SIZES = {ranks: (6, 200000) for ranks in (*range(1, 10), 16)}
SIZES = LONG_SIZES if LONG else QUICK_SIZES
SEED = os.environ.get("ALGORITHMS_SEED") or (random.randrange(1, 10**9) if LONG else 1)
# ranks, virtual nodes, and whether neighbours are on one node or on different ones
QUICK_NODES_SIZES = (1, 8000)
NODES = [(4, 2, "slot"), (4, 2, "node"), (5, 2, "slot"), (6, 3, "node"), (8, 2, "slot")]
if LONG:
    NODES += [
        (2, 2, "slot"),
        (3, 3, "slot"),
        (7, 3, "slot"),
        (8, 2, "node"),
        (9, 4, "node"),
        (16, 4, "slot"),
        (16, 5, "node"),
    ]
SECONDS_MAX = 600


@pytest.fixture(scope="module")
def ran():
    """algorithm -> how often it ran in all tests of this file."""
    return collections.Counter()


@pytest.fixture
def algorithms_are_right(mpiexec, ran):
    """algorithms_are_right(ranks, sizes, *options of mpiexec): runs the program and adds up what ran."""

    def check(ranks, sizes, *options):
        program = compile_program("algorithms.cpp", "-std=c++20", compiler="mpicxx")
        done = mpiexec("-n", ranks, *options, program, *sizes, SEED, timeout=SECONDS_MAX)
        assert done.returncode == 0, done.text
        counts = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("ran ")]
        assert counts, done.text
        ran.update({name: int(times) for name, times in counts})

    return check


@pytest.mark.parametrize("ranks", SIZES)
def test_every_algorithm_is_right(algorithms_are_right, ranks):
    algorithms_are_right(ranks, SIZES[ranks])


@pytest.mark.parametrize(("ranks", "nodes", "order"), NODES)
def test_every_algorithm_is_right_on_nodes(algorithms_are_right, ranks, nodes, order):
    sizes = LONG_SIZES[ranks] if LONG else QUICK_NODES_SIZES
    algorithms_are_right(ranks, sizes, "--nodes", nodes, "--map-by", order)


def test_each_of_them_ran(ran):
    assert ran, "no test before this one ran any"
    # Those for exact sums of floating-point numbers run in test_repeatable.py.
    missing = [name for name, times in ran.items() if times == 0 and "_collect" not in name]
    assert missing == []
