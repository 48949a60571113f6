"""The fixtures of the stress test: its program, compiled and run by the harness of the rank tests."""

import os
import pathlib
import random
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "ranks")]

import harness  # noqa: E402
from protocols import PROTOCOLS  # noqa: E402

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))


@pytest.fixture(scope="session")
def seed():
    """The first seed: the same in every `make test`, a new one in `make test-long`, or $STRESS_SEED."""
    return int(os.environ.get("STRESS_SEED") or (random.randrange(1, 10**9) if LONG else 1))


@pytest.fixture(scope="session")
def program():
    return harness.compile_stress()


@pytest.fixture
def stress(program, seed):
    """stress(ranks, seconds, …) -> Done: so long (`make test-long`: ten times) random rounds, right."""

    def run(
        ranks,
        seconds,
        *,
        threads=1,
        spawned=0,
        bytes_max=4 << 20,
        environment=PROTOCOLS["default"],
        before=(),
    ):
        seconds *= 10 if LONG else 1
        mpiexec = [*before, harness.PREFIX / "bin/mpiexec", "-n", ranks, program]
        arguments = [seed, 1_000_000, seconds, threads, bytes_max, spawned]
        # The program itself tells what hangs, after three times `seconds` and a minute.
        done = harness.run_command(*mpiexec, *arguments, timeout=3 * seconds + 80, environment=environment)
        assert done.returncode == 0, done.text
        assert done.stdout.count("right: ") == 1, done.text
        return done

    return run
