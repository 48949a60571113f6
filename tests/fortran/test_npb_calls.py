"""What the NAS Parallel Benchmarks call is there, in each interface: their programs are the users' own
(make bench-npb), so a program of ours calls each of these procedures and checks what it does."""

import pytest
from conftest import INTERFACES, flags_of


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("interface", INTERFACES)
def test_each_procedure_that_the_kernels_call(build, mpiexec, compiler, interface, ranks, tmp_path):
    program = build(compiler, "npb_calls.F90", *flags_of(compiler, interface))
    done = mpiexec("-n", ranks, program, tmp_path / "file")
    assert done.returncode == 0 and done.stdout.strip() == "all is well" and done.stderr == "", done.text
