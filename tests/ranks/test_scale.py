"""Many ranks over an imitated network: all that a program begins with works, and a rank's memory stays small.
48 ranks; 1,000 in make test-long. docs/design/scale.md has what they take."""

import re

from harness import LONG, PREFIX, compile_program, run_command

RANKS, NODES = (1000, 50) if LONG else (48, 12)
PRIVATE_KIB_MAX = 20_000  # of rank 0: far more than it takes


def test_many_ranks_begin_and_end():
    program = compile_program("scale.c")
    done = run_command(
        PREFIX / "bin/mpiexec", "--nodes", NODES, "-n", RANKS, program, timeout=900 if LONG else 120
    )
    assert done.returncode == 0, done.text
    told = re.findall(rf"^(\w+) +of {RANKS} ranks: .* (\d+) KiB private", done.stdout, re.MULTILINE)
    names = [name for name, _ in told]
    assert names == ["MPI_Init", "barrier", "allreduce", "alltoall", "split", "windows"], done.text
    assert max(int(kib) for _, kib in told) < PRIVATE_KIB_MAX, done.text
