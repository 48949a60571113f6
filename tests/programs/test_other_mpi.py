"""Programs that were built with another MPI library, which they find by RPATH, RUNPATH or LD_LIBRARY_PATH:
mpiexec has them load ours where it has the name that they ask for, and says so in a line where it cannot.

The other libraries are made here: of their MPI only what the program calls, for a job of one rank.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = pathlib.Path(os.environ.get("TASUKI_TEST_PREFIX", ROOT / "build" / "prefix"))

HELLO = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("size %d\\n", size);
  return MPI_Finalize();
}
"""
OTHER = """\
int PMPI_Init(int* argc, char*** argv) { return argc == 0 || argv == 0; }
int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int MPI_Comm_size(int comm, int* size) { return *size = 1, comm == 0; }
int MPI_Finalize(void) { return 0; }
"""
TOOL = """\
#include <mpi.h>
int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
"""
LOADED = """\
#include <string.h>
int main(int argc, char** argv) {
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps))
    if (strstr(line, "/build/libmpi.so.12")) return puts("it") < 0;
"""


def environment(**changes):
    foreign = ("LD_LIBRARY_PATH", "TASUKI_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | changes


def run(*words, **changes):
    command = [str(word) for word in words]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        env=environment(**changes),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines()), done.stderr


def mpiexec(*words, **changes):
    return run(PREFIX / "bin/mpiexec", "-n", 2, *words, **changes)


@pytest.fixture
def other(tmp_path):
    """other(soname) makes a folder with another MPI's library of that name."""

    def make(soname):
        folder = tmp_path / f"other-{soname}"
        folder.mkdir(exist_ok=True)
        (tmp_path / "other.c").write_text(OTHER)
        flags = ["-shared", "-fPIC", f"-Wl,-soname,{soname}"]
        run("gcc", *flags, tmp_path / "other.c", "-o", folder / soname)
        return folder

    return make


@pytest.fixture
def program(tmp_path):
    """program(*words for the linker) compiles HELLO for the MPICH ABI."""

    def make(*words, source=HELLO, name="hello", flags=()):
        (tmp_path / f"{name}.c").write_text(source)
        file = tmp_path / name
        run("gcc", f"-I{PREFIX}/include/mpich", *flags, tmp_path / f"{name}.c", "-o", file, *words)
        return file

    return make


def by(kind, folder, soname):
    """What has a program find a library in a folder by RPATH or RUNPATH."""
    tags = {"RPATH": "--disable-new-dtags", "RUNPATH": "--enable-new-dtags"}[kind]
    return f"-L{folder}", f"-l:{soname}", f"-Wl,{tags},-rpath,{folder}"


@pytest.mark.parametrize("soname", ["libmpi.so.12", "libmpich.so.12"])
@pytest.mark.parametrize("kind", ["RPATH", "RUNPATH"])
def test_ours_is_loaded_where_the_name_fits(other, program, soname, kind):
    hello = program(*by(kind, other(soname), soname))
    assert run(hello) == (["size 1"], ""), "the other library, by itself"
    for heap in ("global", "private"):
        assert mpiexec(f"--heap={heap}", hello) == (["size 2"] * 2, "")


def test_the_variable_is_no_way_round(other, program):
    soname = "libmpi.so.12"
    folder = other(soname)
    hello = program(f"-L{folder}", f"-l:{soname}")
    setting = f"LD_LIBRARY_PATH={folder}"
    assert run("env", setting, hello) == (["size 1"], "")
    assert mpiexec(hello, LD_LIBRARY_PATH=str(folder)) == (["size 2"] * 2, "")
    assert mpiexec("env", setting, hello) == (["size 2"] * 2, "")
    assert mpiexec("-x", setting, hello) == (["size 2"] * 2, "")


def test_libraries_of_a_program_are_looked_at(other, program):
    """The library that needs the MPI is found by the RPATH of the program, or says itself where that is."""
    soname = "libmpi.so.12"
    needs = by("RPATH", other(soname), soname)
    solver = HELLO.replace("main(int argc, char** argv)", "solve(int argc, char** argv)")
    library = program(*needs, source=solver, name="libsolver.so", flags=["-shared", "-fPIC"])
    main = "int solve(int, char**);\nint main(int argc, char** argv) { return solve(argc, argv); }\n"
    hello = program(*by("RUNPATH", library.parent, library.name), source=main)
    assert run(hello) == (["size 1"], "")
    assert mpiexec(hello) == (["size 2"] * 2, "")


@pytest.mark.skipif(shutil.which("mpiexec.hydra") is None, reason="MPICH's mpiexec is not there")
@pytest.mark.parametrize("preloaded", ["", PREFIX / "lib/libtasuki_heap.so"])
def test_mpich_s_mpiexec_starts_what_asks_for_debian_s_name(other, program, preloaded):
    """Which sets nothing: LD_LIBRARY_PATH leads to our library. With the symmetric heap, too."""
    soname = "libmpich.so.12"
    hello = program(*by("RUNPATH", other(soname), soname))
    variables = {"LD_LIBRARY_PATH": f"{PREFIX}/lib", "LD_PRELOAD": str(preloaded)}
    assert run("mpiexec.hydra", "-n", 2, hello, **variables) == (["size 2"] * 2, "")


def test_another_mpi_s_name_is_said_once_with_what_to_do(other, program):
    soname = "libmpi.so.40"
    folder = other(soname)
    hello = program(*by("RUNPATH", folder, soname))
    out, err = mpiexec("env", "A=B", hello)
    assert out == ["size 1"] * 2
    assert err.count("\n") == 1
    assert f"mpiexec: '{hello}' loads {soname} ({folder}/{soname}), another MPI: " in err
    assert f"build it with {PREFIX.resolve()}/bin/mpicc, or start it by the mpiexec of that MPI" in err


def test_an_mpi_inside_of_a_program_is_said(program):
    with_all = program(source=HELLO + OTHER.replace("int comm", "MPI_Comm comm"))
    out, err = mpiexec(with_all)
    assert out == ["size 1"] * 2
    assert re.fullmatch(r"mpiexec: '.*/hello' has another MPI inside \(PMPI_Init\): .*\n", err)
    with_tool = program(f"-L{PREFIX}/lib", "-l:libmpi.so.12", source=HELLO + TOOL, name="traced")
    assert mpiexec(with_tool) == (["size 2"] * 2, ""), "a tool that is linked into the program"


def test_another_build_of_ours_stays(program, tmp_path):
    """One that LD_LIBRARY_PATH names, such as a build with a sanitizer."""
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "libmpi.so.12").write_bytes((PREFIX / "lib/libmpi.so.12").read_bytes())
    source = HELLO.replace("int main(int argc, char** argv) {\n", LOADED)
    hello = program(f"-L{folder}", "-l:libmpi.so.12", source=source)
    assert mpiexec(hello, LD_LIBRARY_PATH=str(folder)) == (["it"] * 2, "")


STREAMS = """\
#include <mpi.h>
#include <stdio.h>
int MPIX_Isend_enqueue(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPIX_Irecv_enqueue(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPIX_Waitall_enqueue(int, MPI_Request*, MPI_Status*);
int main(int argc, char** argv) {
  char text[MPI_MAX_ERROR_STRING];
  int value = 0, length, class, codes[3];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  codes[0] = MPIX_Isend_enqueue(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  codes[1] = MPIX_Irecv_enqueue(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  codes[2] = MPIX_Waitall_enqueue(1, &request, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i) {
    MPI_Error_class(codes[i], &class);
    MPI_Error_string(codes[i], text, &length);
    printf("%d %s\\n", class == MPI_ERR_COMM, text);
  }
  return MPI_Finalize();
}
"""


def test_mpich_s_operations_on_streams_are_refused(program):
    """What refers to them, as PETSc does, starts; there is no communicator that they are for."""
    done = mpiexec(program(f"-L{PREFIX}/lib", "-l:libmpi.so.12", source=STREAMS, name="streams"))
    expected = "expected a communicator with a stream of an accelerator, and Tasuki makes none"
    functions = ["MPIX_Irecv_enqueue", "MPIX_Isend_enqueue", "MPIX_Waitall_enqueue"]
    assert done == (sorted(2 * [f"1 {function}: {expected}" for function in functions]), "")


CXX = "libmpicxx.so.12"


def test_the_name_of_mpich_s_cxx_bindings_is_there(other, program):
    """MPICH's mpicxx links them to each program. What scripts start gets it, too, though it is not seen."""
    folder = other(CXX)
    hello = program("-Wl,--no-as-needed", f"-L{folder}", f"-l:{CXX}", f"-L{PREFIX}/lib", "-l:libmpi.so.12")
    shutil.rmtree(folder)
    assert mpiexec(hello) == (["size 2"] * 2, "")
    assert mpiexec("sh", "-c", hello) == (["size 2"] * 2, "")


def test_other_cxx_bindings_stay(tmp_path, program):
    """Those that a program uses, and finds by its RUNPATH."""
    program(source="int bindings(void) { return 7; }\n", name=CXX, flags=["-shared", "-fPIC"])
    source = HELLO.replace("int main", "int bindings(void);\nint main").replace("%d", "%d %d")
    source = source.replace(", size)", ", size, bindings())")
    uses = by("RUNPATH", tmp_path, CXX)
    hello = program(*uses, f"-L{PREFIX}/lib", "-l:libmpi.so.12", source=source)
    assert mpiexec(hello) == (["size 2 7"] * 2, "")


def test_programs_without_mpi_are_let_alone():
    out, err = mpiexec("--heap=private", "sh", "-c", "echo preloaded: $LD_PRELOAD")
    assert (out, err) == (["preloaded:"] * 2, "")
