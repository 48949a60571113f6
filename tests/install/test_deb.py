"""`make deb`, and its packages in a bare Debian: installed, an MPI program compiled and run by the names that
update-alternatives gives, and removed without a trace; and the same beside Debian's MPICH and Open MPI.

Building everything once more and making a Debian takes minutes: only `make test-long` (TASUKI_TEST_LONG=1)
does. What can be told without building is tested always.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest
from test_components import RANKS
from test_install import ROOT, output

LONG = os.environ.get("TASUKI_TEST_LONG") == "1"
PACKAGES = ("tasuki", "tasuki-dev", "tasuki-tools", "tasuki-doc")
CHECKED = """\
set -e
cd /root
mpicc sum.c -o sum
mpirun -n 4 ./sum
mpiexec.tasuki -n 4 ./sum
mpiexec --version
readlink -f /usr/bin/mpirun
pkg-config --libs mpi
tasuki --version
man -w MPI_Send
"""
OTHERS = ("mpich", "libmpich-dev", "openmpi-bin", "libopenmpi-dev")
# $1 names an MPI, or is auto: the alternatives become its; a program is compiled and run twice by them.
CHOSEN = """\
set -e
cd /root
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
for name in mpi mpirun "mpi-$(gcc -print-multiarch)"; do
  if [ "$1" = auto ]; then
    update-alternatives --auto "$name"
  else
    update-alternatives --set "$name" "$(update-alternatives --list "$name" | grep "$1")"
  fi >/dev/null
done
mpicc library.c -o by-mpicc
mpirun -n 4 ./by-mpicc
# shellcheck disable=SC2046  # options are words
gcc library.c $(pkg-config --cflags --libs mpi) -o by-pkg-config
mpiexec -n 2 ./by-pkg-config
"""
LIBRARY = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank = 0, sum = 0, length = 0;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Get_library_version(text, &length);
  if (rank == 0) printf("sum %d by %.5s\n", sum, text);
  return MPI_Finalize();
}
"""


def test_the_packages_have_the_version_of_the_project():
    version = re.search(r"project\(tasuki VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert (ROOT / "debian/changelog").read_text().startswith(f"tasuki ({version}) ")


def test_an_archive_of_the_sources_knows_its_commit(tmp_path):
    """A package is built without a repository: git archive writes the commit into the sources."""
    if not (ROOT / ".git").exists():
        commit = (ROOT / "cmake/archive-commit.txt").read_text().strip()
    else:
        commit = output("git", "-C", ROOT, "rev-parse", "HEAD")
        archive = "git -C {} archive HEAD cmake .gitattributes | tar -x -C {}"
        output("sh", "-c", archive.format(ROOT, tmp_path))
    header = tmp_path / "commit.hpp"
    output("cmake", f"-DSOURCE={tmp_path}", f"-DFILE={header}", "-P", ROOT / "cmake/commit.cmake")
    assert header.read_text() == f'#define TASUKI_COMMIT "{commit[:12]}"\n'
    (tmp_path / "cmake/archive-commit.txt").write_text("$Format:%H$\n")
    output("cmake", f"-DSOURCE={tmp_path}", f"-DFILE={header}", "-P", ROOT / "cmake/commit.cmake")
    assert header.read_text() == '#define TASUKI_COMMIT ""\n'


def test_the_packages_need_what_the_build_needs():
    """Build-Depends names every package with headers that tools/packages-debian.txt has for the build."""
    control = (ROOT / "debian/control").read_text()
    needed = set(re.findall(r"^ ([a-z0-9+.-]+),?$", control.split("Standards-Version")[0], re.MULTILINE))
    build = re.search(r"\n\[build\]\n(.*?)\n\[", (ROOT / "tools/packages-debian.txt").read_text(), re.DOTALL)[
        1
    ]
    listed = {line for line in build.splitlines() if line.endswith("-dev")}
    assert listed and listed <= needed, listed - needed


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Their folder, and the commit that they are of."""
    folder = tmp_path_factory.mktemp("deb") / "out"
    commit = output("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD")
    made = subprocess.run(
        [ROOT / "tools/make-deb", folder], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    return folder, commit


@pytest.fixture(scope="module")
def debian(tmp_path_factory):
    """A bare Debian with a compiler, of the release and the servers that this machine has."""
    folder = tmp_path_factory.mktemp("debian")
    release = re.search(r"VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text()).group(1)
    acquire = output("sh", "-c", "apt-config dump | grep ^Acquire::")
    (folder / "acquire").write_text(acquire + "\n")
    sources = "/etc/apt/sources.list.d/debian.sources"
    sources = sources if os.path.exists(sources) else "/etc/apt/sources.list"
    words = ["mmdebstrap", "--variant=minbase", f"--aptopt={folder}/acquire"]
    root = folder / "root"
    made = subprocess.run(
        [*words, "--include=gcc,libc6-dev,man-db,pkgconf", release, root, sources],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-3000:]
    return root


def inside(root, script):
    """In the Debian, with processes and devices of its own that end with it."""
    mounts = "mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /dev/shm"
    words = ["unshare", "--mount", "--pid", "--fork", "chroot", root, "sh", "-c", f"{mounts} && {script}"]
    variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
    ran = subprocess.run(words, capture_output=True, text=True, env=variables, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran.stdout


def install_packages(debian, folder):
    (debian / "packages").mkdir(exist_ok=True)
    for package in folder.glob("*.deb"):
        (debian / "packages" / package.name).write_bytes(package.read_bytes())
    inside(debian, "apt-get update && apt-get install -y --no-install-recommends /packages/*.deb")


def files(root):
    found = set()
    for top in ("bin", "etc", "lib", "opt", "usr", "var/lib/dpkg/alternatives"):
        found |= {str(path.relative_to(root)) for path in (root / top).rglob("*")}
    ours = re.compile(r"tasuki|(bin|alternatives)/mpi|libmpi")
    return {path for path in found if ours.search(path)}


@pytest.mark.skipif(not LONG, reason="builds everything: TASUKI_TEST_LONG=1")
@pytest.mark.timeout(3600)
def test_a_bare_debian_takes_the_packages_and_gives_them_back(packages, debian):
    folder, commit = packages
    before = files(debian)
    (debian / "root/sum.c").write_text(RANKS)
    install_packages(debian, folder)
    told = inside(debian, CHECKED).splitlines()
    assert told[:2] == ["sum 6", "sum 6"]
    assert told[2].endswith(f"commit {commit}") and told[3].endswith("/tasuki/bin/mpiexec")
    assert "-lmpi_abi" in told[4] and told[5] == told[2].replace("mpiexec", "tasuki")
    assert told[6].endswith("/MPI_Send.3tasuki.gz")
    inside(debian, f"apt-get purge -y {' '.join(PACKAGES)}")
    assert files(debian) - before == set()


@pytest.mark.skipif(not LONG, reason="builds everything: TASUKI_TEST_LONG=1")
@pytest.mark.timeout(3600)
def test_the_packages_and_other_mpis_stand_beside_each_other(packages, debian):
    """No file is in two packages, update-alternatives gives the names to each in turn, and back."""
    install = "apt-get update && apt-get install -y --no-install-recommends"
    inside(debian, f"{install} {' '.join(OTHERS)}")
    before = files(debian)
    (debian / "root/library.c").write_text(LIBRARY)
    (debian / "root/chosen.sh").write_text(CHOSEN)
    install_packages(debian, packages[0])
    others = {"mpich": "MPICH", "openmpi": "Open "}
    for mpi, name in [("auto", "Open "), *others.items(), ("tasuki", "Tasuk"), *others.items()]:
        told = inside(debian, f"sh /root/chosen.sh {mpi}").splitlines()
        assert told == [f"sum 6 by {name}", f"sum 1 by {name}"], mpi
    inside(debian, "sh /root/chosen.sh tasuki")
    inside(debian, f"apt-get purge -y {' '.join(PACKAGES)}")
    assert files(debian) - before == set()
    told = inside(debian, "sh /root/chosen.sh auto").splitlines()
    assert told == ["sum 6 by Open ", "sum 1 by Open "]
