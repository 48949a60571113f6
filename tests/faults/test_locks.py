"""A rank that is stopped, or killed, while it holds what others wait for.

One that is stopped is waited for, and the job ends well when it goes on. One that was killed ends the job,
with its name: told by mpiexec, by a rank that has asked for the holder, or by one that looks at its peers.
"""

import os
import signal
import subprocess
import time

import harness
import pytest
from test_killed import is_alive

RANKS = 3
END_SECONDS_MAX = 120
STOPPED_SECONDS = 65 if harness.LONG else 1
# Locks whose waiters do nothing else meanwhile; and what ranks wait for while they make progress.
LOCKS = ["elements", "pairs", "odd", "instruction"]
WAITS = ["window", "put", "ranges", "flags", "stages", "ring", "copy"]
MPIEXEC = [harness.PREFIX / "bin/mpiexec"]
HYDRA = [harness.ROOT / "build/peers/mpich/bin/mpiexec.hydra"]
TO_FILE = ["sh", "-c", 'exec "$0" "$1" "$2" 2>> "$1.errors"']  # Hydra ends with lines of its ranks unread


def fields(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


def state(pid):
    return fields(pid)[0]


def parent(pid):
    return int(fields(pid)[1])


def wait_for(condition):
    end = time.monotonic() + END_SECONDS_MAX
    while not condition():
        assert time.monotonic() < end, "it did not come so far"
        time.sleep(0.01)


class Job:
    """A job whose rank 0 has stopped while it holds `what`, and whose others have come to wait for it."""

    def __init__(self, program, path, what, launcher=MPIEXEC, before=()):
        self.process = subprocess.Popen(
            [*launcher, "-n", str(RANKS), *before, program, path, what],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=harness.clean_environment(),
            start_new_session=True,
        )
        self.pids = {}

    def __enter__(self):
        while len(self.pids) < RANKS:
            rank, pid = self.process.stdout.readline().split()
            self.pids[int(rank)] = int(pid)
        wait_for(lambda: state(self.pids[0]) == "T")
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        for pid in [self.process.pid, *self.pids.values()]:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()

    def end(self):
        self.process.wait(END_SECONDS_MAX)
        return self.process.returncode, *self.process.communicate(timeout=END_SECONDS_MAX)


@pytest.fixture(scope="session")
def locks():
    return harness.compile_program(harness.HERE.parent / "faults/locks.c")


@pytest.mark.parametrize("what", LOCKS + WAITS)
def test_a_rank_that_is_stopped_is_waited_for(locks, tmp_path, what):
    with Job(locks, tmp_path / "file", what) as job:
        time.sleep(STOPPED_SECONDS)
        assert job.process.poll() is None, job.process.communicate()
        os.kill(job.pids[0], signal.SIGCONT)
        code, out, err = job.end()
    assert code == 0 and out == "all ended well\n", (out, err)
    assert err == "" or "rank 0 is stopped by a signal" in err, err  # the doctor, after 10 s


@pytest.mark.parametrize("what", LOCKS + WAITS)
def test_a_rank_that_was_killed_ends_the_job(locks, tmp_path, what):
    with Job(locks, tmp_path / "file", what) as job:
        os.kill(job.pids[0], signal.SIGKILL)
        code, _, err = job.end()
    assert code == 128 + signal.SIGKILL, err
    assert err.startswith(f"mpiexec: rank 0 (pid {job.pids[0]} on ") and err.count("\n") == 1, err


def kill_unseen(job):
    """Kills rank 0 while what has started the ranks is stopped. Returns how all ended once the others had."""
    starters = {job.process.pid, parent(job.pids[0])}
    for pid in starters:
        os.kill(pid, signal.SIGSTOP)
    os.kill(job.pids[0], signal.SIGKILL)
    wait_for(lambda: not any(is_alive(job.pids[rank]) for rank in range(1, RANKS)))
    for pid in starters:
        os.kill(pid, signal.SIGCONT)
    return job.end()


@pytest.mark.parametrize("what", LOCKS)
def test_a_rank_that_waits_for_the_dead_sees_it_by_itself(locks, tmp_path, what):
    with Job(locks, tmp_path / "file", what) as job:
        code, _, err = kill_unseen(job)
    told = f": rank 0 (process {job.pids[0]}) died while it held a lock in memory that the ranks of its node "
    assert code == 1 and told in err and err.count("\n") == 1, err


@pytest.mark.parametrize("what", LOCKS + WAITS)
def test_no_launcher_of_others_has_to_see_it(locks, tmp_path, what):
    if not HYDRA[0].exists():
        pytest.skip(f"{HYDRA[0]} is not there (make peers)")
    with Job(locks, tmp_path / "file", what, HYDRA, TO_FILE) as job:
        code, *_ = kill_unseen(job)
    said = (tmp_path / "file.errors").read_text()
    assert code != 0 and f"rank 0 (process {job.pids[0]}) " in said, said
