"""Children of ranks whose heap is global: each has a heap of its own, as after any fork()."""

import os
import sys

import pytest

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
PARTS = ["before", "fork", "threads", "stack", "programs", "no_descriptors", "closed"]


@pytest.mark.parametrize("part", PARTS)
def test_a_child_neither_changes_its_parents_heap_nor_sees_it_change(mpiexec, build, part):
    done = mpiexec("-n", 2, "--heap=global", build("heap_children.c"), part)
    assert done.returncode == 0, done.text
    assert done.stdout.count("children: right") == 2, done.text


@pytest.mark.parametrize("part", PARTS)
def test_the_same_with_a_private_heap(mpiexec, build, part):
    done = mpiexec("-n", 1, "--heap=private", build("heap_children.c"), part)
    assert done.returncode == 0, done.text
    assert done.stdout.count("children: right") == 1, done.text


def test_many_forks(mpiexec, build):
    """One after the other: none leaves anything behind that a later one needs."""
    done = mpiexec("-n", 1, "--heap=global", build("heap_children.c"), "fork", 1000 if LONG else 100)
    assert done.returncode == 0, done.text
    assert done.stdout.count("children: right") == 1, done.text


def test_a_child_without_memory_for_its_copy_ends_with_a_line(mpiexec, build):
    done = mpiexec("-n", 1, "--heap=global", build("heap_children.c"), "no_memory")
    assert done.returncode == 0, done.text
    assert "needs a copy of the heap of process" in done.stderr, done.text
    assert done.stdout.count("children: right") == 1, done.text


PYTHON = """
import multiprocessing, os, subprocess

# The descriptor of the symmetric heap is there: this test is about a global heap.
assert any("tasuki-heap-" in line for line in open("/proc/self/maps"))
state = {"list": list(range(100_000)), "text": "parent"}


def work(number):
    state["list"].append(number)  # the child's own
    state["text"] = "child"
    return number * number, len(state["list"])


def put(queue, shared):
    shared["child"] = os.getpid()
    queue.put([bytes([number % 256]) * number for number in range(500)])


context = multiprocessing.get_context("fork")
with context.Pool(3) as pool:
    squares = pool.map(work, range(50))
assert [square for square, _ in squares] == [number * number for number in range(50)]
with context.Manager() as manager:
    queue, shared = context.Queue(), manager.dict()
    process = context.Process(target=put, args=(queue, shared))
    process.start()
    assert len(queue.get()) == 500
    process.join()
    assert process.exitcode == 0 and shared["child"] == process.pid

pid = os.fork()
if pid == 0:
    state["text"] = "child"
    state["list"].clear()
    made = [object() for _ in range(100_000)]
    os._exit(0 if state["text"] == "child" and len(made) == 100_000 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
much = b"x" * 100_000
assert subprocess.run(["cat"], input=much, stdout=subprocess.PIPE, check=True).stdout == much
assert subprocess.check_output("echo $((6 * 7))", shell=True, preexec_fn=os.getpid) == b"42\\n"
assert os.system("exit 0") == 0 and os.popen("echo yes").read() == "yes\\n"
assert state["text"] == "parent" and state["list"] == list(range(100_000))
print("python: right")
"""


def test_python_makes_children_in_all_its_ways(mpiexec, tmp_path):
    script = tmp_path / "children.py"
    script.write_text(PYTHON)
    done = mpiexec("-n", 2, "--heap=global", sys.executable, script)
    assert done.returncode == 0, done.text
    assert done.stdout.count("python: right") == 2, done.text
