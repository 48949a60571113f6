"""The Intel MPI Benchmarks, as PyPI has them (a program of the MPICH ABI, built by others), on our library.

build/imb/IMB-MPI1 comes from the package impi-rt (tools/foreign.sh). It checks nothing itself: that
each benchmark prints its rows, with finite times, and that all ends well, is what is looked at here. mpiexec
makes it find libmpi.so.12.
"""

import os
import pathlib
import platform
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix"))
IMB = ROOT / "build" / "imb" / "IMB-MPI1"
BENCHMARKS = ["PingPong", "Sendrecv", "Exchange", "Allreduce", "Bcast", "Alltoall", "Barrier"]

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="impi-rt exists for x86-64 only")


def rows_of(section):
    """The rows of numbers of one benchmark: 0 and 1 byte to 1 MiB, or one row for a barrier."""
    words = [line.split() for line in section.splitlines()]
    return [
        [float(word) for word in row] for row in words if row and all(re.match(r"[\d.]+$", w) for w in row)
    ]


@pytest.mark.parametrize("ranks", [2, 4])
def test_benchmarks_run_to_their_end(ranks):
    words = [PREFIX / "bin" / "mpiexec", "-n", ranks, IMB, *BENCHMARKS, "-iter", 20, "-iter_policy", "off"]
    words += ["-npmin", ranks, "-msglog", 20, "-time", 5]
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=240,
        stdin=subprocess.DEVNULL,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    sections = re.split(r"^# Benchmarking (\w+)\s*$", done.stdout, flags=re.M)
    rows = dict(zip(sections[1::2], map(rows_of, sections[2::2]), strict=True))
    assert list(rows) == BENCHMARKS, text
    for benchmark, found in rows.items():
        assert len(found) >= (1 if benchmark == "Barrier" else 20), f"{benchmark}\n{text}"
        assert all(0 <= number < 1e7 for row in found for number in row), found
    assert "All processes entering MPI_Finalize" in text
