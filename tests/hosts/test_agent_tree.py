"""Agents that start each other in a tree (--launcher-tree): a job over four hosts is the same as without, and
an agent in the middle that is lost, or cannot go further, is told or gone round.

mpiexec runs on node1. A fan-out of 1 is a chain, node2 to node3 to node4; by one of 2 node4 is behind node2.
"""

import json
import os
import re
import signal
import sys
import time

import faults
import harness
import pytest
from hosts import HOME

sys.path.insert(0, str(harness.ROOT / "python"))

from tasuki import io_times  # noqa: E402

MPIEXEC = harness.PREFIX / "bin/mpiexec"
PLACES = ["--host", "node1,node2,node3,node4"]
SILENCE = ["--host-silence", 2]
END_SECONDS_MAX = 60


@pytest.fixture
def four(make_hosts):
    return make_hosts(4)


@pytest.fixture(scope="session")
def hello():
    return harness.compile_program(faults.HERE / "hello.c")


@pytest.fixture(scope="session")
def traffic():
    return harness.compile_program(faults.HERE / "traffic.c")


@pytest.fixture(scope="session")
def dynamic():
    return harness.compile_program(faults.HERE / "dynamic_hosts.c")


def words_of(fan_out, *words):
    return [MPIEXEC, "--launcher-tree", fan_out, *PLACES, *words]


def nothing_left(hosts):
    return [host.leftovers() for host in hosts.alive()] == [[] for _ in hosts.alive()]


def ways_of(done):
    """The host from which each one was reached, "" for mpiexec's."""
    return dict(re.findall(r"host (\w+) is \w+, reached by ssh(?: from (\w+))? at", done.stderr))


@pytest.mark.parametrize(
    ("fan_out", "ways"),
    [
        (0, {"node2": "", "node3": "", "node4": ""}),
        (1, {"node2": "", "node3": "node2", "node4": "node3"}),
        (2, {"node2": "", "node3": "", "node4": "node2"}),
    ],
)
def test_a_job_is_the_same(four, hello, dynamic, fan_out, ways):
    done = four[0].run(words_of(fan_out, "-v", "-n", 4, hello))
    said = [f"rank {rank} of 4 on node{rank + 1}: sum 10" for rank in range(4)]
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == said and ways_of(done) == ways, (
        done.text
    )

    lines = "i=0; while [ $i -lt 2000 ]; do echo rank $TASUKI_RANK line $i of many; i=$((i+1)); done"
    done = four[0].run(words_of(fan_out, "-n", 1, "echo", "boss", ":", "-n", 3, "sh", "-c", lines))
    wanted = ["boss", *(f"rank {rank} line {i} of many" for rank in (1, 2, 3) for i in range(2000))]
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == sorted(wanted), done.text[-2000:]

    text = "".join(f"line {number}\n" for number in range(50000))
    done = four[0].run(words_of(fan_out, "--stdin", 3, "-n", 4, "sh", "-c", "cat; hostname >&2"), stdin=text)
    assert done.returncode == 0 and done.stdout == text and "node4" in done.stderr, done.text[-2000:]

    done = four[0].run(words_of(fan_out, "-n", 4, "sh", "-c", "[ $TASUKI_RANK = 3 ] && exit 7; sleep 100"))
    assert done.returncode == 7 and len(done.stderr.splitlines()) == 1, done.text
    assert re.search(r"rank 3 \(pid \d+ on node4\) exited with status 7", done.stderr), done.text

    done = four[0].run(words_of(fan_out, "--stats=json", "-n", 4, hello))
    assert json.loads(done.stdout[done.stdout.index("{") :])["ranks"] == 4, done.text

    done = four[0].run(words_of(fan_out, "-n", 2, dynamic, "spawn", 3, "node4,node2:2"))
    assert done.returncode == 0 and "spawn: right" in done.stdout, done.text
    assert re.findall(r"^child \d+ on (\w+)", done.stdout, re.M) == ["node4", "node2", "node2"], done.text
    assert nothing_left(four)


def test_reports_come_through_a_chain(four):
    """Recordings, leaks, call boards; clocks are compared through all that stands between."""
    traced, data = harness.compile_program("traced.c", "-pthread"), four.shared_folder
    done = four[0].run(words_of(1, f"--trace={data}/made.trace", "-n", 4, traced))
    assert done.returncode == 0 and re.search(r"made\.trace: \d+ calls of 4 ranks, ", done.stderr), done.text

    written = [harness.compile_program("io_times.c"), data / "data", "well", "enable"]
    done = four[0].run(words_of(1, f"--io-times={data}/made", "-n", 4, *written))
    assert done.returncode == 0 and "made: 8 collective accesses of 4 ranks" in done.stderr, done.text
    assert set(io_times.load(data / "made").clock_error_ns) == {1, 2, 3}

    leaking = words_of(1, "-n", 4, harness.compile_program("leaks.c"), "group")
    done = four[0].run(leaking, environment={"TASUKI_CHECK": 3})
    where = harness.place("leaks.c")
    assert re.search(rf"MPI_Comm_group.* at {where}.* on each of ranks 0-3$", done.stderr, re.M), done.text

    standing = [harness.compile_program("doctor.c"), "cycle"]
    done = four[0].run(words_of(1, "--stall", 1, "--end-on-deadlock", "-n", 4, *standing))
    assert done.returncode == 125 and "[deadlock-cycle, certain]" in done.stderr, done.text
    assert nothing_left(four)


@harness.needs("libfabric")
def test_a_stopped_job_goes_on(four, traffic):
    """Ctrl-Z and fg: no agent takes the one before it for dead, nor mpiexec any."""
    job = four[0].popen(words_of(1, *SILENCE, "-n", 4, traffic))
    assert job.stdout.readline() == "running\n"
    job.send_signal(signal.SIGTSTP)
    time.sleep(3.5)
    job.send_signal(signal.SIGCONT)
    os.kill(job.pid, signal.SIGCONT)  # nsenter stops with its command
    time.sleep(0.5)
    assert job.poll() is None, job.communicate()
    job.send_signal(signal.SIGINT)
    _, said = job.communicate(timeout=END_SECONDS_MAX)
    assert said.startswith("mpiexec: got signal 2") and len(said.splitlines()) == 1, said
    assert nothing_left(four)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_mpiexec_is_the_end_of_all(four, number):
    job = four[0].popen(words_of(1, "-n", 4, "sh", "-c", "echo started; exec sleep 1000"))
    assert [job.stdout.readline() for _ in range(4)] == ["started\n"] * 4
    job.send_signal(number)
    job.communicate(timeout=END_SECONDS_MAX)
    assert job.returncode != 0 and nothing_left(four)


def lost(name, how, behind=""):
    return rf"mpiexec: host '{name}' is lost: {how}{behind}; ending the job"


SILENT = r"nothing was heard of it for 2 s"
BEHIND_ONE = r"; so is node4, which was reached through it"
BEHIND_TWO = r"; so are node3, node4, which were reached through it"
STRIKES = {
    "a rank at the end of a chain": (1, 3, "rank", r"rank 3 \(pid \d+ on node4\) was killed by signal 9"),
    "the agent at the end": (1, 3, "agent", lost("node4", r"ssh from node3 ended with status \d+")),
    "an agent amid a chain": (1, 1, "agent", lost("node2", r"ssh ended with status \d+", BEHIND_TWO)),
    "an agent amid a tree": (2, 1, "agent", lost("node2", r"ssh ended with status \d+", BEHIND_ONE)),
    "the last host but one": (1, 2, "host", lost("node3", SILENT, BEHIND_ONE)),
    "a host at the end of a tree": (2, 3, "host", lost("node4", SILENT)),
}


@harness.needs("libfabric")
@pytest.mark.parametrize("name", STRIKES)
def test_a_fault_ends_the_job(four, traffic, name):
    fan_out, index, what, says = STRIKES[name]
    job = four[0].popen(words_of(fan_out, *SILENCE, "-n", 4, traffic))
    assert job.stdout.readline() == "running\n"
    if what == "host":
        four[index].kill()
    else:
        faults.kill_on(four[index], r"^\S*traffic" if what == "rank" else r"^\S*mpiexec.*--agent")
    _, said = job.communicate(timeout=END_SECONDS_MAX)
    said = [line for line in said.splitlines() if not line.startswith(faults.OF_SSH)]
    assert job.returncode not in (0, None) and len(said) == 1 and re.search(says, said[0]), said
    assert nothing_left(four)


def test_what_cannot_be_reached_from_a_host_is_reached_from_here(four, hello):
    """node2 has no key: it starts nobody."""
    four[1].run(["mount", "-t", "tmpfs", "none", f"{HOME}/.ssh"])
    for verbose in ([], ["-v"]):
        done = four[0].run(words_of(1, *verbose, "-n", 4, hello))
        assert done.returncode == 0 and len(done.stdout.splitlines()) == 4, done.text
        if not verbose:
            assert done.stderr == "", done.text
    assert re.search(
        r"mpiexec: host node3: ssh from node2 ended with status 255 \(.+\); it is started from here",
        done.stderr,
    ), done.text
    assert ways_of(done) == {"node2": "", "node3": "", "node4": "node3"}
    assert nothing_left(four)


def test_hosts_without_tasuki_get_it(four):
    for index in (1, 3):
        four[index].run(["mount", "-t", "tmpfs", "none", harness.PREFIX])
    done = four[0].run(words_of(1, "-n", 4, "hostname"))
    assert done.returncode == 0 and sorted(done.stdout.split()) == [f"node{n}" for n in range(1, 5)], (
        done.text
    )
    assert sorted(re.findall(r"host '(\w+)' has no \S+: this one is sent along", done.stderr)) == [
        "node2",
        "node4",
    ]
    assert nothing_left(four)
