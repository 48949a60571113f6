"""Programs in Fortran, in its three interfaces, by two compilers and with one library: each checks itself."""

import re
import subprocess

import harness
import pytest
from conftest import COMPILERS, INTERFACES, flags_of, mpifort

RANKS = [1, 2, 3, 4]
GOOD = "all is well"


def good(done):
    return done.returncode == 0 and done.stdout.split("\n")[0].strip() == GOOD and done.stderr == ""


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("interface", INTERFACES)
def test_what_every_program_does(build, mpiexec, compiler, interface, ranks):
    done = mpiexec("-n", ranks, build(compiler, "basics.F90", *flags_of(compiler, interface)))
    assert good(done), done.text


@pytest.mark.parametrize("ranks", RANKS)
def test_sections_of_arrays(build, mpiexec, compiler, ranks, tmp_path):
    program = build(compiler, "sections.F90")
    done = mpiexec("-n", ranks, program, environment={"TEST_FILE": tmp_path / "file"})
    assert good(done), done.text


@pytest.mark.parametrize("threads", [1, 4])
def test_sections_of_many_shapes(build, mpiexec, threads):
    """More of them than the library keeps, and what it keeps is no leak of the program's."""
    program = build("gfortran", "kept_sections.F90", "-fopenmp")
    environment = {"OMP_NUM_THREADS": threads, "TASUKI_CHECK": 3}
    done = mpiexec("-n", 1, program, "many", environment=environment)
    assert good(done), done.text


def test_sections_with_datatypes_of_the_program(build, compiler):
    done = harness.run_command(build(compiler, "kept_sections.F90"), "types")
    assert good(done), done.text


COUNT_TYPES = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static int made;
int PMPI_Type_commit(void **type) {
  ++made;
  return ((int (*)(void **))dlsym(RTLD_NEXT, "PMPI_Type_commit"))(type);
}
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "%d datatypes\\n", made); }
"""


def test_the_datatype_of_a_section_is_made_once(build, compiler, tmp_path):
    source = tmp_path / "count_types.c"
    source.write_text(COUNT_TYPES)
    done = harness.run_command("cc", "-shared", "-fPIC", source, "-o", tmp_path / "count_types.so", "-ldl")
    assert done.returncode == 0, done.text
    program = build(compiler, "kept_sections.F90")
    done = harness.run_command(program, "same", environment={"LD_PRELOAD": tmp_path / "count_types.so"})
    # Of 200 times two sections, and of one in each of two callbacks of MPI_Finalize, the last after the kept
    # ones were freed.
    assert done.returncode == 0 and done.stdout.strip() == GOOD and done.stderr == "4 datatypes\n", done.text


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("interface", INTERFACES)
def test_procedures_that_mpi_calls(build, mpiexec, compiler, interface, ranks):
    done = mpiexec("-n", ranks, build(compiler, "callbacks.F90", *flags_of(compiler, interface)))
    assert good(done), done.text


@pytest.mark.parametrize("ranks", [1, 2])
def test_arguments_that_c_has_otherwise(build, mpiexec, compiler, ranks):
    done = mpiexec("-n", ranks, build(compiler, "more.F90"))
    assert good(done), done.text


def test_names_that_were_removed(build, mpiexec, compiler):
    done = mpiexec("-n", 1, build(compiler, "removed.f", *flags_of(compiler, "mpif.h")))
    assert good(done), done.text


def test_a_program_alone_is_a_job_of_one_rank(build, compiler):
    done = harness.run_command(build(compiler, "basics.F90", *flags_of(compiler, "f08")))
    assert good(done), done.text


@pytest.mark.parametrize("standard", ["f2008", "f2018"])
def test_the_modules_are_standard_fortran(tmp_path, compiler, standard):
    source = tmp_path / "hello.f90"
    source.write_text("program hello\nuse mpi_f08\ncall MPI_Init()\ncall MPI_Finalize()\nend program\n")
    flag = f"-std={standard}" if compiler == "gfortran" else "-pedantic"
    done = mpifort(compiler, flag, source, "-o", tmp_path / "hello")
    assert done.returncode == 0 and "Error" not in done.stderr, done.text


FIND_MPI = """\
cmake_minimum_required(VERSION 3.20)
project(hello Fortran)
find_package(MPI REQUIRED COMPONENTS Fortran)
if(NOT MPI_Fortran_HAVE_F77_HEADER OR NOT MPI_Fortran_HAVE_F90_MODULE OR NOT MPI_Fortran_HAVE_F08_MODULE)
  message(FATAL_ERROR "an interface is missing")
endif()
add_executable(hello hello.f90)
target_link_libraries(hello MPI::MPI_Fortran)
"""


def test_cmake_finds_the_three_interfaces(tmp_path, compiler):
    (tmp_path / "CMakeLists.txt").write_text(FIND_MPI)
    (tmp_path / "hello.f90").write_text(
        "program hello\nuse mpi_f08\ncall MPI_Init()\nprint *, MPI_SUBARRAYS_SUPPORTED\n"
        "call MPI_Finalize()\nend program\n"
    )
    environment = harness.clean_environment({"TASUKI_FC": COMPILERS[compiler], "FC": COMPILERS[compiler]})
    environment["PATH"] = f"{harness.PREFIX}/bin:{environment['PATH']}"
    for command in (
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build"],
        ["cmake", "--build", tmp_path / "build"],
    ):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = harness.run_command(tmp_path / "build/hello", environment=environment)
    assert done.returncode == 0 and done.stdout.split() == ["T"] and done.stderr == "", done.text


@pytest.mark.parametrize("package", ["tasuki-fort", "mpi-fort"])
def test_pkg_config(mpiexec, tmp_path, compiler, package):
    source = tmp_path / "hello.f90"
    source.write_text(
        "program hello\nuse mpi_f08\nuse mpi, only: MPI_2REAL\nlogical :: flag\ncall MPI_Init()\n"
        "call MPI_Initialized(flag)\nprint *, flag\ncall MPI_Finalize()\nend program\n"
    )
    assert mpifort(compiler, "-show", source).returncode == 0  # makes the modules
    fc = f"--define-variable=fc={COMPILERS[compiler]}"
    environment = harness.clean_environment({"PKG_CONFIG_PATH": harness.PREFIX / "lib/pkgconfig"})
    found = harness.run_command("pkg-config", fc, "--cflags", "--libs", package, environment=environment)
    assert found.returncode == 0, found.text
    done = harness.run_command(COMPILERS[compiler], source, "-o", tmp_path / "hello", *found.stdout.split())
    assert done.returncode == 0, done.text
    done = mpiexec("-n", 1, tmp_path / "hello")
    assert done.returncode == 0 and done.stdout.split() == ["T"] and done.stderr == "", done.text


def test_a_wrong_argument_does_not_compile(tmp_path, compiler):
    source = tmp_path / "wrong.f90"
    source.write_text(
        "program wrong\nuse mpi_f08\ninteger :: i\ncall MPI_Comm_rank(MPI_INTEGER, i)\nend program\n"
    )
    done = mpifort(compiler, "-c", source, "-o", tmp_path / "wrong.o")
    assert done.returncode != 0 and re.search("no specific|type mismatch", done.stderr, re.IGNORECASE), (
        done.text
    )


def test_an_error_names_the_line_of_the_program(mpiexec, tmp_path, compiler):
    source = tmp_path / "wrong.f90"
    source.write_text(
        "program wrong\nuse mpi_f08\ninteger :: i\ncall MPI_Init()\n"
        "call MPI_Send(i, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD)\nend program\n"
    )
    assert mpifort(compiler, "-g", source, "-o", tmp_path / "wrong").returncode == 0
    done = mpiexec("-n", 1, tmp_path / "wrong")
    assert done.returncode != 0
    where = harness.place("wrong.f90", 5)
    assert re.search(f"MPI_Send: count = -1, expected 0 or more .*; called at {where}", done.stderr), (
        done.text
    )


def test_the_doctor_names_the_line_of_the_program(mpiexec, tmp_path, compiler):
    source = tmp_path / "waits.f90"
    source.write_text(
        "program waits\nuse mpi_f08\ninteger :: i\ncall MPI_Init()\n"
        "call MPI_Recv(i, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)\nend program\n"
    )
    assert mpifort(compiler, "-g", source, "-o", tmp_path / "waits").returncode == 0
    done = mpiexec("--timeout", 2, "-n", 1, tmp_path / "waits")
    assert re.search(f"MPI_Recv .* at {harness.place('waits.f90', 5)}", done.stderr), done.text


def test_modules_go_to_the_cache_where_the_tree_cannot_be_written(tmp_path):
    """The tool with a tree in which there is no place for them: a file stands in the folder's place."""
    prefix = tmp_path / "prefix"
    for folder in ("libexec/tasuki", "share/tasuki", "lib/tasuki"):
        (prefix / folder).mkdir(parents=True)
    tool = prefix / "libexec/tasuki/fortran-modules"
    tool.write_bytes((harness.PREFIX / "libexec/tasuki/fortran-modules").read_bytes())
    tool.chmod(0o755)
    (prefix / "share/tasuki/modules").symlink_to(harness.PREFIX / "share/tasuki/modules")
    (prefix / "lib/tasuki/modules").write_text("")
    environment = harness.clean_environment({"XDG_CACHE_HOME": tmp_path / "cache"})
    done = harness.run_command(tool, "gfortran", environment=environment)
    assert done.returncode == 0 and done.stdout.startswith(f"{tmp_path}/cache/tasuki/modules/"), done.text
    assert harness.run_command(tool, "gfortran", environment=environment).stdout == done.stdout
    absent = harness.run_command(tool, "no-such-compiler", environment=environment)
    assert absent.returncode == 127 and "'no-such-compiler' is not there" in absent.stderr, absent.text
