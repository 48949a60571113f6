"""The wheel in a bare root of Debian: no compiler, no library of ours, Python alone. It brings what it needs.

It builds everything once more and unpacks a small Debian: only `make test-long` (TASUKI_TEST_LONG=1) runs it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

import pytest
from test_install import ROOT, output

BYTES_MAX = 15 << 20
SECONDS_MAX = 60  # from the end of pip install to that of ringtest
MPI4PY = "mpi4py==4.1.2"  # as tools/requirements-demo.txt has it

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("TASUKI_TEST_LONG") != "1", reason="builds everything: TASUKI_TEST_LONG=1"
    ),
    pytest.mark.timeout(3600),
]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder with our wheel and that of mpi4py: a bare root need not reach PyPI."""
    done = subprocess.run(["make", "-C", ROOT, "wheel"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tmp_path_factory.mktemp("wheels")
    (wheel,) = (ROOT / "build/wheel").glob("tasuki-*.whl")
    shutil.copy(wheel, folder)
    pip = ROOT / "build/venv/bin/pip"
    words = ["download", "--disable-pip-version-check", "-q", "--no-deps", "--python-version", "3.11"]
    output(pip, *words, "--only-binary", ":all:", "-d", folder, MPI4PY)
    return folder


@pytest.fixture(scope="module")
def bare(wheels, tmp_path_factory):
    """A command that runs others in a bare root, where /wheels is that folder."""
    root = tmp_path_factory.mktemp("bare") / "root"
    words = [
        "mmdebstrap",
        "--mode=root",
        "--variant=extract",
        "--include=python3-venv,coreutils,dash,libc-bin",
    ]
    done = subprocess.run([*words, "bookworm", root], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    shutil.copytree(wheels, root / "wheels")
    mounts = [
        f"cd {root}; mkdir -p proc sys dev tmp",
        f"mount -t proc none {root}/proc",
        f"mount -t sysfs none {root}/sys",
        f"mount -t tmpfs none {root}/dev",
        f"mkdir {root}/dev/shm",
        f"touch {root}/dev/null",
        f"mount --bind /dev/null {root}/dev/null",
        f"mount -t tmpfs none {root}/tmp",
        f'exec env -i PATH=/venv/bin:/usr/bin:/bin:/usr/sbin HOME=/tmp chroot {root} "$@"',
    ]
    yield ["unshare", "--mount", "--pid", "--fork", "sh", "-ec", "\n".join(mounts), "sh"], root
    shutil.rmtree(root)


def test_its_size(wheels):
    (wheel,) = wheels.glob("tasuki-*.whl")
    assert wheel.stat().st_size < BYTES_MAX


def test_it_runs_without_a_compiler_and_without_our_libraries(bare):
    run, root = bare
    assert not [name for name in ("cc", "gcc", "c++", "ld") if (root / "usr/bin" / name).exists()]
    output(*run, "python3", "-m", "venv", "/venv")
    output(*run, "pip", "install", "--no-index", "--find-links", "/wheels", "tasuki", "mpi4py")

    begin = time.monotonic()
    ring = output(*run, "mpiexec", "-n", "4", "python", "-m", "mpi4py.bench", "ringtest")
    assert time.monotonic() - begin < SECONDS_MAX
    assert re.match(r"time for 1 loops = .* \(4 processes, 1 bytes\)", ring), ring

    assert output(*run, "mpirun", "-n", "2", "spam", "--version").startswith("spam")
    assert "tasuki" in output(*run, "tasuki", "--version")
    output(*run, "mpiexec", "-n", "2", "/venv/libexec/tasuki/mbl", "--help")
    heap = output(*run, "mpiexec", "--info")
    assert "libmimalloc" not in heap

    # Of the system they want glibc's libraries alone.
    script = "for file in bin/mpiexec bin/spam libexec/* libexec/tasuki/* lib/*.so*; do "
    script += "LD_TRACE_LOADED_OBJECTS=1 /lib64/ld-linux-x86-64.so.2 ./$file 2>/dev/null; done; true"
    needed = output(*run, "sh", "-c", f"cd /venv; {script}")
    assert "libmpi_abi.so.1 => /venv/" in needed and "not found" not in needed, needed
