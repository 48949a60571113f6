"""NumPy's arrays lie where mpiexec says, and come over right, with each kind of heap."""

import sys

import pytest
from harness import HERE

ARRAYS = HERE / "arrays.py"


@pytest.mark.parametrize("heap", ["global", "private"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_arrays(mpiexec, ranks, heap):
    done = mpiexec(f"--heap={heap}", "-n", ranks, sys.executable, ARRAYS, heap)
    assert done.returncode == 0 and done.stdout == "right\n", done.text
