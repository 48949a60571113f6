"""Random messages in every mode, memory, layout and order of calls, checked byte by byte (stress.cpp)."""

import json
import os
import pathlib

import harness
import pytest
from protocols import PROTOCOLS, WAYS

HERE = pathlib.Path(__file__).resolve().parent
LONG = bool(os.environ.get("TASUKI_TEST_LONG"))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_one_thread_a_rank(stress, ranks):
    stress(ranks, 1)


@pytest.mark.parametrize("ranks, threads", [(1, 4), (2, 3), (4, 2)])
def test_threads(stress, ranks, threads):
    stress(ranks, 1, threads=threads)


@pytest.mark.parametrize("heap", ["global", "private"])
@pytest.mark.parametrize("ranks, spawned", [(1, 1), (2, 2)])
def test_ranks_of_two_jobs(stress, ranks, spawned, heap):
    """Both jobs' symmetric heaps lie at the same addresses: an address of one means nothing in the other."""
    stress(ranks, 1, spawned=spawned, environment={"TASUKI_HEAP": heap})


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name != "default"])
def test_each_protocol(stress, name):
    done = stress(3, 1, environment=PROTOCOLS[name])
    counts = dict(word.split("=") for word in done.stdout.split("ways: ")[1].split("\n")[0].split())
    used = {way for way, count in counts.items() if int(count) > 0}
    wanted, forbidden = WAYS.get(name, (set(), set()))
    assert wanted <= used and not forbidden & used, done.text


@pytest.mark.parametrize("name", ["default", "all written"])
@pytest.mark.parametrize("ranks, one_processor", [(1, False), (2, False), (4, False), (2, True)])
def test_receives_that_are_cancelled(ranks, one_processor, name, seed):
    """On one processor a sender is often stopped between looking for a receive and taking it."""
    program = harness.compile_program(HERE / "cancels.c")
    before = ("taskset", "-c", min(os.sched_getaffinity(0))) if one_processor else ()
    command = (*before, harness.PREFIX / "bin/mpiexec", "-n", ranks, program, seed, 20 if LONG else 1)
    done = harness.run_command(*command, timeout=300, environment=PROTOCOLS[name])
    assert done.returncode == 0 and done.stdout.startswith("right: "), done.text


def test_the_forced_settings_exist():
    done = harness.run_command(harness.PREFIX / "bin/mpiexec", "--info=json")
    assert done.returncode == 0, done.text
    known = {setting["name"] for setting in json.loads(done.stdout)["settings"]}
    wanted = {name for environment in PROTOCOLS.values() for name in environment} - {"TASUKI_NODES"}
    assert wanted <= known, wanted - known


def test_more_ranks_than_processors(stress):
    """All ranks on one processor: a rank that waits must let the one run that it waits for."""
    first = min(os.sched_getaffinity(0))
    stress(8, 2, before=("taskset", "-c", first), bytes_max=1 << 20)
