"""The Intel MPI Benchmarks, as PyPI has them (programs of the MPICH ABI, built by others), on our library.

build/imb/IMB-* come from the package impi-rt (tools/foreign.sh). They check little themselves: that every
benchmark of each prints its rows, of finite numbers that are not negative, and that all ends well, is what is
looked at here; how large times and rates are is the machine's affair.
mpiexec makes them find libmpi.so.12.
"""

import math
import os
import pathlib
import platform
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix"))
IMB = ROOT / "build" / "imb"
LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
# How many benchmarks each program has at 2 and at 4 ranks.
BENCHMARKS = {
    "IMB-MPI1": {2: 19, 4: 19},
    "IMB-NBC": {2: 13, 4: 13},
    "IMB-P2P": {2: 6, 4: 7},
    "IMB-RMA": {2: 17, 4: 15},
}

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="impi-rt exists for x86-64 only")


def rows_of(section):
    """The rows of numbers of one benchmark: one for each message size, or a single one."""
    number = r"[-+]?(\d[\d.]*(e[-+]?\d+)?|inf|nan)"
    words = [line.split() for line in section.splitlines()]
    return [
        [float(word) for word in row]
        for row in words
        if row and all(re.fullmatch(number, word, re.I) for word in row)
    ]


RUNS = [(program, ranks) for program in BENCHMARKS for ranks in BENCHMARKS[program]]
SHORT_RUNS = [("IMB-MPI1", 4), ("IMB-NBC", 2), ("IMB-P2P", 2), ("IMB-RMA", 4)]


@pytest.mark.parametrize(("program", "ranks"), RUNS if LONG else SHORT_RUNS)
def test_benchmarks_run_to_their_end(program, ranks, tmp_path):
    sizes = tmp_path / "sizes"
    sizes.write_text("0\n8\n2048\n65536\n262144\n")
    words = [PREFIX / "bin" / "mpiexec", "-n", ranks, IMB / program, "-iter", 5, "-iter_policy", "off"]
    words += ["-npmin", ranks, "-time", 5]
    # A size takes IMB-P2P a good part of a second, whatever is said of iterations.
    words += ["-msglen", sizes] if program == "IMB-P2P" else ["-msglog", 18]
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    sections = re.split(r"^# Benchmarking (\w+).*$", done.stdout, flags=re.M)
    rows = dict(zip(sections[1::2], map(rows_of, sections[2::2]), strict=True))
    assert len(rows) == BENCHMARKS[program][ranks], text
    for benchmark, found in rows.items():
        assert found, f"{benchmark}\n{text}"
        assert all(math.isfinite(number) and number >= 0 for row in found for number in row), found
    assert "All processes entering MPI_Finalize" in text
