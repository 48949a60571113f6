"""The interface of compiled programs is held: the libraries' symbols, and the constants, layouts and
functions of the headers, are those that tests/abi/record.json.xz has. On purpose: `make record-abi`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import record

DEFINED = """\
#include <mpi.h>
int MPI_Init(int* argc, char*** argv) { return MPI_SUCCESS; }
int PMPI_Init(int* argc, char*** argv) { return MPI_SUCCESS; }
int tasuki_number[3] = {1, 2, 3};
"""


@pytest.fixture(scope="module")
def now():
    return record.records(record.PREFIX)


@pytest.mark.parametrize("name", sorted(record.recorded()))
def test_the_interface_is_the_recorded_one(now, name):
    assert not record.differences(name, record.recorded()[name], now[name]), "run make record-abi"


def test_everything_is_recorded(now):
    assert set(record.recorded()) == set(now)


def test_no_library_asks_programs_for_a_version_of_a_symbol(now):
    """A program that was linked with a version would refuse another library of the same ABI."""
    symbols = [line.split()[0] for name, lines in now.items() if ".so" in name for line in lines]
    assert len(symbols) > 5000 and not [symbol for symbol in symbols if "@" in symbol]


def test_what_a_change_does_to_programs_is_told(tmp_path):
    """In a made tree: a symbol lost, a variable that grew, a constant and a field that moved."""
    library = tmp_path / "library.so"
    for text in (DEFINED, re.sub("int PMPI.*\n", "", DEFINED).replace("[3]", "[4]")):
        (tmp_path / "some.c").write_text(text)
        include = f"-I{record.PREFIX / 'include'}"
        words = ["gcc", "-shared", "-fPIC", include, str(tmp_path / "some.c"), "-o", str(library)]
        subprocess.run(words, check=True)
        if text is DEFINED:
            before = record.symbols_of(library)
    told = record.differences("library.so", before, record.symbols_of(library))
    assert "gone from library.so, programs break: MPI_Init function, with P function" in told
    assert "new in library.so: tasuki_number data of 16 bytes" in told

    tree = tmp_path / "tree"
    for folder in ("include", "share/tasuki/modules"):
        (tree / folder).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", record.PREFIX / folder, tree / folder], check=True)
    before = record.interface_of(record.PREFIX, "standard")
    assert record.interface_of(tree, "standard") == before
    change(tree / "include/mpi.h", "  int MPI_SOURCE;\n  int MPI_TAG;", "  int MPI_TAG;\n  int MPI_SOURCE;")
    change(
        tree / "include/mpi.h",
        "#define MPI_COMM_WORLD ((MPI_Comm)257)",
        "#define MPI_COMM_WORLD ((MPI_Comm)1)",
    )
    change(
        tree / "include/mpi.h", "int MPI_Barrier(MPI_Comm comm);", "int MPI_Barrier(MPI_Comm comm, int tag);"
    )
    change(tree / "include/mpif.h", "(MPI_COMM_WORLD=257)", "(MPI_COMM_WORLD=1)")
    told = record.differences("standard", before, record.interface_of(tree, "standard"))
    for line in (
        "field MPI_Status.MPI_TAG at 4 of 4 bytes",
        "constant MPI_COMM_WORLD ((MPI_Comm)257)",
        "function MPI_Barrier int (MPI_Comm)",
        "mpif.h MPI_COMM_WORLD=257",
    ):
        assert f"gone from standard, programs break: {line}" in told, told


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{path} has no {old}"
    path.write_text(text.replace(old, new, 1))
