"""Random mixtures of collectives, blocking, nonblocking and persistent, against an oracle: see mixture.cpp.

`make test-long` plays for minutes, by a new seed each time; $MIXTURE_SEED repeats one.
"""

import os
import random

import pytest

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
SECONDS = 40 if LONG else 0.5
SEED = os.environ.get("MIXTURE_SEED") or (random.randrange(1, 10**9) if LONG else 1)


@pytest.fixture
def mixture_is_right(mpiexec, build):
    def play(ranks, *options, threads=1, environment=None):
        program = build("mixture.cpp", "-std=c++20", compiler="mpicxx")
        words = ("-n", ranks, *options, program, SEED, SECONDS, threads)
        done = mpiexec(*words, environment=environment, timeout=SECONDS + 60)
        assert done.returncode == 0, done.text
        assert done.stdout.startswith("right: "), done.text

    return play


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_mixtures(mixture_is_right, ranks):
    mixture_is_right(ranks)


def test_mixtures_whose_memory_nobody_reaches(mixture_is_right):
    mixture_is_right(3, environment={"TASUKI_HEAP": "private"})


@pytest.mark.parametrize(("ranks", "threads"), [(2, 2), (3, 3)] if LONG else [(2, 2)])
def test_mixtures_of_several_threads(mixture_is_right, ranks, threads):
    mixture_is_right(ranks, threads=threads)


def test_mixtures_on_nodes(mixture_is_right):
    mixture_is_right(5, "--nodes", 2)


@pytest.mark.parametrize("level", [2, 3])
def test_mixtures_that_are_checked(mixture_is_right, level):
    mixture_is_right(3, environment={"TASUKI_CHECK": level})
