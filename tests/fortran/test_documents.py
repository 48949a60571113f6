"""The programs of docs/fortran.md: in the interface that each is written for, and those with `use mpi` with
mpif.h as well."""

import re

import harness
import pytest
from conftest import MISMATCH, mpifort

TEXT = (harness.ROOT / "docs/fortran.md").read_text()
PROGRAMS = {}
for body in re.findall(r"```fortran\n(program .*?)```", TEXT, re.S):
    name, interface = re.match(r"program (\w+)\n  use (\w+)", body).groups()
    PROGRAMS[f"{name} {interface}"] = body
    if interface == "mpi":
        body = body.replace("  use mpi\n", "").replace(
            "implicit none", "implicit none\n  include 'mpif.h'", 1
        )
        PROGRAMS[f"{name} mpif.h"] = body


def test_each_is_there_in_each_interface():
    wanted = {
        f"{name} {module}" for name in ("hello", "halo", "file") for module in ("mpi_f08", "mpi", "mpif.h")
    }
    assert set(PROGRAMS) == wanted


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_does_what_it_says(mpiexec, tmp_path, compiler, name):
    source = tmp_path / "program.f90"
    source.write_text(PROGRAMS[name])
    flags = [*MISMATCH[compiler], "-w"] if name.endswith("mpif.h") else []
    done = mpifort(compiler, *flags, source, "-o", tmp_path / "program")
    assert done.returncode == 0, done.text
    done = mpiexec("-n", 3, tmp_path / "program", cwd=tmp_path)
    ranks = sorted(line.split()[1] for line in done.stdout.splitlines())
    assert done.returncode == 0 and ranks == ["0", "1", "2"] and done.stderr == "", done.text
