"""h5py with parallel HDF5, built by our mpicc (tools/parallel-h5py): its own tests for MPI, at two ranks."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix"))
BUILT = ROOT / "build/parallel-h5py"
PASSED_MIN = 800  # 830 in h5py 3.16.0
# One test wants a file that its owner may not write to, which root may.
AS_A_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []

pytestmark = pytest.mark.skipif(
    not os.environ.get("TASUKI_TEST_LONG"), reason="takes minutes to build: make test-long"
)


def test_h5py_s_own_tests(tmp_path):
    assert (BUILT / ".complete").exists(), f"{BUILT} is not there (make test-long)"
    pytest_words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--pyargs",
        "h5py",
        "--with-mpi",
        "--only-mpi",
    ]
    words = [*AS_A_USER, PREFIX / "bin/mpiexec", "-n", 2, sys.executable, *pytest_words]
    variables = {"PYTHONPATH": f"{BUILT}/python:{ROOT}/build/mpi4py-abi", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        list(map(str, words)),
        cwd=tmp_path,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "Tasuki" in done.stdout, done.stdout[-4000:]
    passed = re.search(r"^(\d+) passed", done.stdout, re.M)
    assert passed and int(passed.group(1)) >= PASSED_MIN, done.stdout[-4000:]
