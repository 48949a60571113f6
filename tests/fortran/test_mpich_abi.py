"""Programs for the MPICH ABI, with libmpifort.so.12: compiled with our modules for that ABI, and by Debian's
MPICH, with its modules and header, by which they refer to names and pass descriptors that gfortran made."""

import re
import shutil
import subprocess

import harness
import pytest
from conftest import HERE, flags_of

LIBRARIES = harness.PREFIX / "lib"
PROGRAMS = HERE / "programs"
GOOD = "all is well"


def good(done):
    return done.returncode == 0 and done.stdout.split("\n")[0].strip() == GOOD and done.stderr == ""


def with_our_modules(flags, source, program):
    """Compiles and links with gfortran and the modules that we install -> Done."""
    tool = harness.PREFIX / "libexec/tasuki/fortran-modules"
    environment = harness.clean_environment({"TASUKI_MODULES_ABI": "mpich"})
    found = subprocess.run(
        [tool, "gfortran"], env=environment, stdout=subprocess.PIPE, check=True, text=True
    ).stdout.strip()
    includes = [f"-I{found}", f"-I{harness.PREFIX}/include/mpich", "-J", program.parent]
    link = [f"-L{LIBRARIES}", f"-L{found}", f"-Wl,-rpath,{LIBRARIES}", "-lmpi_modules"]
    link += ["-l:libmpifort.so.12", "-l:libmpi.so.12"]
    return harness.run_command("gfortran", "-g", *flags, *includes, PROGRAMS / source, "-o", program, *link)


@pytest.mark.parametrize("interface", ["f08", "mpif.h"])
def test_our_modules(mpiexec, tmp_path, interface):
    program = tmp_path / "basics"
    done = with_our_modules(flags_of("gfortran", interface), "basics.F90", program)
    assert done.returncode == 0, done.text
    needed = subprocess.run(["readelf", "-d", program], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert "libmpifort.so.12" in needed and "mpi_abi" not in needed
    for ranks in (1, 3):
        done = mpiexec("-n", ranks, program)
        assert good(done), done.text


def test_every_procedure_in_mpif_h(mpiexec, tmp_path):
    flags = [*flags_of("gfortran", "mpif.h"), "-ffree-line-length-none", "-w"]
    done = with_our_modules(flags, "every.F90", tmp_path / "every")
    assert done.returncode == 0, done.text
    done = mpiexec("-n", 2, tmp_path / "every", environment={"TEST_FILE": tmp_path / "file"})
    assert good(done), done.text


# ----- compiled by Debian's MPICH ---------------------------------------------------------------------------

COMPILED = {
    "basics, f08": ("basics.F90", ["-DUSE_F08"]),
    "basics, mpi": ("basics.F90", ["-DUSE_MPI"]),
    "basics, mpif.h": ("basics.F90", ["-DOLD_MPIF_H"]),
    "callbacks, f08": ("callbacks.F90", ["-DUSE_F08"]),
    "callbacks, mpi": ("callbacks.F90", ["-DUSE_MPI"]),
    "sections": ("sections.F90", []),
}


needs_mpich = pytest.mark.skipif(shutil.which("mpifort.mpich") is None, reason="libmpich-dev is not there")


@needs_mpich
@pytest.mark.parametrize("name", COMPILED)
def test_mpich_s_modules(mpiexec, tmp_path, name):
    """Debian's names of MPICH's libraries are found beside ours."""
    source, flags = COMPILED[name]
    older = "-DMPI_4_0"  # what Debian 12's MPICH knows
    command = ["mpifort.mpich", older, "-O0", "-g", "-w", "-fallow-argument-mismatch", "-J", tmp_path, *flags]
    done = harness.run_command(*command, PROGRAMS / source, "-o", tmp_path / "program")
    assert done.returncode == 0, done.text
    for ranks in (1, 3):
        done = mpiexec("-n", ranks, tmp_path / "program", environment={"TEST_FILE": tmp_path / "file"})
        assert good(done), done.text


# What of MPICH's library no program of its users refers to: its own parts, extensions, drafts of procedures
# that became others, types of CLASS(*) variables; and, of C, statuses of mpi_f08.
NOT_THERE = re.compile(
    r"P?MPIX_.*|p?mpixr?_.*|mpirinit[cf]_.*|MPIR_[CF]_.*|MPIR_F_NeedInit|MPI_F_(ARGVS?_NULL|ERRCODES_IGNORE)"
    r"|.*_delete_error_(class|code|string)_f08_|P?MPI_Status_(c2f08|f082c)|p?mpir?_\w*datatype\w*_c2f.*"
    r"|__mpi_c_interface_.*|__\w+_MOD_(__(copy|def_init|vtab)_.*|mpi_\w+_(c2f|f2c)|mpi_status_\w+_assign_\w+)"
    r"|_init|_fini|PMPI_\w+_FN(_NULL)?|pmpi_\w+_fn(_null)?_*"
)


@needs_mpich
def test_every_name_of_mpich_s_library():
    """Debian's, which is 4.0.2. In the other direction there are more, for there are more procedures."""

    def names(library):
        command = ["nm", "-D", "--defined-only", library]
        lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
        return {line.split()[-1] for line in lines}

    shown = subprocess.run(["mpifort.mpich", "-show"], stdout=subprocess.PIPE, check=True, text=True).stdout
    folder = re.search(r"-L(\S*lib\S*)", shown).group(1)
    ours = names(LIBRARIES / "libmpifort.so.12") | names(LIBRARIES / "libmpi.so.12")
    missing = {name for name in names(f"{folder}/libmpichfort.so") - ours if not NOT_THERE.fullmatch(name)}
    assert missing == set()
