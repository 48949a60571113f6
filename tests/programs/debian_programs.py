"""Programs of Debian that were built with its MPICH: where they are, and how they are run on ours.

tools/unpack-debian fetches a package and unpacks it under build/programs-debian; nothing is installed.
"""

import dataclasses
import os
import pathlib
import platform
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix"))


@dataclasses.dataclass
class Unpacked:
    root: pathlib.Path

    @property
    def bin(self):
        return self.root / "usr/bin"

    @property
    def lib(self):
        return self.root / "usr/lib" / f"{platform.machine()}-linux-gnu"

    @property
    def share(self):
        return self.root / "usr/share"

    @property
    def libraries(self):
        return [self.lib, self.lib / "blas", self.lib / "lapack"]

    def run(self, ranks, *words, launcher=(PREFIX / "bin/mpiexec",), cwd=None, **variables):
        """Standard output of a run that ended well. Launchers of others need to be told of our library."""
        folders = self.libraries
        if launcher[0] != PREFIX / "bin/mpiexec":
            folders.append(PREFIX / "lib")
        command = [str(word) for word in (*launcher, "-n", ranks, *words)]
        changes = {"LD_LIBRARY_PATH": ":".join(map(str, folders)), "OMP_NUM_THREADS": "1", **variables}
        how = {"cwd": cwd, "env": os.environ | changes, "stdin": subprocess.DEVNULL, "timeout": 290}
        done = subprocess.run(command, capture_output=True, text=True, **how)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout


def unpack(*packages):
    """Fetches and unpacks these packages, once: Unpacked. Elsewhere than on a Debian the test is skipped."""
    if not shutil.which("apt-get"):
        pytest.skip("programs of Debian")
    folder = ROOT / "build/programs-debian" / packages[0]
    command = [ROOT / "tools/unpack-debian", folder, *packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return Unpacked(folder / "root")
