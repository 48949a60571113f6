"""The fixtures of the property tests: programs in Python (and C), run as MPI processes by our mpiexec."""

import os
import pathlib
import random
import sys

import mpi_description
import pytest
from mpi_description import DESCRIPTION, LIBRARIES

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks"), str(HERE.parent / "hosts")]

import harness  # noqa: E402

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))


@pytest.fixture(scope="session", autouse=True)
def description():
    if not (harness.PREFIX / "bin" / "mpiexec").exists():
        pytest.exit(f"{harness.PREFIX}/bin/mpiexec is not there: run `make build` first", returncode=1)
    mpi_description.write(DESCRIPTION)


@pytest.fixture(scope="session")
def seed():
    """The first seed: the same in every `make test`, a new one in `make test-long`, or $PROPERTY_SEED."""
    chosen = os.environ.get("PROPERTY_SEED") or (random.randrange(1, 10**9) if LONG else 1)
    print(f"PROPERTY_SEED={chosen}")
    return int(chosen)


@pytest.fixture
def mpi_python():
    """mpi_python("x.py", ranks, *arguments, abi=…, timeout=…, environment=…) -> Done: a program's run.

    `options`: of mpiexec, besides -n. `host`: where mpiexec is started, else on this machine. A program that
    is no name of a file in Python is started as it is.
    """

    def run(program, ranks, *arguments, abi="standard", timeout=300, environment=None, options=(), host=None):
        variables = {
            "PROPERTY_LIBRARY": harness.PREFIX / "lib" / LIBRARIES[abi],
            "PROPERTY_ABI": abi,
            "PROPERTY_API": DESCRIPTION,
            "PROPERTY_SECONDS": timeout - 10,
            # In buffers of a few bytes that is thousands of messages, each of them a wait beside other work.
            "PROPERTY_LARGE_BYTES": 400_000 if LONG else 100_000,
            "PYTHONDONTWRITEBYTECODE": "1",
            **(environment or {}),
        }
        words = [sys.executable, HERE / program] if str(program).endswith(".py") else [program]
        command = [harness.PREFIX / "bin/mpiexec", *options, "-n", ranks, *words, *arguments]
        if host is not None:
            return host.run(command, timeout=timeout, environment=variables)
        return harness.run_command(*command, timeout=timeout, environment=variables)

    return run


@pytest.fixture
def rounds(mpi_python, seed):
    """rounds("x.py", ranks, n, seconds): n rounds from the seed, or what ends in `seconds`; all right.

    `make test-long` does ten times as many.
    """

    def run(program, ranks, number, seconds, **how):
        factor = 10 if LONG else 1
        how.setdefault("timeout", 200 + seconds * factor)  # a round may take a minute beside other work
        done = mpi_python(program, ranks, seed, number * factor, seconds * factor, **how)
        assert done.returncode == 0, done.text
        assert done.stdout.count("right: ") == 1, done.text

    return run
