"""Profilers see every call of a program, and none that the library makes itself (MPI 15.2): linked into it or
preloaded, in both ABIs."""

import pytest
from harness import HERE, compile_for_mpich, compile_program

SHARED = ("-shared", "-fPIC")


def expect_counts(done, ranks):
    assert done.returncode == 0, done.text
    sends = sum(1 + rank for rank in range(ranks))
    line = f"profiler: {sends} sends, {2 * ranks} reductions, {2 * ranks} switches"
    assert done.stdout.splitlines() == [line], done.text


@pytest.mark.parametrize("ranks", [1, 3])
def test_without_a_profiler_nothing_is_printed(run, ranks):
    done = run("profiled.c", ranks)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.text


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_linked_profiler_counts(mpiexec, ranks):
    program = compile_program("profiled.c", str(HERE / "profiler.c"))
    expect_counts(mpiexec("-n", ranks, program), ranks)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_preloaded_profiler_counts(mpiexec, ranks):
    profiler, program = compile_program("profiler.c", *SHARED), compile_program("profiled.c")
    expect_counts(mpiexec("-n", ranks, "-x", f"LD_PRELOAD={profiler}", program), ranks)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_profiler_of_the_other_abi_counts(mpiexec, ranks):
    profiler, program = compile_for_mpich("profiler", *SHARED), compile_for_mpich("profiled")
    expect_counts(mpiexec("-n", ranks, "-x", f"LD_PRELOAD={profiler}", program), ranks)
