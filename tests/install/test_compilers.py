"""Each clang that is installed builds the libraries and mpiexec without a warning of ours, and they run a
program with a little of each part of MPI.

It builds much, so only `make test-long` (TASUKI_TEST_LONG=1) runs it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from test_install import PREFIX, ROOT, output

TARGETS = ["mpi_abi", "mpi_mpich", "mpiexec", "tasuki_heap"]
INSTALLED = [version for version in range(14, 40) if shutil.which(f"clang++-{version}")]


def warnings_of_ours(told):
    """Those that name a file of the tree, and none of the system."""
    return [
        line for line in told.splitlines() if re.match(rf"(\.\./|generated/|{ROOT}/)\S+: warning: ", line)
    ]


@pytest.mark.skipif(os.environ.get("TASUKI_TEST_LONG") != "1", reason="builds much: TASUKI_TEST_LONG=1")
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("version", INSTALLED)
def test_its_libraries_run_a_program(version, tmp_path):
    c, cxx = f"clang-{version}", f"clang++-{version}"
    build = ROOT / "build/compilers" / c
    configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DTASUKI_BUILD_TESTS=OFF"]
    configure += ["-DTASUKI_SPAM=OFF", f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}"]
    told = ""
    for words in (configure, ["cmake", "--build", build, "--target", *TARGETS]):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        told += done.stdout + done.stderr
        assert done.returncode == 0, told[-6000:]
    assert warnings_of_ours(told) == []

    program = tmp_path / "features"
    words = [c, "-O2", f"-I{PREFIX}/include", "-pthread", ROOT / "tests/faults/features.c", "-o", program]
    output(*words, f"-L{build}/lib", "-lmpi_abi", f"-Wl,-rpath,{build}/lib")
    for ranks in (1, 2, 3):
        words = [build / "bin/mpiexec", "-n", str(ranks), program, tmp_path, "childless"]
        assert output(*words) == "right"
    assert str(build) in output(build / "bin/mpiexec", "-n", "1", "ldd", program)
