"""A rank that is stopped, or killed, while it holds what others wait for.

One that is stopped is waited for, and the job ends well when it goes on. One that was killed ends the job,
with its name: told by mpiexec, by a rank that has asked for the holder, or by one that looks at its peers.
"""

import concurrent.futures
import os
import platform
import re
import signal
import time

import harness
import pytest
from harness import is_alive

RANKS = 3
END_SECONDS_MAX = 120
STOPPED_SECONDS = 65 if harness.LONG else 1
HAS_STEPS = platform.machine() == "x86_64"  # locks.c can run instruction by instruction
# Locks whose waiters do nothing else meanwhile; and what ranks wait for while they make progress.
LOCKS = ["elements", "pairs", "odd", "instruction", *["table", "gate"] * HAS_STEPS]
WAITS = ["window", "put", "helper", "ranges", "flags", "stages", "ring", "copy"]
# The last one: rank 0 has claimed a slot of the mailbox of the rank that connects.
BETWEEN_JOBS = ["window", "flags", "stages", "ring", "copy", *["accept"] * HAS_STEPS]
AT_ONCE = 5  # jobs: most of the time they wait
MPIEXEC = [harness.PREFIX / "bin/mpiexec"]
HYDRA = [harness.ROOT / "build/peers/mpich/bin/mpiexec.hydra"]
TO_FILE = ["sh", "-c", 'exec "$0" "$1" "$2" 2>> "$1.errors"']  # Hydra ends with lines of its ranks unread


def parent(pid):
    return int(harness.process_fields(pid)[1])


def wait_for(condition):
    end = time.monotonic() + END_SECONDS_MAX
    while not condition():
        assert time.monotonic() < end, "it did not come so far"
        time.sleep(0.01)


def for_each(whats, run):
    """run(what) for all of them, some side by side; the failures of all are told."""
    failures = []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for what, future in [(what, pool.submit(run, what)) for what in whats]:
            try:
                future.result()
            except BaseException as failure:
                failures.append(f"{what}: {failure}")
    assert not failures, "\n".join(failures)


class Job:
    """Ranks of which one, `stops`, has stopped while it holds `what`, and for which the others wait.
    `parts`: how many ranks one job has, or each of two jobs that meet; those of the second are counted on."""

    def __init__(self, program, path, what, launcher=MPIEXEC, before=(), parts=(RANKS,), stops=0):
        roles = [[]] if len(parts) == 1 else [["open"], ["enter"]]
        self.parts = [
            harness.start_command(*launcher, "-n", ranks, *before, program, path, what, *role)
            for ranks, role in zip(parts, roles, strict=True)
        ]
        self.process = self.parts[0]
        self.ranks = parts
        self.stops = stops
        self.pids = {}

    def __enter__(self):
        for process, ranks in zip(self.parts, self.ranks, strict=True):
            first = len(self.pids)
            for _ in range(ranks):
                line = process.stdout.readline()
                assert line, process.communicate()
                rank, pid = line.split()
                self.pids[first + int(rank)] = int(pid)
        wait_for(lambda: harness.process_fields(self.pids[self.stops])[0] == "T")
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        for pid in [*(process.pid for process in self.parts), *self.pids.values()]:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        for process in self.parts:
            process.communicate()

    def end(self, part=0):
        out, err = self.parts[part].communicate(timeout=END_SECONDS_MAX)
        return self.parts[part].returncode, out, err


@pytest.fixture(scope="session")
def locks():
    return harness.compile_program(harness.HERE.parent / "faults/locks.c")


def test_a_rank_that_is_stopped_is_waited_for(locks, tmp_path):
    def run(what):
        with Job(locks, tmp_path / what, what) as job:
            time.sleep(STOPPED_SECONDS)
            assert job.process.poll() is None, job.process.communicate()
            os.kill(job.pids[0], signal.SIGCONT)
            code, out, err = job.end()
        assert code == 0 and out == "all ended well\n", (out, err)
        assert err == "" or "rank 0 is stopped by a signal" in err, err  # the doctor, after 10 s

    for_each(LOCKS + WAITS, run)


def test_the_doctor_names_a_lock_and_its_holder(locks, tmp_path):
    def run(what):
        with Job(locks, tmp_path / what, what, [*MPIEXEC, "--stall", "1"]) as job:
            err = "".join(iter(job.process.stderr.readline, "      hint: kill -CONT lets a process go on\n"))
            os.kill(job.pids[0], signal.SIGCONT)
            code, out, _ = job.end()
        assert code == 0 and out == "all ended well\n", out
        waits = (
            r"MPI_File_write_at \(a lock of the file, held by rank 0"
            if what == "gate"
            else r"MPI_(Accumulate|Put) \(target 1, .*a lock of the window, held by rank 0"
        )
        assert re.search(waits, err) and f"rank 0 (pid {job.pids[0]}) is in MPI_" in err, err

    for_each(LOCKS, run)


def test_a_rank_that_was_killed_ends_the_job(locks, tmp_path):
    def run(what):
        with Job(locks, tmp_path / what, what) as job:
            os.kill(job.pids[0], signal.SIGKILL)
            code, _, err = job.end()
        assert code == 128 + signal.SIGKILL, err
        assert err.startswith(f"mpiexec: rank 0 (pid {job.pids[0]} on ") and err.count("\n") == 1, err

    for_each(LOCKS + WAITS, run)


def test_a_rank_of_another_job_that_was_killed_is_named(locks, tmp_path):
    """Its mpiexec is stopped, so the ranks that wait see it by themselves."""

    def run(what):
        with Job(locks, tmp_path / what, what, parts=(1, RANKS - 1)) as job:
            os.kill(job.process.pid, signal.SIGSTOP)
            os.kill(job.pids[0], signal.SIGKILL)
            code, _, err = job.end(1)
        assert code != 0 and "rank 0 of another job" in err, err

    for_each(BETWEEN_JOBS, run)


def test_a_rank_of_another_job_that_is_stopped_is_waited_for(locks, tmp_path):
    def run(what):
        stops = 1 if what == "connect" else 0
        with Job(locks, tmp_path / what, what, parts=(1, RANKS - 1), stops=stops) as job:
            assert [part.poll() for part in job.parts] == [None, None], job.end(stops)
            os.kill(job.pids[stops], signal.SIGCONT)
            ends = [job.end(0), job.end(1)]
        assert [end[0] for end in ends] == [0, 0] and ends[0][1] == "all ended well\n", ends

    for_each([*BETWEEN_JOBS, *["connect"] * HAS_STEPS], run)


@pytest.mark.skipif(not HAS_STEPS, reason="locks.c cannot run instruction by instruction here")
def test_a_port_outlives_one_that_was_killed_while_it_connects(locks, tmp_path):
    """It holds a slot of the mailbox behind the port; the next one connects by another slot."""
    with Job(locks, tmp_path / "port", "connect", parts=(1, RANKS - 1), stops=1) as job:
        os.kill(job.pids[1], signal.SIGKILL)
        code, _, err = job.end(1)
        assert code == 128 + signal.SIGKILL and f"rank 0 (pid {job.pids[1]} on " in err, err
        words = [*MPIEXEC, "-n", RANKS - 1, locks, tmp_path / "port", "nothing", "enter"]
        next_one = harness.run_command(*words, timeout=END_SECONDS_MAX)
        assert next_one.returncode == 0, next_one.text
        code, out, err = job.end(0)
    assert code == 0 and out == "all ended well\n" and err == "", (out, err)


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


def test_a_rank_that_waits_for_the_dead_sees_it_by_itself(locks, tmp_path):
    def run(what):
        with Job(locks, tmp_path / what, what) as job:
            code, _, err = kill_unseen(job)
        told = f": rank 0 (process {job.pids[0]}) died while it held a lock in memory that the ranks of its "
        assert code == 1 and told in err and err.count("\n") == 1, err

    for_each(LOCKS, run)


def test_no_launcher_of_others_has_to_see_it(locks, tmp_path):
    if not HYDRA[0].exists():
        pytest.skip(f"{HYDRA[0]} is not there (make peers)")

    def run(what):
        with Job(locks, tmp_path / what, what, HYDRA, TO_FILE) as job:
            code, *_ = kill_unseen(job)
        said = (tmp_path / f"{what}.errors").read_text()
        assert code != 0 and f"rank 0 (process {job.pids[0]}) " in said, said

    for_each(LOCKS + WAITS, run)
