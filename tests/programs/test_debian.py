"""Debian's programs for MPICH compute on our library what they should. They ask for libmpich.so.12."""

import os
import re
import shutil

import pytest

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


def test_netpipe(unpacked, tmp_path):
    """With -i it checks what arrives."""
    packages = unpacked("netpipe-mpich2")
    text = packages.run(2, packages.bin / "NPmpich2", "-i", "-u", 4096, "-n", 2, "-o", tmp_path / "out")
    rows = (tmp_path / "out").read_text().splitlines()
    assert len(rows) > 15 and "fail" not in text.lower(), text


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
