"""Memory that runs out in a control group: the kernel kills, and mpiexec says what it was."""

import pathlib
import re

import harness
import pytest
from control_group import control_group

LIMIT_BYTES = 128 << 20


@pytest.fixture
def group():
    with control_group(LIMIT_BYTES) as made:
        if isinstance(made, str):
            pytest.skip(made)
        yield made


def run_to_the_limit(group, heap, *words):
    done = harness.run_command(
        *(harness.PREFIX / "bin/mpiexec", f"--heap={heap}", "-n", 2, *words), preexec_fn=group.enter
    )
    assert done.returncode == 128 + 9, done.text
    assert re.match(
        r"mpiexec: rank [01] \(pid \d+ on \S+\) was killed by signal 9 \(Killed\).*: ", done.stderr
    )
    told = f"the memory limit of its control group, {LIMIT_BYTES >> 20} MiB, was reached"
    assert told in done.stderr and done.stderr.count("\n") == 1, done.text
    assert group.settles(lambda: not group.processes()), group.processes()
    assert group.settles(lambda: group.bytes_used() < 8 << 20), group.bytes_used()


@pytest.mark.parametrize("heap", ["auto", "private", "global"])
def test_a_program_that_takes_too_much(faults, group, heap):
    run_to_the_limit(group, heap, faults, "eat")


@pytest.mark.parametrize("heap", ["private", "global"])
def test_a_receive_that_is_the_drop_too_much(faults, group, heap):
    """Memory of the receiver that was never touched before the message came."""
    run_to_the_limit(group, heap, faults, "receive", 512)


def test_ranks_go_before_mpiexec():
    """By the kernel's score. mpiexec's own is the least there is where that is permitted."""
    show = "cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj"
    done = harness.run_command(harness.PREFIX / "bin/mpiexec", "-n", 1, "sh", "-c", show)
    rank, launcher = (int(word) for word in done.stdout.split())
    own = int(pathlib.Path("/proc/self/oom_score_adj").read_text())
    assert rank == min(own + 100, 1000) and launcher in (own, -1000), done.text


def test_what_fits_is_right(faults, group):
    done = harness.run_command(
        harness.PREFIX / "bin/mpiexec", "-n", 2, faults, "receive", 64, preexec_fn=group.enter
    )
    assert done.returncode == 0 and done.stdout == "right\n", done.text
