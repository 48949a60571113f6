"""Programs whose INTEGERs have eight bytes, as -fdefault-integer-8 makes them. MPI's have four: with mpif.h
such a program gets as far as with MPICH, with the datatypes that its variables have, and is told what to do
about errors; with the modules it does not compile."""

import re

import harness
import pytest
from conftest import flags_of, mpifort
from test_mpich_abi import with_our_modules

WIDE = "-fdefault-integer-8"
HINT = "hint: the program was compiled with INTEGERs of 8 bytes, MPI's have 4"


@pytest.mark.parametrize("ranks", [1, 3])
def test_mpif_h(build, mpiexec, compiler, ranks):
    program = build(compiler, "wide.F90", *flags_of(compiler, "mpif.h"), WIDE, "-w")
    done = mpiexec("-n", ranks, program)
    assert done.returncode == 0 and done.stdout.strip() == "all is well", done.text
    assert done.stderr.count("INTEGERs of 8 bytes") == 1, done.text


def test_an_array_of_requests_is_told(build, mpiexec, compiler):
    program = build(compiler, "wide.F90", *flags_of(compiler, "mpif.h"), WIDE, "-w")
    done = mpiexec("-n", 1, program, "status")
    assert done.returncode != 0 and "MPI_Waitall: array_of_requests" in done.stderr, done.text
    assert re.search(f"{HINT}.*; called at {harness.place('wide.F90')}", done.stderr), done.text


def test_an_array_of_counts_is_told_once(build, mpiexec, compiler):
    program = build(compiler, "wide.F90", *flags_of(compiler, "mpif.h"), WIDE, "-w")
    done = mpiexec("-n", 3, program, "counts")
    assert done.returncode == 0 and done.stdout.strip() == "all is well", done.text
    told = [line for line in done.stderr.splitlines() if "every second element" in line]
    assert len(told) == 1 and "rank 0: MPI_Scatterv: sendcounts = 1, 0 ..." in told[0], done.text


def test_the_mpich_abi(mpiexec, tmp_path):
    flags = [*flags_of("gfortran", "mpif.h"), WIDE, "-w"]
    done = with_our_modules(flags, "wide.F90", tmp_path / "wide")
    assert done.returncode == 0, done.text
    done = mpiexec("-n", 2, tmp_path / "wide")
    assert done.returncode == 0 and done.stdout.strip() == "all is well" and done.stderr == "", done.text


@pytest.mark.parametrize("module, said", [("mpi", r"INTEGER\((KIND=)?8\)"), ("mpi_f08", "no specific sub")])
def test_the_modules_refuse_at_compile_time(tmp_path, compiler, module, said):
    source = tmp_path / "wide.f90"
    source.write_text(f"program wide\nuse {module}\ninteger :: code\ncall MPI_Init(code)\nend program\n")
    done = mpifort(compiler, WIDE, "-c", source, "-o", tmp_path / "wide.o")
    assert done.returncode != 0 and re.search(said, done.stderr, re.IGNORECASE), done.text


@pytest.mark.parametrize("kinds", ["-fdefault-real-8"])
def test_reals_of_eight_bytes(tmp_path, mpiexec, compiler, kinds):
    source = tmp_path / "reals.f90"
    source.write_text(
        "program reals\nimplicit none\ninclude 'mpif.h'\ninteger :: code, bytes\nreal :: a(2), b(2)\n"
        "a = [1.0, 1e200]\ncall MPI_Init(code)\ncall MPI_Type_size(MPI_REAL, bytes, code)\n"
        "call MPI_Allreduce(a, b, 2, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, code)\n"
        "if (bytes == 8 .and. all(a == b)) print '(a)', 'all is well'\ncall MPI_Finalize(code)\nend program\n"
    )
    done = mpifort(compiler, kinds, "-w", source, "-o", tmp_path / "reals")
    assert done.returncode == 0, done.text
    done = harness.run_command(tmp_path / "reals")
    assert done.returncode == 0 and done.stdout.strip() == "all is well", done.text
