"""Counts and displacements beyond 2^31 and 2^32."""

import pytest


@pytest.mark.parametrize("abi", ["standard", "mpich"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_numbers_beyond_32_bits(mpi_python, ranks, abi):
    done = mpi_python("large_counts.py", ranks, abi=abi)
    assert done.returncode == 0, done.text
    assert done.stdout.count("right: 10 checks") == 1, done.text
