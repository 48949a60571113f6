"""Programs under valgrind: it sees all memory, finds mistakes, and nothing of ours."""

import harness
import pytest

MEMCHECK = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9"]


@pytest.fixture(autouse=True)
def valgrind_works(needs):
    needs("valgrind", "-q", "--tool=none", "/bin/true")


@pytest.mark.parametrize("abi", ["standard", "mpich"])
def test_memcheck_finds_nothing_in_a_correct_program(mpiexec, compiled, abi):
    done = mpiexec("-n", 2, *MEMCHECK, compiled("exercise.c", "gcc", abi))
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
    assert done.stderr == "", done.text


def test_valgrind_is_seen_behind_other_programs(mpiexec, compiled, told):
    around = ["timeout", "50", "env", "A=B"]
    program = compiled("exercise.c")
    assert told(*around, *MEMCHECK, program) == ("private", "Because valgrind watches the heap.")
    done = mpiexec("-n", 2, *around, *MEMCHECK, program)
    assert done.returncode == 0 and "exercise: right" in done.stdout and done.stderr == "", done.text


def test_valgrind_may_be_started_by_a_script(mpiexec, compiled, script):
    words = " ".join(map(str, [*MEMCHECK, compiled("exercise.c")]))
    done = mpiexec("-n", 2, script, environment={"TOOL_COMMAND": words})
    assert done.returncode == 0 and "exercise: right" in done.stdout and done.stderr == "", done.text


@pytest.mark.parametrize(
    "mistake, words",
    [
        ("overflow", "Invalid write of size 1"),
        ("leak", "3,000 bytes in 1 blocks are definitely lost"),
        ("uninitialised", "depends on uninitialised value"),
    ],
)
def test_memcheck_finds_a_mistake_with_a_message_buffer(mpiexec, compiled, mistake, words):
    done = mpiexec("-n", 2, *MEMCHECK, compiled("exercise.c"), mistake)
    assert done.returncode == 9 and words in done.stderr and "exercise.c:" in done.stderr, done.text


@pytest.mark.parametrize("tool, words", [("helgrind", "Possible data race"), ("drd", "Conflicting")])
def test_threads_that_mpi_guards_are_right_and_a_race_is_found(mpiexec, compiled, tool, words):
    command = ["valgrind", "-q", f"--tool={tool}", "--error-exitcode=9", compiled("threaded.c")]
    done = mpiexec("-n", 2, *command)
    assert done.returncode == 0 and "threaded: right" in done.stdout and done.stderr == "", done.text
    done = mpiexec("-n", 2, *command, "race")
    assert done.returncode == 9 and words in done.stderr and "threaded.c:" in done.stderr, done.text


def test_callgrind_writes_its_profile_of_each_rank(mpiexec, compiled, tmp_path):
    out = f"--callgrind-out-file={tmp_path}/%p.out"
    done = mpiexec("-n", 2, "valgrind", "-q", "--tool=callgrind", out, compiled("exercise.c"))
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
    profiles = list(tmp_path.glob("*.out"))
    assert len(profiles) == 2
    assert all("fn=" in path.read_text() and "MPI_Sendrecv" in path.read_text() for path in profiles)


def test_memory_of_mpi_is_the_programs_own(mpiexec, compiled):
    """MPI_Alloc_mem gives valgrind's memory, so that what is written behind it is found."""
    source = harness.PROGRAMS / "alloc_mem.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(
        "#include <mpi.h>\n"
        "int main(int argc, char** argv) {\n"
        "  char* memory;\n"
        "  MPI_Init(&argc, &argv);\n"
        "  MPI_Alloc_mem(100, MPI_INFO_NULL, &memory);\n"
        "  memory[100] = 1;\n"
        "  MPI_Free_mem(memory);\n"
        "  return MPI_Finalize();\n"
        "}\n"
    )
    done = mpiexec("-n", 2, *MEMCHECK, harness.compile_program(source))
    assert done.returncode == 9 and "Invalid write of size 1" in done.stderr, done.text
