"""The installed tree as its users meet it: compiler wrappers, pkg-config, CMake, and a prefix that was moved.

The tree is build/prefix, or what TASUKI_TEST_PREFIX names. Nothing is run under mpiexec here: a program
started on its own is a job of one rank.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/ranks"))

import harness  # noqa: E402

PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix"))

HELLO = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int size = 0;
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("size %d\\n", size);
  return MPI_Finalize();
}
"""

FIND_MPI = """\
cmake_minimum_required(VERSION 3.20)
project(hello C CXX)
find_package(MPI 5 REQUIRED)
add_executable(c hello.c)
target_link_libraries(c MPI::MPI_C)
add_executable(cxx hello.cpp)
target_link_libraries(cxx MPI::MPI_CXX)
file(WRITE ${CMAKE_BINARY_DIR}/mpiexec "${MPIEXEC_EXECUTABLE}")
"""

FIND_TASUKI = """\
cmake_minimum_required(VERSION 3.20)
project(hello C CXX)
find_package(Tasuki 0.1 REQUIRED)
add_executable(c hello.c)
target_link_libraries(c Tasuki::mpi)
find_package(MPI REQUIRED)
add_executable(cxx hello.cpp)
target_link_libraries(cxx MPI::MPI_CXX)
file(WRITE ${CMAKE_BINARY_DIR}/mpiexec "${MPIEXEC_EXECUTABLE}")
"""

PKG_CONFIG = """\
cmake_minimum_required(VERSION 3.20)
project(hello C CXX)
find_package(PkgConfig REQUIRED)
pkg_check_modules(C REQUIRED IMPORTED_TARGET mpi-c)
pkg_check_modules(CXX REQUIRED IMPORTED_TARGET tasuki)
add_executable(c hello.c)
target_link_libraries(c PkgConfig::C)
add_executable(cxx hello.cpp)
target_link_libraries(cxx PkgConfig::CXX)
"""

OWN_VARIABLES = ("TASUKI_", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH")


def environment(**changes: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)} | changes


def done(*command, **changes) -> subprocess.CompletedProcess:
    words = [str(word) for word in command]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=300, env=environment(**changes), check=False
    )


def output(*command, **changes) -> str:
    result = done(*command, **changes)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout.strip()


@pytest.fixture(scope="session", autouse=True)
def installed_tree():
    if not (PREFIX / "bin/mpicc").exists():
        pytest.exit(f"{PREFIX}/bin/mpicc is not there: run `make build` first", returncode=1)


@pytest.fixture
def sources(tmp_path):
    for name in ("hello.c", "hello.cpp"):
        (tmp_path / name).write_text(HELLO)
    return tmp_path


def check_hello(program: pathlib.Path, prefix: pathlib.Path = PREFIX) -> None:
    assert output(program) == "size 1"
    dynamic = output("readelf", "-d", program)
    assert "libmpi_abi.so.1" in dynamic
    loaded = re.search(r"libmpi_abi\.so\.1 => (.*) \(0x", output("ldd", program)).group(1)
    assert os.path.samefile(loaded, prefix / "lib/libmpi_abi.so.1")


def test_tree_is_complete():
    for name in ("bin/mpiexec", "bin/mpirun", "bin/mpicc", "bin/mpicxx", "bin/mpic++", "include/mpi.h",
                 "include/mpich/mpi.h", "lib/libmpi_abi.so", "lib/libmpi_abi.so.1", "lib/libmpi.so.12",
                 "lib/libmpich.so.12", "lib/libmpichfort.so.12", "lib/tasuki/mpicxx/libmpicxx.so.12",
                 "lib/pkgconfig/tasuki.pc", "lib/cmake/Tasuki/TasukiConfig.cmake", "bin/tasuki"):  # fmt: skip
        assert (PREFIX / name).exists(), name
    assert not (PREFIX / "lib/libmpi.so").exists(), "-lmpi must not link the MPICH ABI by accident"


@harness.needs("SPAM")
def test_the_reference_application_is_complete():
    for name in ("bin/spam", "libexec/tasuki/spam-tools", "lib/tasuki/python/spam_tools/__main__.py",
                 "share/tasuki/spam/CMakeLists.txt", "share/tasuki/spam/src/run.cpp",
                 "share/tasuki/spam/examples/paper.toml"):  # fmt: skip
        assert (PREFIX / name).exists(), name


# What the C libraries have for the Fortran libraries.
FOR_FORTRAN = {f"tasuki_fortran_{name}" for name in ("site", "hint", "refuse", "unwritable")}


@pytest.mark.parametrize(
    ("library", "functions", "others"),
    [
        ("libmpi_abi.so.1", 690, FOR_FORTRAN),
        (
            "libmpi.so.12",
            700,
            {
                "MPIR_Dup_fn",
                *FOR_FORTRAN,
                *(f"MPIX_{name}_enqueue" for name in ("Isend", "Irecv", "Waitall")),
                "MPI_F08_STATUSES_IGNORE",
                "MPI_F08_STATUS_IGNORE",
                "MPI_F_STATUSES_IGNORE",
                "MPI_F_STATUS_IGNORE",
                "MPI_T_PVAR_ALL_HANDLES",
                "MPI_UNWEIGHTED",
                "MPI_WEIGHTS_EMPTY",
            },
        ),
    ],
)
def test_library_exports_mpi_and_nothing_else(library, functions, others):
    dynamic = output("readelf", "-d", PREFIX / "lib" / library)
    assert f"soname: [{library}]" in dynamic
    assert "libstdc++" not in dynamic and "RUNPATH" not in dynamic
    symbols = {
        line.split()[-1]
        for line in output("nm", "-D", "--defined-only", PREFIX / "lib" / library).splitlines()
    }
    assert others <= symbols
    names = {symbol for symbol in symbols - others if symbol.startswith("MPI_")}
    assert len(names) == functions
    assert symbols - others - names == {"P" + name for name in names}


def test_mpiexec_tells_its_version_and_commit():
    text = output(PREFIX / "bin/mpiexec", "--version")
    version = re.search(r"project\(tasuki VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    commit = re.fullmatch(rf"mpiexec \(Tasuki\) {re.escape(version)}(?:, commit ([0-9a-f]{{12}}))?", text)
    assert commit, text
    if (ROOT / ".git").exists():
        assert output("git", "-C", ROOT, "cat-file", "-t", commit.group(1)) == "commit"


@pytest.mark.parametrize(("name", "library"), [("mpich", "mpi"), ("mpichfort", "mpifort")])
def test_debian_s_names_lead_to_the_library_beside_them(name, library, tmp_path):
    """Also where another library of that name comes first; who asks for both names has one library."""
    (tmp_path / "empty.c").write_text("int MPI_Init(void) { return 3; }\n")
    for other in ("mpi", "mpifort"):
        soname = f"lib{other}.so.12"
        output("gcc", "-shared", f"-Wl,-soname,{soname}", tmp_path / "empty.c", "-o", tmp_path / soname)
    loaded = output("ldd", PREFIX / f"lib/lib{name}.so.12", LD_LIBRARY_PATH=str(tmp_path))
    for wanted in {library, "mpi"}:
        found = re.search(rf"lib{wanted}\.so\.12 => (.*) \(0x", loaded).group(1)
        assert os.path.samefile(found, PREFIX / f"lib/lib{wanted}.so.12")
    (tmp_path / "both.c").write_text(HELLO)
    names = [f"-l:lib{one}.so.12" for one in (name, library)]
    include, libraries = f"-I{PREFIX}/include/mpich", f"{PREFIX}/lib"
    command = ["gcc", include, tmp_path / "both.c", "-o", tmp_path / "both", "-Wl,--no-as-needed"]
    output(*command, f"-L{libraries}", *names, "-l:libmpi.so.12")
    assert output(tmp_path / "both", LD_LIBRARY_PATH=libraries) == "size 1"
    loaded = output("ldd", tmp_path / "both", LD_LIBRARY_PATH=libraries)
    assert len(re.findall(r"^\s*\S*libmpi\.so\.12 ", loaded, re.M)) == 1


@pytest.mark.parametrize(
    ("wrapper", "source"), [("mpicc", "hello.c"), ("mpicxx", "hello.cpp"), ("mpic++", "hello.cpp")]
)
def test_wrapper_compiles_links_and_runs(wrapper, source, sources):
    output(PREFIX / "bin" / wrapper, sources / source, "-o", sources / "hello")
    check_hello(sources / "hello")
    output(PREFIX / "bin" / wrapper, "-c", sources / source, "-o", sources / "hello.o")
    output(PREFIX / "bin" / wrapper, sources / "hello.o", "-o", sources / "hello2")
    check_hello(sources / "hello2")


def test_moved_tree_still_works(sources):
    moved = sources / "somewhere else"
    shutil.copytree(PREFIX, moved, symlinks=True)
    output(moved / "bin/mpicc", sources / "hello.c", "-o", sources / "hello")
    check_hello(sources / "hello", moved)


def test_wrapper_is_found_through_a_link_in_the_path(sources):
    (sources / "mpicc").symlink_to(PREFIX / "bin/mpicc")
    path = f"{sources}:{os.environ['PATH']}"
    assert output("sh", "-c", "mpicc -showme:incdirs", PATH=path) == str(PREFIX.resolve() / "include")


def test_wrapper_answers_as_mpich_and_open_mpi_users_expect():
    mpicc = PREFIX / "bin/mpicc"
    prefix = PREFIX.resolve()
    compiling, linking = (
        f"-I{prefix}/include",
        f"-L{prefix}/lib -Wl,-rpath,{prefix}/lib -Wl,--enable-new-dtags -ltasuki_heap -lmpi_abi",
    )
    for option in ("-show", "-showme", "--showme", "-link_info", "-link-info"):
        assert output(mpicc, option) == f"cc {compiling} {linking}"
    assert output(mpicc, "-compile_info") == f"cc {compiling}"
    assert output(mpicc, "-show", "-c", "x y.c") == f"cc {compiling} -c 'x y.c'"
    for dashes in ("-", "--"):
        assert output(mpicc, f"{dashes}showme:compile") == compiling
        assert output(mpicc, f"{dashes}showme:link") == linking
        assert output(mpicc, f"{dashes}showme:libs") == "mpi_abi"
    assert output(mpicc, "-showme:version").startswith("mpicc: Tasuki ")
    assert "-lmpi_abi" not in output(mpicc, "-show", "--version")
    assert output(mpicc, "-show", "-o", "x", "x.c").endswith("-lmpi_abi")
    assert "-lmpi_abi" not in output(mpicc, "-show", "-E", "x.c")
    assert "tasuki_heap" not in output(mpicc, "-show", TASUKI_HEAP_LINK="no")


def test_another_compiler_may_be_named():
    mpicc, mpicxx = PREFIX / "bin/mpicc", PREFIX / "bin/mpicxx"
    assert output(mpicc, "-show", "-c", "x.c", TASUKI_CC="ccache gcc-12").startswith("ccache gcc-12 -I")
    assert output(mpicc, "-cc=clang", "-show").startswith("clang -I")
    assert output(mpicxx, "-cxx=clang++", "-show").startswith("clang++ -I")
    failed = done(mpicc, "x.c", TASUKI_CC="no-such-compiler")
    assert failed.returncode == 127
    assert (
        failed.stderr.count("\n") == 1
        and "no-such-compiler" in failed.stderr
        and "TASUKI_CC" in failed.stderr
    )
    unknown = done(mpicc, "-showme:nonsense")
    assert unknown.returncode == 1 and "-showme:nonsense is unknown" in unknown.stderr


def test_wrapper_passes_arguments_on_unchanged(sources):
    (sources / "text.c").write_text("#include <stdio.h>\nint main(void) { return puts(TEXT) < 0; }\n")
    output(
        PREFIX / "bin/mpicc", '-DTEXT="it\'s $HOME, two  blanks"', sources / "text.c", "-o", sources / "text"
    )
    assert output(sources / "text") == "it's $HOME, two  blanks"
    failed = done(PREFIX / "bin/mpicc", sources / "missing.c")
    assert failed.returncode == 1 and "missing.c" in failed.stderr


@pytest.mark.parametrize("how", ["FindMPI", "package", "pkg-config"])
def test_cmake_projects_build_against_the_tree(how, sources):
    text = {"FindMPI": FIND_MPI, "package": FIND_TASUKI, "pkg-config": PKG_CONFIG}[how]
    (sources / "CMakeLists.txt").write_text(text)
    changes = {
        "FindMPI": {"PATH": f"{PREFIX}/bin:{os.environ['PATH']}"},
        "package": {"CMAKE_PREFIX_PATH": str(PREFIX)},
        "pkg-config": {"PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig"},
    }[how]
    built = sources / "built"
    output("cmake", "-S", sources, "-B", built, "-G", "Ninja", **changes)
    output("cmake", "--build", built)
    check_hello(built / "c")
    check_hello(built / "cxx")
    if how != "pkg-config":
        assert os.path.samefile((built / "mpiexec").read_text(), PREFIX / "bin/mpiexec")
