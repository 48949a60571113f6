"""The heap that mpiexec --heap puts under a program: malloc keeps its promises, whatever it gives."""

import pytest


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_malloc_keeps_its_promises_on_global_memory(mpiexec, build, ranks):
    done = mpiexec("-n", ranks, "--heap=global", build("heap.c"), "global")
    assert done.returncode == 0, done.text
    places = {line.split()[-1] for line in done.stdout.splitlines() if line.startswith("heap: right")}
    assert len(places) == ranks, f"each rank has a symmetric heap of its own address: {done.text}"


def test_malloc_keeps_its_promises_on_private_memory(mpiexec, build):
    done = mpiexec("-n", 2, "--heap=private", build("heap.c"), "private")
    assert done.returncode == 0, done.text
    assert done.stdout.count("heap: right") == 2, done.text


@pytest.mark.parametrize(
    "script", ["exec $0 global", "$0 global; exit $?", "exec nice sh -c 'exec $0 global' $0"]
)
def test_shells_around_a_rank_have_symmetric_heaps_of_their_own(mpiexec, build, script):
    done = mpiexec("-n", 2, "--heap=global", "sh", "-c", script, build("windows.c"))
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text


def test_a_rank_whose_heap_is_private_reaches_those_whose_is_not(mpiexec, build):
    program = build("windows.c")
    done = mpiexec(
        "-n",
        1,
        "-env",
        "TASUKI_HEAP",
        "private",
        program,
        ":",
        "-n",
        2,
        "-env",
        "TASUKI_HEAP",
        "global",
        program,
        timeout=300,
    )
    assert done.returncode == 0, done.text
    assert done.stdout.count("windows: right") == 1, done.text


def test_a_limit_of_file_sizes_makes_the_heap_private(mpiexec, build):
    script = "ulimit -f 1000000; exec $0 private"
    done = mpiexec("-n", 2, "--heap=global", "sh", "-c", script, build("heap.c"))
    assert done.returncode == 0, done.text
    assert done.stdout.count("heap: right") == 2, done.text
