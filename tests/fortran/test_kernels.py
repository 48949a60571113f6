"""The kernels of apps/kernels: what each solves is known in closed form, and it says how far off it is."""

import re

import harness
import pytest
from conftest import mpifort

KERNELS = harness.ROOT / "apps/kernels"
# The command line of a small one.
SMALL = {"cg": [64], "ft": [32, 2], "mg": [32]}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def built(compiler, kernel, folder):
    program = folder / f"{kernel}-{compiler}"
    if not program.exists():
        done = mpifort(compiler, "-O2", "-g", KERNELS / f"{kernel}.f90", "-o", program)
        assert done.returncode == 0 and done.stderr == "", done.text
    return program


def verified(done):
    return done.returncode == 0 and re.search(r"verification right$", done.stdout, re.M) and done.stderr == ""


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("kernel", SMALL)
def test_a_kernel_in_fortran(mpiexec, compiler, folder, kernel, ranks):
    done = mpiexec("-n", ranks, built(compiler, kernel, folder), *SMALL[kernel])
    assert verified(done), done.text


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_the_kernel_in_c(mpiexec, ranks):
    done = mpiexec("-n", ranks, harness.compile_program(KERNELS / "is.c", "-O2"), 14, 3)
    assert verified(done), done.text


@pytest.mark.parametrize("kernel, words", [("ft", [33]), ("mg", [30])])
def test_a_grid_that_does_not_fit_is_refused(mpiexec, folder, kernel, words):
    done = mpiexec("-n", 4, built("gfortran", kernel, folder), *words)
    assert done.returncode == 2 and f"{kernel}: {words[0]} points: expected a" in done.stdout, done.text


def test_a_kernel_that_has_not_converged_says_so(mpiexec, folder):
    done = mpiexec("-n", 2, built("gfortran", "mg", folder), 32, 2)
    assert done.returncode == 1 and "verification wrong" in done.stdout, done.text
