"""Wrong calls, and what is said of them: the call, the argument, its value, what was expected, and the line
of the program in Fortran."""

import re

import pytest
from conftest import HERE, flags_of
from harness import place

HAS = "the array section {0} has: {1} elements of 4 bytes, {2} in all"

# What mpi_f08 tells of sections, by the name of the wrong call.
SECTIONS = {
    "count": "MPI_Send: count = 11, which are 44 bytes; expected no more than " + HAS.format("buf", 10, 40),
    "large count": "MPI_Send_c: count = 11, which are 44 bytes; expected no more than "
    + HAS.format("buf", 10, 40),
    "pairs": "MPI_Send: count = 6, which are 48 bytes; expected no more than " + HAS.format("buf", 10, 40),
    "receive": "MPI_Irecv: count = 8, which are 32 bytes; expected no more than " + HAS.format("buf", 7, 28),
    "reduction": "MPI_Allreduce: count = 11, which are 44 bytes; expected no more than "
    + HAS.format("sendbuf", 10, 40),
    "exchange": "MPI_Alltoall: recvcount = 6, which are 24 bytes; expected no more than "
    + HAS.format("recvbuf", 5, 20),
    "put": "MPI_Put: origin_count = 5, which are 20 bytes; expected no more than "
    + HAS.format("origin_addr", 4, 16),
    "write": "MPI_File_write: count = 5, which are 20 bytes; expected no more than "
    + HAS.format("buf", 4, 16),
    "window": "MPI_Win_create: base is an array section, whose 10 elements do not lie in one piece",
    "type": "MPI_Send: datatype has gaps, or is no multiple or part of an element; expected one without",
}
KINDS = {
    "a datatype": (
        "MPI_Comm_size: comm = ",
        "the handle of a valid datatype, expected that of a valid communicator",
    ),
    "a communicator": (
        "MPI_Send: datatype = ",
        "the handle of a valid communicator, expected that of a valid datatype",
    ),
    "an operation": (
        "MPI_Allreduce: op = ",
        "the handle of a valid communicator, expected that of a valid reduction operation",
    ),
}
MISSING = {
    "init": ("MPI_Init: ierror lies at 0x10,", True),
    "missing": ("MPI_Comm_rank: ierror lies at 0x10,", True),
    "impossible": ("MPI_Comm_rank: ierror lies at an impossible address,", True),
    "finalize": ("MPI_Finalize, or a later call: ierror lies at 0x10,", False),
}


def names_the_line(done, which):
    lines = (HERE / "programs/errors.F90").read_text().splitlines()
    line = next(i for i, line in enumerate(lines, 1) if line.endswith(f"! {which}"))
    return re.search(f"; called at {place('errors.F90', line)}", done.stderr)


def wrong(build, mpiexec, compiler, interface, which):
    program = build(compiler, "errors.F90", *flags_of(compiler, interface), "-w")
    return mpiexec("-n", 1, program, which)


@pytest.mark.parametrize("which", SECTIONS)
def test_what_a_section_does_not_hold(build, mpiexec, compiler, which):
    done = wrong(build, mpiexec, compiler, "f08", which)
    assert done.returncode != 0 and SECTIONS[which] in done.stderr, done.text
    assert names_the_line(done, which), done.text


def test_the_communicator_s_error_handler_hears_of_it(build, mpiexec, compiler):
    done = wrong(build, mpiexec, compiler, "f08", "returns")
    assert done.returncode == 0 and done.stdout.strip() == "all is well" and done.stderr == "", done.text


@pytest.mark.parametrize("interface", ["mpi", "mpif.h"])
@pytest.mark.parametrize("which", KINDS)
def test_a_handle_of_another_kind(build, mpiexec, compiler, interface, which):
    done = wrong(build, mpiexec, compiler, interface, which)
    assert done.returncode != 0 and all(part in done.stderr for part in KINDS[which]), done.text
    assert names_the_line(done, which), done.text


def test_an_ierror_that_is_a_constant(build, mpiexec):
    """gfortran puts it where nobody can write; flang passes a copy."""
    done = wrong(build, mpiexec, "gfortran", "mpif.h", "constant")
    assert done.returncode != 0 and "MPI_Barrier: ierror lies at 0x" in done.stderr, done.text
    assert names_the_line(done, "constant"), done.text


@pytest.mark.parametrize("which", MISSING)
def test_an_ierror_that_is_missing(build, mpiexec, compiler, which):
    """An address where nothing lies: what a register may have where the argument is left out."""
    said, has_line = MISSING[which]
    done = wrong(build, mpiexec, compiler, "mpif.h", which)
    assert done.returncode != 0 and said in done.stderr, done.text
    assert "is an argument missing in this call, ierror perhaps" in done.stderr, done.text
    assert not has_line or names_the_line(done, which), done.text


def test_a_fault_of_the_program_s_own_is_not_taken_for_it(build, mpiexec, compiler):
    done = wrong(build, mpiexec, compiler, "mpif.h", "own fault")
    assert done.returncode != 0 and "ierror" not in done.stderr and "signal 11" in done.stderr.lower(), (
        done.text
    )
