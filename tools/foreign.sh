#!/bin/sh
# tools/foreign.sh BUILD PREFIX: fetches the programs of others that make conformance and make test run.
#   BUILD/mpi4py-4.1.2   the source distribution of mpi4py: its test suite
#   BUILD/mpi4py-abi     mpi4py built from it for the MPI-5.0 standard ABI, by PREFIX/bin/mpicc
#   BUILD/peers/mpich    MPICH, whose headers the tests compare ours with
#   BUILD/imb/IMB-MPI1   the Intel MPI Benchmarks, a program of the MPICH ABI, from the package impi-rt
set -eu
build=$1 prefix=$2
mpi4py=4.1.2 impi=2021.19.0
python=$build/venv/bin/python
downloads=$build/downloads
mkdir -p "$downloads"

# The backend makes no metadata without Cython; build/venv has it, so no environment is made for it.
"$python" -m pip download --no-build-isolation --no-deps --no-binary mpi4py "mpi4py==$mpi4py" -d "$downloads"
tar -xzf "$downloads/mpi4py-$mpi4py.tar.gz" -C "$build"
MPI4PY_BUILD_MPIABI=1 MPICC=$prefix/bin/mpicc CFLAGS=-O0 "$python" -m pip install --no-build-isolation --no-deps \
  --no-cache-dir --upgrade --target "$build/mpi4py-abi" "$downloads/mpi4py-$mpi4py.tar.gz"

PYTHON=$python "$(dirname "$0")/fetch-peers" "$build/peers" mpich

[ "$(uname -m)" = x86_64 ] || exit 0  # impi-rt is for x86-64 only
"$python" -m pip download --no-deps --only-binary :all: "impi-rt==$impi" -d "$downloads"
"$python" - "$downloads" "$build/imb" <<'PYTHON'
import pathlib, sys, zipfile

downloads, target = map(pathlib.Path, sys.argv[1:])
target.mkdir(exist_ok=True)
wheel = zipfile.ZipFile(next(downloads.glob("impi_rt-*.whl")))
member = next(name for name in wheel.namelist() if name.endswith("/bin/IMB-MPI1"))
(target / "IMB-MPI1").write_bytes(wheel.read(member))
(target / "IMB-MPI1").chmod(0o755)
PYTHON
