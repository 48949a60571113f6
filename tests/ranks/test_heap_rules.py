"""Which heap a program gets and what is said about it; memory that is freed goes back to the system."""

import resource
import shutil
import subprocess

import pytest
from harness import clean_environment

EXPLAIN = ["-x", "TASUKI_EXPLAIN=1"]


def heap_line(text):
    return [line for line in text.splitlines() if line.startswith("tasuki: the heap is")]


def test_private_and_global_are_given_when_asked_for(mpiexec, build):
    program = build("heap_memory.c")
    for heap in ("private", "global"):
        done = mpiexec("-n", 2, f"--heap={heap}", *EXPLAIN, program)
        assert done.returncode == 0, done.text
        assert heap_line(done.stderr) == [f"tasuki: the heap is {heap}, because {heap} was asked for"], (
            done.text
        )


def test_one_rank_alone_has_a_private_heap(mpiexec, build):
    done = mpiexec("-n", 1, *EXPLAIN, build("heap_memory.c"))
    assert done.returncode == 0 and "because the job has one rank" in heap_line(done.stderr)[0], done.text


@pytest.mark.parametrize("limit, name", [("-v", resource.RLIMIT_AS), ("-d", resource.RLIMIT_DATA)])
def test_limits_keep_the_heap_private(mpiexec, build, limit, name):
    if resource.getrlimit(name)[0] != resource.RLIM_INFINITY:
        pytest.fail("this test sets a limit that is set already")
    before = resource.getrlimit(name)
    resource.setrlimit(name, (1 << 40, before[1]))
    try:
        done = mpiexec("-n", 2, *EXPLAIN, build("heap_memory.c"))
    finally:
        resource.setrlimit(name, before)
    assert done.returncode == 0, done.text
    assert f"ulimit {limit}" in heap_line(done.stderr)[0], done.text


@pytest.mark.parametrize("wish, words", [(None, "mpiexec did not start"), ("global", "global was asked for")])
def test_a_program_that_is_linked_to_the_library_needs_no_mpiexec(build, wish, words):
    environment = clean_environment({"TASUKI_EXPLAIN": 1, **({"TASUKI_HEAP": wish} if wish else {})})
    program = build("heap_memory.c")
    done = subprocess.run([program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "memory: right" in done.stdout, done.stderr
    assert words in heap_line(done.stderr)[0], done.stderr


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_keeps_the_heap(mpiexec, build):
    done = mpiexec("-n", 2, *EXPLAIN, "valgrind", "-q", build("ring.c"))
    assert done.returncode == 0 and "the heap is private" in heap_line(done.stderr)[0], done.text


@pytest.mark.parametrize("heap", ["private", "global"])
def test_freed_memory_goes_back(mpiexec, build, heap):
    done = mpiexec("-n", 1, f"--heap={heap}", build("heap_memory.c"))
    assert done.returncode == 0 and "memory: right" in done.stdout, done.text
