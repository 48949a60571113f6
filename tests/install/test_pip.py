"""`pip install .` puts the same tree into an environment, and the package `tasuki` tells where it is.

It builds everything once more, so only `make test-long` (TASUKI_TEST_LONG=1) runs it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from test_install import HELLO, ROOT, check_hello, output

TREE = [
    "bin/mpiexec",
    "bin/mpirun",
    "bin/mpicc",
    "bin/mpicxx",
    "bin/mpic++",
    "bin/tasuki",
    "include/mpi.h",
    "lib/libmpi_abi.so",
    "lib/libmpi_abi.so.1",
    "lib/libmpi.so.12",
    "lib/pkgconfig/tasuki.pc",
    "lib/cmake/Tasuki/TasukiConfig.cmake",
    "share/tasuki/mbl/suite.hpp",
]


@pytest.mark.skipif(os.environ.get("TASUKI_TEST_LONG") != "1", reason="builds everything: TASUKI_TEST_LONG=1")
@pytest.mark.timeout(1800)
def test_pip_installs_the_tree_and_its_package(tmp_path):
    venv = tmp_path / "venv"
    output(sys.executable, "-m", "venv", venv)
    command = [venv / "bin/pip", "install", "--disable-pip-version-check", f"{ROOT}[report]"]
    installed = subprocess.run(command, capture_output=True, text=True, timeout=1700, check=False)
    assert installed.returncode == 0, installed.stdout[-4000:] + installed.stderr[-4000:]
    for name in TREE:
        assert (venv / name).exists(), name

    # What the system may lack comes along.
    for program in (venv / "bin/mpiexec", venv / "libexec/tasuki-source-lines"):
        for name in re.findall(r"lib(?:dw|elf|lzma|z|bz2)\S* => (\S+)", output("ldd", program)):
            assert os.path.samefile(os.path.dirname(name), venv / "lib/tasuki"), f"{program} loads {name}"

    python = venv / "bin/python"
    version = output(python, "-c", "import tasuki; print(tasuki.__version__)")
    assert f"project(tasuki VERSION {version} " in (ROOT / "CMakeLists.txt").read_text()
    script = "import tasuki as t; print(t.prefix(), t.mpiexec(), t.mpicc(), t.library('mpich'), sep='|')"
    expected = [venv, venv / "bin/mpiexec", venv / "bin/mpicc", venv / "lib/libmpi.so.12"]
    for told, place in zip(output(python, "-c", script).split("|"), expected, strict=True):
        assert os.path.samefile(told, place)

    assert "tasuki bench" in output(venv / "bin/tasuki", "--help")
    mbl = output(python, "-c", "import tasuki; print(tasuki.share_dir('mbl'))")
    assert os.path.samefile(mbl, venv / "share/tasuki/mbl")

    (tmp_path / "hello.c").write_text(HELLO)
    output(venv / "bin/mpicc", tmp_path / "hello.c", "-o", tmp_path / "hello")
    check_hello(tmp_path / "hello", venv)
    output(venv / "bin/pip", "uninstall", "-y", "tasuki")
    assert not (venv / "bin/mpicc").exists()
