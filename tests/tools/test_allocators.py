"""Programs with another malloc, preloaded, linked or their own, have it: nothing is freed by a stranger."""

import ctypes.util
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
JEMALLOC = "libjemalloc.so.2"
EXPLAIN = {"TASUKI_EXPLAIN": "1"}


def expect_private(done, words):
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
    told = [line for line in done.stderr.splitlines() if "the heap is" in line]
    assert told and "private" in told[0] and words in told[0], done.text


@pytest.fixture
def jemalloc():
    if ctypes.util.find_library("jemalloc") is None:
        pytest.fail("libjemalloc2 is not installed (tools/packages-debian.txt has it)")
    return JEMALLOC


@pytest.mark.parametrize("how", ["around mpiexec", "by -x", "by env"])
def test_jemalloc_may_be_preloaded(mpiexec, compiled, jemalloc, how):
    preload = f"LD_PRELOAD={jemalloc}"
    words = {"by -x": ["-x", preload], "by env": ["env", preload]}.get(how, [])
    environment = {**EXPLAIN, **({"LD_PRELOAD": jemalloc} if how == "around mpiexec" else {})}
    done = mpiexec("-n", 2, *words, compiled("exercise.c"), environment=environment)
    expect_private(done, "jemalloc")


def test_a_program_may_be_linked_to_jemalloc(mpiexec, compiled, jemalloc, script, told):
    program = compiled("exercise.c", "gcc", "standard", "-Wl,--no-as-needed", f"-l:{jemalloc}")
    assert told(program)[0] == "private" and "jemalloc" in told(program)[1]
    expect_private(mpiexec("-n", 2, program, environment=EXPLAIN), "jemalloc")
    # Now the heap is in front, and steps aside.
    done = mpiexec("-n", 2, script, environment={**EXPLAIN, "TOOL_COMMAND": program})
    expect_private(done, "jemalloc")


@pytest.mark.parametrize("behind_script", [False, True])
def test_a_program_may_have_a_malloc_of_its_own(mpiexec, compiled, told, script, behind_script):
    program = compiled("exercise.c", "gcc", "standard", HERE / "allocator.c")
    assert told(program) == ("private", "Because the program brings a malloc of its own.")
    environment = {**EXPLAIN, "TOOL_COMMAND": program}
    done = mpiexec("-n", 2, script if behind_script else program, environment=environment)
    expect_private(done, "a malloc of its own")


def test_a_library_may_bring_the_malloc(mpiexec, compiled, script):
    """Only the process can tell: the program does not name it, and the heap comes before it."""
    from harness import PROGRAMS, compile_plain

    compile_plain(HERE / "allocator.c", "liballocator.so", "-shared", "-fPIC")
    flags = ("-Wl,--no-as-needed", f"-L{PROGRAMS}", "-l:liballocator.so", f"-Wl,-rpath,{PROGRAMS}")
    done = mpiexec("-n", 2, compiled("exercise.c", "gcc", "standard", *flags), environment=EXPLAIN)
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
