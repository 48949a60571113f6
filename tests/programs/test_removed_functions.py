"""A program that calls what MPI 3.0 removed, with both ABIs: the MPICH ABI has these functions, and mpi.h of
the standard ABI gives them back when it is asked to."""

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", HERE.parents[1] / "build" / "prefix"))
FLAGS = {
    "standard": ["-DTASUKI_REMOVED_FUNCTIONS"],
    "mpich": [f"-I{PREFIX}/include/mpich", "-l:libmpi.so.12"],
}


@pytest.mark.parametrize("abi", FLAGS)
def test_removed_functions_do_what_they_did(abi, tmp_path):
    compiler = [PREFIX / "bin/mpicc"] if abi == "standard" else ["gcc", f"-L{PREFIX}/lib"]
    command = [*compiler, HERE / "removed.c", *FLAGS[abi], "-o", tmp_path / "removed"]
    built = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    command = [PREFIX / "bin/mpiexec", "-n", "2", tmp_path / "removed"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI_")}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=300, env=environment
    )
    expected = [f"rank {rank} of 2: all is well" for rank in range(2)]
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, expected, "")
