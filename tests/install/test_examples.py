"""The examples, as a reader of the installed documentation runs them: compiled there, started by mpiexec.

tests/analysis/test_patterns.py has trans7.txt, `make demo` all of them.
"""

from __future__ import annotations

import os
import re
import shutil
import sys

import pytest
from test_install import PREFIX, ROOT, done, output

LONG = os.environ.get("TASUKI_TEST_LONG") == "1"
MPIEXEC = PREFIX / "bin/mpiexec"


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """A copy, in which programs may be compiled."""
    folder = tmp_path_factory.mktemp("documents")
    shutil.copytree(PREFIX / "share/doc/tasuki/examples", folder / "examples")
    shutil.copytree(PREFIX / "share/doc/tasuki/bench", folder / "bench")
    return folder / "examples"


def compiled(documents, name):
    """By the line that the example's head has."""
    text = (documents / name).read_text()
    line = re.search(r"^[ *!#]+(mpi(?:cc|fort) \S.*?) && mpiexec", text, re.MULTILINE).group(1)
    output("sh", "-c", f"cd {documents} && {line}", PATH=f"{PREFIX}/bin:/usr/bin:/bin")
    return documents / name.split(".")[0]


def test_hello_computes_pi_and_tells_its_ranks(documents):
    hello = compiled(documents, "hello.c")
    told = output(MPIEXEC, "-n", "3", hello, "200000")
    assert re.search(r"^pi = 3\.14159265\d+ \(off by", told, re.MULTILINE) and "WRONG" not in told
    assert len(re.findall(r"^rank [0-2] of 3 ", told, re.MULTILINE)) == 3
    refused = done(MPIEXEC, "-n", "1", hello, "0")
    assert refused.returncode == 1 and "intervals = 0, expected a number of 1 or more" in refused.stderr


def test_the_ring_of_fortran_brings_the_token_back(documents):
    told = output(MPIEXEC, "-n", "3", compiled(documents, "ring.f90"), "50")
    assert told.startswith("token 150 after 50 rounds of 3 ranks, ")


def test_ping_pong_compiles_where_it_is_installed(documents):
    assert compiled(documents, "pingpong.c").exists()


@pytest.mark.skipif(not LONG, reason="measures for some seconds: TASUKI_TEST_LONG=1")
def test_ping_pong_tells_every_size(documents):
    told = output(MPIEXEC, "-n", "2", compiled(documents, "pingpong.c"))
    assert len(re.findall(r"^ *\d+", told, re.MULTILINE)) >= 14, told


@pytest.mark.skipif(not LONG, reason="computes for some seconds: TASUKI_TEST_LONG=1")
def test_heat_is_what_one_process_computes(documents, tmp_path):
    options = ("--side", "64", "--steps", "40", "--out", tmp_path)
    words = [MPIEXEC, "-n", "2", sys.executable, documents / "heat.py", *options]
    assert "difference" in output(*words, PYTHONPATH=str(ROOT / "build/mpi4py-abi"))
