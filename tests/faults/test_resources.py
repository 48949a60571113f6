"""What runs out, stops or jumps: disks, descriptors, processes, the clock, ranks and mpiexec themselves.

What fails is an error of the calls that need it, alike at all ranks, and the library goes on; where a job
ends, one line says why.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import harness
import pytest

LONG = bool(os.environ.get("TASUKI_TEST_LONG"))
MPIEXEC = harness.PREFIX / "bin/mpiexec"


@pytest.fixture(scope="session")
def limits():
    return harness.compile_program(harness.ROOT / "tests/faults/limits.c")


def right(*words, **how):
    done = harness.run_command(*words, **how)
    assert done.returncode == 0 and done.stdout.endswith("right\n") and done.stderr == "", done.text
    return done


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_file_system_becomes_full(limits, own_mounts, ranks):
    mount = 'mount -t tmpfs -o size=8m none /mnt && exec "$@"'
    right(*own_mounts, "sh", "-c", mount, "sh", MPIEXEC, "-n", ranks, limits, "full", "/mnt")


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_one_rank_has_no_descriptors_left(limits, tmp_path, ranks):
    done = right(MPIEXEC, "-n", ranks, limits, "descriptors", cwd=tmp_path)
    assert "file: refused" in done.stdout, done.text  # the limit was one


@pytest.mark.parametrize("rank", [0, 1])
def test_spawning_without_descriptors(limits, rank):
    done = harness.run_command(MPIEXEC, "-n", 2, limits, "spawn", rank)
    told = re.fullmatch(r"mpiexec: rank .* (MPI_Comm_spawn|MPI_Init): .*\n", done.stderr)
    assert done.returncode != 0 and told, done.text


def test_no_process_can_be_made(limits):
    """The limit counts all processes of a user, so it takes a user who has none; root has no limit."""
    as_nobody = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    if os.geteuid() != 0 or subprocess.run([*as_nobody, limits, "none"], capture_output=True).returncode != 0:
        pytest.skip("cannot run our programs as another user")
    for processes in (1, 2, 3, 4):
        limit = ["prlimit", f"--nproc={processes}"]
        done = harness.run_command(*as_nobody, *limit, MPIEXEC, "-n", 4, "sleep", 0.1)
        if done.returncode != 0:
            told = r"mpiexec: cannot run 'sleep' for rank \d: Resource temporarily unavailable \(could not .*"
            assert re.fullmatch(told + "\n", done.stderr), done.text
        else:
            assert processes == 4 and done.stderr == "", done.text


# ---- the clock ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_clock_is_turned(limits, jumping_clock, ranks):
    right(MPIEXEC, "-n", ranks, limits, "clock", environment={"LD_PRELOAD": jumping_clock})


def test_the_time_limit_is_none_of_the_clock_on_the_wall(jumping_clock):
    jumps = {"LD_PRELOAD": jumping_clock}
    done = harness.run_command(MPIEXEC, "-n", 2, "--timeout", 1, "sleep", 100, environment=jumps)
    assert done.returncode == 124 and 0.9 < done.seconds < 60, done.text
    done = harness.run_command(MPIEXEC, "-n", 2, "--timeout", 60, "sleep", 0.5, environment=jumps)
    assert done.returncode == 0 and done.stderr == "", done.text


# ---- who is stopped -------------------------------------------------------------------------------------


def processor_seconds(pid):
    fields = harness.process_fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_turns(limits, ranks, seconds):
    job = harness.start_command(MPIEXEC, "-n", ranks, limits, "turns", seconds)
    return job, dict(map(int, job.stdout.readline().split()) for _ in range(ranks))


def end_right(job):
    try:
        out, err = job.communicate(timeout=60)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.communicate()
    assert (job.returncode, out, err) == (0, "right\n", "")


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_is_stopped_for_a_while(limits, ranks):
    """The others sleep meanwhile, and none takes it for dead."""
    job, pids = start_turns(limits, ranks, 2.5)
    time.sleep(0.2)
    os.kill(pids[1], signal.SIGSTOP)
    time.sleep(0.3)  # until the others have stopped spinning
    before = {rank: processor_seconds(pid) for rank, pid in pids.items()}
    time.sleep(1.5)
    used = {rank: processor_seconds(pid) - before[rank] for rank, pid in pids.items()}
    assert job.poll() is None
    os.kill(pids[1], signal.SIGCONT)
    end_right(job)
    assert max(used.values()) < 0.3, used


def test_mpiexec_is_stopped_for_a_while(limits):
    job, _ = start_turns(limits, 3, 0.5)
    os.kill(job.pid, signal.SIGSTOP)
    time.sleep(1)  # the ranks end meanwhile
    assert job.poll() is None
    os.kill(job.pid, signal.SIGCONT)
    end_right(job)


def test_a_rank_dies_while_mpiexec_is_stopped(limits):
    job, pids = start_turns(limits, 3, 60)
    os.kill(job.pid, signal.SIGSTOP)
    os.kill(pids[2], signal.SIGKILL)
    time.sleep(0.3)
    os.kill(job.pid, signal.SIGCONT)
    _, err = job.communicate(timeout=120)
    assert job.returncode == 128 + signal.SIGKILL, err
    assert re.match(rf"mpiexec: rank 2 \(pid {pids[2]} on \S+\) was killed by signal 9 \(Killed\)", err), err
    assert err.count("\n") == 1, err


# ---- many jobs ------------------------------------------------------------------------------------------


def campaign(program, *words, before=(), timeout=200):
    script = harness.ROOT / "tests/faults/campaign.py"
    done = harness.run_command(*before, sys.executable, script, program, *words, timeout=timeout)
    assert done.returncode == 0, done.text
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["wrong"] == summary["left"] == summary["hangs"] == 0, summary
    return summary


@pytest.mark.timeout(600)
def test_job_after_job(work):
    jobs = 2000 if LONG else 100
    summary = campaign(work, "--healthy", "--jobs", jobs, timeout=500)
    assert summary["jobs"] == jobs


@pytest.mark.timeout(600)
def test_process_numbers_are_used_again(work):
    """In a PID namespace of 400 numbers: code that remembered one too long would kill the wrong process."""
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    few = [*alone, "sh", "-c", 'echo 400 > /proc/sys/kernel/pid_max && exec "$@"', "sh"]
    probe = subprocess.run([*few, "true"], capture_output=True, text=True)
    own = subprocess.run(
        [*few, "sh", "-c", "for i in $(seq 500); do true & wait; done; echo $$; sh -c 'echo $$'"],
        capture_output=True,
        text=True,
    )
    if probe.returncode != 0 or max(map(int, own.stdout.split()), default=1000) >= 400:
        pytest.skip("no PID namespace with its own limit here")
    seed = random.randrange(1 << 30) if LONG else 7
    campaign(work, "--jobs", 500 if LONG else 60, "--seed", seed, "--at-once", 2, before=few, timeout=500)
