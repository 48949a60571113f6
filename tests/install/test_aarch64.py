"""The library for aarch64: built by a cross compiler, and run by qemu-user: unit tests, and the rank tests
with an mpiexec of that processor too.

The rank tests find a tree whose wrappers compile for aarch64. What they compile, and mpiexec, begins with a
line that has under_qemu.c run it. qemu keeps the order of stores that this machine has: why the weaker one of
aarch64 is enough stands in docs/design/machine.md. Only `make test-long` (TASUKI_TEST_LONG=1) builds this.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from test_install import PREFIX, ROOT, output

ROOT_ARM64 = ROOT / "build/arm64"
BUILD = ROOT / "build/aarch64"
TREE = BUILD / "tree"
UNITS = ["unit_node", "unit_memory", "unit_heap", "unit_reduction", "unit_datatype"]
QEMU = ["qemu-aarch64", "-L", ROOT_ARM64]
SLOWER = 10  # than without qemu: so many times the time limits

# Random types take minutes under qemu, which takes MAP_FIXED_NOREPLACE for a wish.
UNITS_WITHOUT = "--gtest_filter=-RandomTypes.*:HeapFacts.AddressesThatAreInUseAreThere"

# Of tests/ranks: the file, and which of its tests: such that need neither many minutes nor /proc/self/maps,
# which qemu makes up. And of few ranks: qemu keeps 18 bytes for each page of a mapping, so a symmetric heap
# that a rank maps costs it 1 to 2 % of the machine's memory, and 8 ranks with 8 heaps have too little.
RANKS = {
    "basics": "2 or 4",
    "requests": "2 or 4",
    "sessions": "2 or 4",
    "file_requests": "2 or 4",
    "corners": "2",
    "accumulates": "every_granularity and 300-2",
    "windows": "every_flavor and (1 or 2) or global-2 or over_nodes and 2-2 or dies and 3",
    "nodes": "slot-4-2 or node-2-2 or 2-2-exchange or 2-2-collectives or cross or spawned or another_node",
    "threads": "1-6 or 2-4 or granted and 3 or mutex and 1 or accumulate and 2",
    "mixture": "mixtures and (2 or reaches)",
}

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("TASUKI_TEST_LONG") != "1", reason="builds everything: TASUKI_TEST_LONG=1"
    ),
    pytest.mark.timeout(5400),
]


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="module", autouse=True)
def built():
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DTASUKI_ARM64_ROOT={ROOT_ARM64}"]
    configure += ["--toolchain", ROOT / "cmake/aarch64-linux-gnu.cmake", "-DTASUKI_SPAM=OFF"]
    build = ["cmake", "--build", BUILD, "--target", "mpi_abi", "mpi_mpich", "mpiexec", "tasuki_heap", *UNITS]
    for words in ([ROOT / "tools/fetch-arm64", ROOT_ARM64], configure, build):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def tree():
    """bin, include and lib, as tests/ranks expect them. Programs stay: those tests compile each once."""
    for folder in ("bin", "programs"):
        (TREE / folder).mkdir(parents=True, exist_ok=True)
    for name, target in (("lib", BUILD / "lib"), ("include", PREFIX / "include")):
        (TREE / name).unlink(missing_ok=True)
        (TREE / name).symlink_to(target)
    runner = TREE / "under_qemu"
    static = ["cc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", f'-DSYSROOT="{ROOT_ARM64}"']
    output(*static, ROOT / "tests/install/under_qemu.c", "-o", runner)
    script(TREE / "bin/mpiexec", f"#!{runner} {BUILD}/bin/mpiexec\n")
    for wrapper, compiler in (("mpicc", "gcc"), ("mpicxx", "g++")):
        script(
            TREE / compiler,
            f"""#!/bin/sh
# The compiler; a program that it makes is laid aside, and what runs it put in its place.
set -eu
out= before= runs=yes
for word; do
  [ "$before" != -o ] || out=$word
  case $word in -c | -shared) runs=no ;; esac
  before=$word
done
aarch64-linux-gnu-{compiler} --sysroot={ROOT_ARM64} "$@"
[ "$runs" = yes ] || exit 0
program=$(mktemp {TREE}/programs/XXXXXX)
mv "$out" "$program"
chmod +x "$program"
printf '#!%s %s\\n' {runner} "$program" >"$out"
chmod +x "$out"
""",
        )
        text = (PREFIX / "bin" / wrapper).read_text()
        name = "CC" if wrapper == "mpicc" else "CXX"
        begin, _, rest = text.partition(f"compiler=${{TASUKI_{name}:-")
        assert rest
        script(TREE / "bin" / wrapper, f"{begin}compiler={TREE / compiler}\n{rest.partition(chr(10))[2]}")
    return TREE


@pytest.mark.parametrize("unit", UNITS)
def test_units(unit):
    assert "[  PASSED  ]" in output(*QEMU, BUILD / "tests/unit" / unit, UNITS_WITHOUT)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks(ranks, tmp_path):
    """A little of each part of MPI. Their memory is private: this machine's heap library is not theirs."""
    program = tmp_path / "features"
    library = [f"-L{BUILD}/lib", "-lmpi_abi", f"-Wl,-rpath,{BUILD}/lib"]
    compiler = ["aarch64-linux-gnu-gcc", f"--sysroot={ROOT_ARM64}", "-O1", f"-I{ROOT}/include", "-pthread"]
    output(*compiler, ROOT / "tests/faults/features.c", "-o", program, *library)
    words = [PREFIX / "bin/mpiexec", "-n", str(ranks), *QEMU, program, tmp_path, "childless"]
    assert output(*words, TASUKI_HEAP="private") == "right"


@pytest.mark.parametrize("name", RANKS)
def test_rank_tests(name, tree):
    path = ROOT / f"tests/ranks/test_{name}.py"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "3000", path]
    environment = {**os.environ, "TASUKI_TEST_PREFIX": str(tree), "TASUKI_TEST_SLOWER": str(SLOWER)}
    environment.pop("TASUKI_TEST_LONG")
    done = subprocess.run(
        [*words, "-k", RANKS[name]], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-6000:] + done.stderr
