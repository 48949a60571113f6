"""A rank that is killed while others copy from it, to it and together with it: the job ends, and says why.

The ranks exchange messages that take milliseconds each without a pause, so that a moment drawn at random lies
in the middle of one.
"""

import os
import random
import re
import signal
import time

import harness
import pytest
from control_group import control_group
from protocols import PROTOCOLS

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
END_SECONDS_MAX = 120


def kill_one(faults, ranks, megabytes, environment, generator, group=None):
    """Starts a storm, kills one rank in it, and looks how all ends."""
    words = [harness.PREFIX / "bin/mpiexec", "-n", ranks, faults, "storm", megabytes << 20]
    enter = group.enter if group else None
    process = harness.start_command(*words, environment=environment, preexec_fn=enter)
    try:
        pids = dict(map(int, process.stdout.readline().split()) for _ in range(ranks))
        time.sleep(generator.uniform(0.05, 0.3))
        victim = generator.randrange(ranks)
        if generator.random() < 0.5:  # then the others are surely waiting for it
            os.kill(pids[victim], signal.SIGSTOP)
            time.sleep(0.05)
        assert process.poll() is None, process.communicate()
        os.kill(pids[victim], signal.SIGKILL)
        out, err = process.communicate(timeout=END_SECONDS_MAX)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode == 128 + signal.SIGKILL, (out, err)
    told = rf"mpiexec: rank {victim} \(pid {pids[victim]} on \S+\) was killed by signal 9 \(Killed\)"
    assert re.match(told, err) and err.count("\n") == 1, err
    assert not [pid for pid in pids.values() if harness.is_alive(pid)]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_killed_rank_ends_the_job(faults, name):
    generator = random.Random(name)
    for megabytes in (1, 64) * (10 if LONG else 1):
        kill_one(faults, generator.choice([2, 3, 4]), megabytes, PROTOCOLS[name], generator)


def test_a_killed_rank_leaves_no_process_and_no_memory(faults):
    with control_group(8 << 30) as group:
        if isinstance(group, str):
            pytest.skip(group)
        generator = random.Random(1)
        for _ in range(10 if LONG else 2):
            kill_one(faults, 3, 32, {}, generator, group)
            assert group.settles(lambda: not group.processes()), group.processes()
            assert group.settles(lambda: group.bytes_used() < 8 << 20), group.bytes_used()
