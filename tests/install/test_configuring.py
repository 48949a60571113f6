"""What cmake says while it configures: another C library than glibc, or a Python without what bindgen needs,
is refused by one sentence, and what a machine lacks is left out and named."""

import re
import subprocess

from test_install import ROOT

# As where it is not installed: what CMake finds, and what is said then. libdw, toml++ and SimGrid are found
# by pkg-config.
LACKING = {
    "PkgConfig": ["libdw: not found by pkg-config ", "SimGrid: not found by pkg-config "],
    "OpenMP": ["there is no reference application"],
    "HDF5": ["SPAM: OpenMP, TOMLPLUSPLUS, HDF5 not found with "],
    "GTest": ["GTest: not found (libgtest-dev); the unit tests are left out"],
}

REQUIREMENTS = (ROOT / "tools/requirements-build.txt").read_text()
PINNED = re.search(r"^pympistandard==(\S+)$", REQUIREMENTS, re.M)[1]


def configure(build, *options):
    words = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *options]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_another_c_library_is_refused(tmp_path):
    (tmp_path / "features.h").write_text("/* that of musl defines no name of the library */\n")
    compiler = tmp_path / "musl-gcc"
    compiler.write_text(f'#!/bin/sh\nexec cc -isystem {tmp_path} "$@"\n')
    compiler.chmod(0o755)
    done = configure(tmp_path / "build", f"-DCMAKE_C_COMPILER={compiler}")
    told = " ".join(done.stderr.split())
    assert done.returncode != 0, done.stdout
    assert f"Tasuki needs glibc. {compiler} compiles for another C library, as musl's does" in told


def test_a_python_without_the_package_of_bindgen_is_refused(tmp_path):
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\nexec /usr/bin/python3 -I -S "$@"\n')
    python.chmod(0o755)
    done = configure(tmp_path / "build", f"-DPython3_EXECUTABLE={python}")
    told = " ".join(done.stderr.split())
    assert done.returncode != 0, done.stdout
    assert f"No Python 3 with pympistandard {PINNED} was found (tried {python}): run pip install" in told


def test_every_way_to_build_has_the_same_package_of_bindgen():
    assert f'"pympistandard=={PINNED}"' in (ROOT / "pyproject.toml").read_text()
    spack = ROOT / "packaging/spack/packages"
    assert f'"py-pympistandard@{PINNED}"' in (spack / "tasuki/package.py").read_text()
    assert f'version("{PINNED}"' in (spack / "py-pympistandard/package.py").read_text()


def test_what_a_machine_lacks_is_left_out_and_named(tmp_path):
    done = configure(tmp_path / "build", *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in LACKING))
    assert done.returncode == 0, done.stderr
    for told in sum(LACKING.values(), []):
        assert told in done.stdout
    left_out = (tmp_path / "build/left_out.hpp").read_text()  # what mpiexec --info says
    named = set(re.findall(r'{"(\w+)"', left_out))  # and what else this machine may lack
    assert {"libdw", "SPAM", "SimGrid"} <= named, left_out
    rules = (tmp_path / "build/build.ninja").read_text()
    assert "build bin/mpiexec:" in rules and "spam_parts" not in rules
