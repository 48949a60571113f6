"""Every build that docs/install.md allows ("What a build may lack") is the same to a program.

Each passes the quick tests, which are those of QUICK in tests/ranks, and mpi4py's suite. What a tree lacks it
says itself (mpiexec --info); tests that need it are skipped with that sentence.

It builds much, so only `make test-long` (TASUKI_TEST_LONG=1) runs it. TASUKI_TEST_VARIANTS="bare clang" names
some of the variants.
"""

from __future__ import annotations

import filecmp
import json
import os
import pathlib
import subprocess
import sys

import pytest
from test_install import PREFIX, ROOT, done, output

sys.path.insert(0, str(ROOT / "tests/abi"))
import record  # noqa: E402

# What --info calls it: how it is left out.
OPTIONAL = {
    "libfabric": "-DTASUKI_WITH_FABRIC=OFF",
    "PMIx": "-DTASUKI_WITH_PMIX=OFF",
    "liburing": "-DTASUKI_WITH_URING=OFF",
    "libdw": "-DTASUKI_WITH_LIBDW=OFF",
    "SimGrid": "-DTASUKI_WITH_SIMGRID=OFF",
    "SPAM": "-DTASUKI_SPAM=OFF",
}
CLANG = ["-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"]
# Name: options of cmake, and what the tree lacks by them.
VARIANTS = {
    "bare": ([*OPTIONAL.values(), "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON"], set(OPTIONAL)),
    "clang": ([*CLANG, "-DTASUKI_SPAM=OFF"], {"SPAM"}),
    "wheel": (["-DSKBUILD=ON", "-DTASUKI_SPAM=OFF"], {"SPAM"}),
    **{f"no-{name}": ([option], {name}) for name, option in OPTIONAL.items()},
}
CHOSEN = os.environ.get("TASUKI_TEST_VARIANTS", "").split() or list(VARIANTS)

# Of tests/ranks. "bare" and "clang" run all of them.
QUICK = (
    "basics requests corners sessions windows accumulates file_requests nodes fabric launchers doctor info"
)
# Other folders of tests, which "bare" runs: each of them needs some part that it lacks.
FOLDERS = "faults fortran hosts programs spam suite tuning wrong"

# Files that may be missing, or differ, and by what.
MAY_DIFFER = {
    "libexec/tasuki-source-lines": "libdw",
    "libexec/tasuki/tasuki-simulate": "SimGrid",
    "bin/spam": "SPAM",
    "libexec/tasuki/spam": "SPAM",
    "lib/tasuki/python/spam": "SPAM",
    "share/tasuki/spam": "SPAM",
}
# Parts of a tree that are text: the same in each.
SAME = (
    "include share/tasuki/modules bin/mpicc bin/mpicxx bin/mpifort lib/pkgconfig lib/cmake "
    "libexec/tasuki/fortran-modules"
).split()

pytestmark = [
    pytest.mark.skipif(os.environ.get("TASUKI_TEST_LONG") != "1", reason="builds much: TASUKI_TEST_LONG=1"),
    pytest.mark.timeout(7200),
    pytest.mark.parametrize("variant", CHOSEN, scope="module"),
]


def run(*words, **environment):
    ended = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-6000:]
    return ended.stdout


@pytest.fixture(scope="module")
def prefix(variant):
    """The variant's tree. No compiler for Fortran is found while it is built."""
    options, _ = VARIANTS[variant]
    build = ROOT / "build" / f"variant-{variant}"
    tree = build / "prefix"
    if variant == "wheel":  # pip unpacks the data of a wheel into the prefix of its environment
        options = [*options, f"-DSKBUILD_DATA_DIR={tree}"]
    configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_INSTALL_LIBDIR=lib", *options]
    run(*configure, "-DTASUKI_BUILD_TESTS=OFF", f"-DTASUKI_PYTHON={sys.executable}", FC="/nowhere/fortran")
    run("cmake", "--build", build, "-j", os.environ.get("TASUKI_TEST_JOBS", os.cpu_count() or 1))
    run("cmake", "--install", build, "--prefix", tree)
    return tree


def lacks(tree):
    info = json.loads(output(tree / "bin/mpiexec", "--info=json"))
    return {row["name"] for row in info["left_out"]}


def files_of(tree):
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}


def test_it_says_what_it_lacks(prefix, variant):
    assert lacks(prefix) == VARIANTS[variant][1]
    table = output(prefix / "bin/mpiexec", "--info").split("What this build was made without\n")[1]
    for name in VARIANTS[variant][1] or {"nothing"}:
        assert f"\n  {name} " in f"\n{table}"


def test_what_it_lacks_is_told_when_it_is_asked_for(prefix, tmp_path):
    """By one sentence. (tests/ranks skip, by these sentences, the tests that need it.)"""
    program = tmp_path / "program"
    (tmp_path / "program.c").write_text(
        "#include <mpi.h>\nint main(int n, char** v) { MPI_Init(&n, &v); return MPI_Finalize(); }\n"
    )
    output(prefix / "bin/mpicc", tmp_path / "program.c", "-o", program)
    over = done(prefix / "bin/mpiexec", "-n", "2", "--nodes", "2", "--network", "fabric", program)
    joined = done(program, PMIX_NAMESPACE="job", PMIX_RANK="0", PMIX_SERVER_URI41="nowhere")
    lacked = lacks(prefix)
    assert ("was built without libfabric's headers" in over.stderr) == ("libfabric" in lacked)
    assert ("was built without PMIx" in joined.stderr) == ("PMIx" in lacked)


def test_programs_see_the_same_tree(prefix, variant):
    """The same files but for what it lacks; the same headers, wrappers, and symbols of the libraries."""
    lacked = VARIANTS[variant][1]
    if variant != "wheel":
        missing = {name for name in files_of(PREFIX) - files_of(prefix) if "modules/" not in name}
        starts = tuple(start for start, by in MAY_DIFFER.items() if by in lacked)
        explained = {name for name in missing if name.startswith(starts)}
        assert missing == explained
    for name in SAME:
        for file in sorted(files_of(PREFIX / name) if (PREFIX / name).is_dir() else [""]):
            path = pathlib.Path(name) / file
            assert filecmp.cmp(PREFIX / path, prefix / path, shallow=False), path
    assert record.records(prefix) == record.records(PREFIX)


def run_tests(prefix, *chosen):
    environment = {name: value for name, value in os.environ.items() if name != "TASUKI_TEST_LONG"}
    environment["TASUKI_TEST_PREFIX"] = str(prefix)
    options = ["-q", "-rs", "-p", "no:cacheprovider", "--timeout", "600"]
    words = [sys.executable, "-m", "pytest", *options, *chosen]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-8000:] + ended.stderr[-2000:]
    print(ended.stdout[-4000:])  # what was skipped, and why


def test_the_quick_tests(prefix, variant):
    tests = ROOT / "tests"
    if variant in ("bare", "clang"):
        run_tests(prefix, tests / "ranks")
        for folder in FOLDERS.split() if variant == "bare" else []:
            run_tests(prefix, tests / folder)
    else:
        run_tests(prefix, *(tests / f"ranks/test_{name}.py" for name in QUICK.split()))


def test_mpi4py(prefix, variant):
    words = [sys.executable, ROOT / "tests/conformance/run.py", "--prefix", prefix, "--quick"]
    told = run(*words, "--out", ROOT / "build" / f"variant-{variant}" / "conformance")
    assert " 0 failed" in told
