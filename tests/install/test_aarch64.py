"""The library for aarch64: built by a cross compiler, and run by qemu-user under this machine's mpiexec.

qemu keeps the order of stores that this machine has: whether the weaker one of aarch64 is enough is a matter
of docs/models and of reading. Only `make test-long` (TASUKI_TEST_LONG=1) builds it.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from test_install import PREFIX, ROOT, output

ROOT_ARM64 = ROOT / "build/arm64"
BUILD = ROOT / "build/aarch64"
UNITS = ["unit_node", "unit_memory", "unit_reduction", "unit_datatype"]
QEMU = ["qemu-aarch64", "-L", ROOT_ARM64]

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("TASUKI_TEST_LONG") != "1", reason="builds everything: TASUKI_TEST_LONG=1"
    ),
    pytest.mark.timeout(5400),
]


@pytest.fixture(scope="module", autouse=True)
def built():
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DTASUKI_ARM64_ROOT={ROOT_ARM64}"]
    configure += ["--toolchain", ROOT / "cmake/aarch64-linux-gnu.cmake", "-DTASUKI_SPAM=OFF"]
    build = ["cmake", "--build", BUILD, "--target", "mpi_abi", "mpi_mpich", "mpiexec", "tasuki_heap", *UNITS]
    for words in ([ROOT / "tools/fetch-arm64", ROOT_ARM64], configure, build):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.parametrize("unit", UNITS)
def test_units(unit):
    without = "--gtest_filter=-RandomTypes.*"  # minutes under qemu
    assert "[  PASSED  ]" in output(*QEMU, BUILD / "tests/unit" / unit, without)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks(ranks, tmp_path):
    """A little of each part of MPI. Their memory is private: this machine's heap library is not theirs."""
    program = tmp_path / "features"
    library = [f"-L{BUILD}/lib", "-lmpi_abi", f"-Wl,-rpath,{BUILD}/lib"]
    compiler = ["aarch64-linux-gnu-gcc", f"--sysroot={ROOT_ARM64}", "-O1", f"-I{ROOT}/include", "-pthread"]
    output(*compiler, ROOT / "tests/faults/features.c", "-o", program, *library)
    words = [PREFIX / "bin/mpiexec", "-n", str(ranks), *QEMU, program, tmp_path, "childless"]
    assert output(*words, TASUKI_HEAP="private") == "right"
