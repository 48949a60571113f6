"""Machines that forbid: messages of every kind still come, and come right, by whatever way is left.

Each test plays rounds of the stress test where something is not permitted or not there.
"""

import os
import re

import harness
import pytest
from protocols import PROTOCOLS

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
SECONDS = 10 if LONG else 1
ROUNDS = [1, 1_000_000, SECONDS, 1, 2 << 20]  # arguments of the stress program
PRELOAD = ("sh", "-c", 'LD_PRELOAD="$0 $LD_PRELOAD" exec "$@"')  # beside what mpiexec preloads
MPIEXEC = harness.PREFIX / "bin/mpiexec"


def right(*words, protocol="default"):
    done = harness.run_command(*words, timeout=3 * SECONDS + 80, environment=PROTOCOLS[protocol])
    assert done.returncode == 0, done.text
    assert done.stdout.count("right") == 1, done.text
    assert done.stderr == "", done.text
    ways = re.search(r"ways: (.*)", done.stdout)  # of the stress program
    return {way: int(count) for way, count in re.findall(r"(\w+)=(\d+)", ways[1])} if ways else {}


def test_copies_by_the_system_are_forbidden(stress_program, restrict):
    right(MPIEXEC, "-n", 3, restrict, "cma", "fd", "--", stress_program, *ROUNDS)


def test_only_one_rank_may_not(stress_program, restrict):
    one = (stress_program, *ROUNDS)
    right(MPIEXEC, "-n", 1, restrict, "cma", "fd", "ptrace", "--", *one, ":", "-n", 2, *one)


def test_processes_cannot_be_looked_into(stress_program, restrict, undumpable):
    """No /proc/PID/fd of another rank, hence no mapping of its memory."""
    right(MPIEXEC, "-n", 3, restrict, "ptrace", "--", *PRELOAD, undumpable, stress_program, *ROUNDS)


def test_one_rank_cannot_be_looked_into(stress_program, restrict, undumpable):
    """Its memory is private to the others, theirs is not to it."""
    one = (restrict, "ptrace", "--")
    closed = (*one, *PRELOAD, undumpable, stress_program, *ROUNDS)
    right(MPIEXEC, "-n", 1, *closed, ":", "-n", 2, *one, stress_program, *ROUNDS)


def test_no_proc(own_mounts, stress_program):
    right(
        *own_mounts,
        "sh",
        "-c",
        'mount -t tmpfs none /proc && exec "$@"',
        "sh",
        MPIEXEC,
        "-n",
        3,
        stress_program,
        *ROUNDS,
    )


SHM = {
    "absent": """d=$(mktemp -d) && mount -t tmpfs none "$d" && cd "$d" &&
        for f in null zero full random urandom tty; do touch $f && mount --bind /dev/$f $f; done &&
        mount --rbind . /dev && cd / && [ ! -e /dev/shm ]""",
    "read-only": "mount -t tmpfs -o ro none /dev/shm",
    "small": "mount -t tmpfs -o size=1m none /dev/shm",
    "full": "mount -t tmpfs -o size=1m none /dev/shm && ! head -c 2m /dev/zero 2>/dev/null >/dev/shm/full",
}


@pytest.mark.parametrize("shm", SHM)
def test_dev_shm(own_mounts, stress_program, shm):
    right(
        *own_mounts, "sh", "-c", f'{SHM[shm]} && exec "$@"', "sh", MPIEXEC, "-n", 3, stress_program, *ROUNDS
    )


def test_shared_memory_lies_in_no_file_system(faults):
    right(MPIEXEC, "-n", 3, faults, "maps")


# ---- limits of the process (ulimit): either all works or one clear line ------------------------------------


def limited(limit, *words, heap="auto"):
    command = ("sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *words)
    return harness.run_command(*command, environment={"TASUKI_HEAP": heap})


@pytest.mark.parametrize("heap", ["auto", "global"])
@pytest.mark.parametrize("limit", ["-v 700000", "-d 400000", "-n 32", "-l 0", "-s 1024", "-c 0"])
def test_a_limit_that_leaves_enough(stress_program, limit, heap):
    done = limited(limit, MPIEXEC, "-n", 3, stress_program, *ROUNDS, heap=heap)
    assert done.returncode == 0 and done.stdout.count("right") == 1 and done.stderr == "", done.text


@pytest.mark.parametrize("kilobytes", [0, 4, 16, 64, 256, 1024])
def test_the_limit_of_file_sizes(faults, kilobytes):
    """Memory files count too. No SIGXFSZ, which says nothing."""
    done = limited(f"-f {kilobytes * 2}", MPIEXEC, "-n", 4, faults, "maps")
    assert done.returncode in (0, 1), done.text
    if done.returncode == 1:
        assert "the limit of file sizes" in done.stderr and "ulimit -f" in done.stderr, done.text
        assert "signal" not in done.stderr, done.text


@pytest.mark.parametrize("files", [4, 6, 8, 12, 16, 20])
def test_too_few_descriptors(faults, files):
    done = limited(f"-n {files}", MPIEXEC, "-n", 4, faults, "maps")
    if done.returncode != 0:
        assert "Too many open files" in done.stderr, done.text
        assert "signal" not in done.stderr, done.text
