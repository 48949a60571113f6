"""The entries of both libraries: all there, nothing else exported, and what they say of bad arguments.

The libraries under test are those of build/prefix, or of $TASUKI_TEST_PREFIX.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bindgen import mpi_functions  # noqa: E402

PREFIX = Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build/prefix"))
LIBRARIES = {"standard": PREFIX / "lib/libmpi_abi.so.1", "mpich": PREFIX / "lib/libmpi.so.12"}
INCLUDE = {"standard": PREFIX / "include", "mpich": PREFIX / "include/mpich"}

# Functions and variables of the MPICH ABI that its programs find under these names.
# What is there for the Fortran libraries: a call's site and advice, which they set, and their errors.
FOR_FORTRAN = {f"tasuki_fortran_{name}" for name in ("site", "hint", "refuse", "unwritable")}
BEYOND_MPI = {"standard": FOR_FORTRAN, "mpich": {"MPIR_Dup_fn", *FOR_FORTRAN}}


def exported(abi: str) -> set[str]:
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARIES[abi]], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines() if " A " not in line}


@pytest.mark.parametrize("abi", LIBRARIES)
def test_every_function_is_exported_under_both_names(abi):
    functions = mpi_functions.functions() + (mpi_functions.removed() if abi == "mpich" else [])
    assert len(functions) == (700 if abi == "mpich" else 690)
    names = {prefix + function.name for function in functions for prefix in ("", "P")}
    assert names - exported(abi) == set()


@pytest.mark.parametrize("abi", LIBRARIES)
def test_nothing_but_mpi_is_exported(abi):
    strange = {name for name in exported(abi) if not name.startswith(("MPI_", "PMPI_", "MPIX_"))}
    assert strange == BEYOND_MPI[abi]


@pytest.mark.parametrize("abi", LIBRARIES)
def test_the_mpi_name_is_weak(abi):
    """A tool defines MPI_Send itself and calls PMPI_Send (MPI 15.2)."""
    listing = subprocess.run(["nm", "-D", LIBRARIES[abi]], capture_output=True, text=True, check=True).stdout
    kinds = {line.split()[-1].split("@")[0]: line.split()[-2] for line in listing.splitlines()}
    assert (kinds["MPI_Send"], kinds["PMPI_Send"]) == ("W", "T")


EXPECTED = """\
MPI_Send: dest = 7, expected 0..0 or MPI_PROC_NULL (communicator MPI_COMM_WORLD, rank 0)
MPI_Send: tag = -5, expected 0..1073741823 (MPI_TAG_UB) (communicator MPI_COMM_WORLD, rank 0)
MPI_Send: count = -1, expected 0 or more (communicator MPI_COMM_WORLD, rank 0)
MPI_Send: buf = NULL, expected the address of 1 elements of MPI_INT (communicator MPI_COMM_WORLD, rank 0)
MPI_Send: datatype = MPI_DATATYPE_NULL, expected a valid datatype (communicator MPI_COMM_WORLD, rank 0)
MPI_Send: datatype = a derived datatype, which is not committed, expected a committed one (communicator \
MPI_COMM_WORLD, rank 0); hint: MPI_Type_commit comes before its first use in communication
MPI_Send: buf = MPI_IN_PLACE, expected an address (communicator MPI_COMM_WORLD, rank 0); hint: it is \
for the buffers of collectives, where the standard allows it
MPI_Send: dest = MPI_ANY_SOURCE, expected 0..0 or MPI_PROC_NULL (communicator MPI_COMM_WORLD, rank 0); \
hint: only a receive takes it
MPI_Send: tag = MPI_ANY_TAG, expected 0..1073741823 (MPI_TAG_UB) (communicator MPI_COMM_WORLD, rank 0); \
hint: only a receive takes it
MPI_Send: count = -2147483648, expected 0 or more (communicator MPI_COMM_WORLD, rank 0); hint: counts \
above 2147483647 need the function whose name ends in _c
MPI_Send_c: count = -1, expected 0 or more (communicator MPI_COMM_WORLD, rank 0)
MPI_Recv: source = -9, expected 0..0, MPI_ANY_SOURCE or MPI_PROC_NULL (communicator MPI_COMM_WORLD, rank 0)
MPI_Bcast: root = 5, expected 0..0 (communicator MPI_COMM_WORLD, rank 0)
success
success
MPI_Allreduce: op = MPI_OP_NULL, expected a valid reduction operation (communicator MPI_COMM_WORLD, rank 0)
MPI_Start: request = MPI_REQUEST_NULL, expected a valid request (rank 0 of MPI_COMM_WORLD)
MPI_Irecv: request = NULL, expected an address (communicator MPI_COMM_WORLD, rank 0)
MPI_Comm_rank: comm = MPI_COMM_NULL, expected a valid communicator (rank 0 of MPI_COMM_WORLD)
MPI_Comm_rank: comm = handle, which is no communicator, expected a valid one (rank 0 of MPI_COMM_WORLD); \
hint: it has been freed, or never existed
MPI_Group_size: group = handle, the handle of a valid communicator, expected that of a valid group (rank 0 \
of MPI_COMM_WORLD)
MPI_Sendrecv: message of 12 bytes from rank 0, tag 0, receive buffer holds 4, expected no more than that \
(communicator MPI_COMM_WORLD, rank 0); hint: count is in elements of datatype; MPI_Probe and MPI_Get_count \
tell how many there are
"""

ENDINGS = {
    "before": "tasuki: MPI_Comm_rank called before MPI_Init; hint: MPI_Init or MPI_Init_thread comes first\n",
    "after": "tasuki: MPI_Comm_rank called after MPI_Finalize; hint: MPI_Finalize comes last\n",
    "twice": "MPI_Init called a second time\n",
    "fatal": "MPI_Comm_rank: comm = MPI_COMM_NULL, expected a valid communicator "
    "(rank 0 of MPI_COMM_WORLD)\n",
}


@pytest.fixture(scope="module", params=LIBRARIES)
def program(request, tmp_path_factory):
    """errors.c, linked against one of the libraries."""
    path = tmp_path_factory.mktemp("errors") / f"errors-{request.param}"
    library = LIBRARIES[request.param]
    command = ["gcc", "-Wall", "-Werror", f"-I{INCLUDE[request.param]}", ROOT / "tests/abi/errors.c"]
    subprocess.run([*command, library, f"-Wl,-rpath,{library.parent}", "-o", path], check=True)
    return path


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI_")}
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=30, env=clean
    )


def test_bad_arguments_give_one_clear_line(program):
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == EXPECTED


@pytest.mark.parametrize("way", ENDINGS)
def test_what_cannot_go_on_ends_with_one_line(program, way):
    done = run(program, way)
    assert done.returncode != 0
    assert done.stderr == ENDINGS[way]
