"""The libraries have every procedure of the standard under every name by which compilers call it."""

import subprocess

import harness
import pytest

from bindgen import fortran_functions

PROCEDURES = fortran_functions.procedures()
LIBRARIES = ["libmpifort_abi.so.1", "libmpifort.so.12"]
NO_CODE = {"MPI_Sizeof"}  # has a name by its argument's descriptor only


@pytest.fixture(scope="module", params=LIBRARIES)
def symbols(request):
    command = ["nm", "-D", "--defined-only", harness.PREFIX / "lib" / request.param]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return {line.split()[-1] for line in lines}


def test_there_are_as_many_as_in_the_standard():
    assert len(PROCEDURES) == 434
    assert sum(procedure.f08 is not None for procedure in PROCEDURES) == 429
    assert sum(procedure.large_f08 is not None for procedure in PROCEDURES) == 159


def test_names_of_mpif_h_and_mpi(symbols):
    wanted = set()
    for procedure in PROCEDURES:
        if procedure.f90 is None or procedure.name in NO_CODE:
            continue
        for prefix in ("", "P"):
            name = prefix + procedure.name
            wanted |= {name.lower(), f"{name.lower()}_", f"{name.lower()}__", name.upper()}
    assert wanted - symbols == set()


def test_names_of_mpi_f08(symbols):
    wanted = set()
    for procedure in PROCEDURES:
        if procedure.f08 is None or procedure.f08.returns:
            continue
        for name in (procedure.name.lower(), f"p{procedure.name.lower()}"):
            wanted.add(f"{name}_f08ts_" if procedure.f08.has_buffer else f"{name}_f08_")
            if procedure.large_f08:
                wanted.add(f"{name}_c_f08ts_" if procedure.large_f08.has_buffer else f"{name}_c_f08_")
    assert wanted - symbols == set()


def test_common_blocks_and_variables(symbols):
    blocks = {"mpipriv1_", "mpipriv2_", "mpiprivc_", "mpifcmb5_", "mpifcmb9_", "mpifcmba_"}
    assert blocks <= symbols and "MPIR_F08_MPI_BOTTOM" in symbols


def test_nothing_else_is_exported(symbols):
    known = ("mpi_", "pmpi_", "MPI_", "PMPI_", "MPIR_F08_", "mpipriv", "mpifcmb", "tasuki_")
    if "__mpi_constants_MOD_commeq" in symbols:  # the MPICH ABI: names of MPICH's modules
        known += ("pmpir_", "__mpi_")
    assert {symbol for symbol in symbols if not symbol.startswith(known)} == set()
