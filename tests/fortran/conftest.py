"""The fixtures of the Fortran tests: compilers, and programs built by our mpifort, kept between tests."""

import hashlib
import os
import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks")]

import harness  # noqa: E402

COMPILERS = {"gfortran": "gfortran", "flang": "flang-new-19"}
INTERFACES = {"f08": ["-DUSE_F08"], "mpi": ["-DUSE_MPI"], "mpif.h": []}
# gfortran takes a procedure without an interface for one of one kind of arguments.
MISMATCH = {"gfortran": ["-fallow-argument-mismatch"], "flang": []}


@pytest.fixture(params=COMPILERS)
def compiler(request):
    if shutil.which(COMPILERS[request.param]) is None:
        pytest.skip(f"{COMPILERS[request.param]} is not there")
    return request.param


def flags_of(compiler, interface):
    return [*INTERFACES[interface], *(MISMATCH[compiler] if interface == "mpif.h" else [])]


def mpifort(compiler, *arguments, environment=None):
    """Runs mpifort with that compiler -> Done."""
    command = [harness.PREFIX / "bin/mpifort", f"-fc={COMPILERS[compiler]}", *arguments]
    return harness.run_command(*command, environment=environment)


@pytest.fixture
def build():
    """build(compiler, "basics.F90", *flags) -> path of the program, compiled once."""

    def compile_once(compiler, source, *flags):
        path = HERE / "programs" / source
        libraries = [harness.PREFIX / "lib" / name for name in ("libmpifort_abi.so.1", "libmpi_abi.so.1")]
        of_what = hashlib.sha256(repr((compiler, flags)).encode())
        for file in [*sorted((HERE / "programs").rglob("*.*")), *libraries]:
            of_what.update(file.read_bytes())
        program = harness.PROGRAMS / f"fortran-{path.stem}-{of_what.hexdigest()[:12]}"
        if not program.exists():
            work = program.with_suffix(f".{os.getpid()}")
            work.mkdir(parents=True)
            done = mpifort(compiler, "-g", *flags, "-J", work, path, "-o", work / "program")
            assert done.returncode == 0, done.text
            os.replace(work / "program", program)
            shutil.rmtree(work)
        return program

    return compile_once


@pytest.fixture
def mpiexec():
    """mpiexec(*arguments, …) -> Done."""
    return lambda *arguments, **how: harness.run_command(harness.PREFIX / "bin/mpiexec", *arguments, **how)
