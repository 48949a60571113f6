"""Counts and displacements beyond 2^31 and 2^32."""

import harness
import pytest

RUNS = [(ranks, abi) for ranks in (1, 2, 4) for abi in ("standard", "mpich")]
SHORT_RUNS = [(1, "mpich"), (2, "standard")]


@pytest.mark.parametrize(("ranks", "abi"), RUNS if harness.LONG else SHORT_RUNS)
def test_numbers_beyond_32_bits(mpi_python, ranks, abi):
    done = mpi_python("large_counts.py", ranks, abi=abi)
    assert done.returncode == 0, done.text
    assert done.stdout.count("right: 10 checks") == 1, done.text
