"""The tree installed by parts and below DESTDIR, as those do who make packages, and moved from there."""

from __future__ import annotations

import re
import sys

import pytest
from test_install import ROOT, done, output

RELEASE = ROOT / "build/release"
COMPONENTS = {"runtime", "development", "tools", "spam", "documentation"}

RANKS = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\\n", sum);
  return MPI_Finalize();
}
"""


def install(folder, component):
    """Where the component of a tree for /opt/tasuki is below `folder`."""
    words = ["cmake", "--install", RELEASE, "--prefix", "/opt/tasuki", "--component", component]
    output(*words, DESTDIR=str(folder))
    return folder / "opt/tasuki"


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The parts that programs are compiled with, installed below a DESTDIR and moved away from there."""
    folder = tmp_path_factory.mktemp("destination")
    install(folder, "runtime")
    return install(folder, "development").rename(folder / "moved away")


def test_every_file_belongs_to_a_component():
    rules = "".join(path.read_text() for path in RELEASE.rglob("cmake_install.cmake"))
    assert set(re.findall(r'CMAKE_INSTALL_COMPONENT STREQUAL "(\w+)"', rules)) == COMPONENTS


def test_what_was_installed_below_destdir_and_moved_compiles_and_runs(staged, tmp_path):
    (tmp_path / "sum.c").write_text(RANKS)
    output(staged / "bin/mpicc", tmp_path / "sum.c", "-o", tmp_path / "sum")
    assert str(staged / "lib") in output("readelf", "-d", tmp_path / "sum")
    assert output(staged / "bin/mpiexec", "-n", "3", tmp_path / "sum") == "sum 3"
    assert not (staged / "bin/tasuki").exists() and not (staged / "bin/spam").exists()


def test_programs_need_the_runtime_alone(staged, tmp_path):
    (tmp_path / "sum.c").write_text(RANKS)
    output(staged / "bin/mpicc", tmp_path / "sum.c", "-o", tmp_path / "sum", "-Wl,-rpath,/nowhere")
    runtime = install(tmp_path / "runtime", "runtime")
    assert not (runtime / "include").exists() and not (runtime / "lib/libmpi_abi.so").exists()
    staged_now = staged.rename(staged.with_name("out of reach"))
    try:
        assert output(runtime / "bin/mpiexec", "-n", "2", tmp_path / "sum") == "sum 1"
    finally:
        staged_now.rename(staged)


def test_make_install_names_the_place_and_the_parts():
    words = ["make", "-n", "-C", ROOT, "install", "DESTDIR=/stage", "PREFIX=/opt/tasuki"]
    told = output(*words, "COMPONENTS=runtime tools", MAKEFLAGS="")
    assert "for part in --component=runtime --component=tools" in told
    assert 'DESTDIR="/stage" cmake --install build/release --prefix "/opt/tasuki"' in told


def test_the_tools_tell_the_version_without_their_packages(tmp_path):
    """It is that of the tree's mpiexec, with the commit."""
    folder = tmp_path / "stage"
    install(folder, "runtime")
    tree = install(folder, "tools")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    version = output(tree / "bin/tasuki", "--version", TASUKI_PYTHON=str(python))
    assert version == output(tree / "bin/mpiexec", "--version").replace("mpiexec", "tasuki")
    assert done(tree / "bin/tasuki", "--help", TASUKI_PYTHON=str(python)).returncode == 1
