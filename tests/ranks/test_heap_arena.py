"""The heap that mpiexec --heap puts under a program: malloc keeps its promises, whatever it gives."""

import pytest


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_malloc_keeps_its_promises_on_global_memory(mpiexec, build, ranks):
    done = mpiexec("-n", ranks, "--heap=global", build("heap.c"), "global", timeout=120)
    assert done.returncode == 0, done.text
    places = {line.split()[-1] for line in done.stdout.splitlines() if line.startswith("heap: right")}
    assert len(places) == ranks, f"each rank has an arena of its own address: {done.text}"


def test_malloc_keeps_its_promises_on_private_memory(mpiexec, build):
    done = mpiexec("-n", 2, "--heap=private", build("heap.c"), "private", timeout=120)
    assert done.returncode == 0, done.text
    assert done.stdout.count("heap: right") == 2, done.text
