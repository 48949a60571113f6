"""Faults of jobs that communicate over hosts: each ends the job in time, with one sentence that names it, and
leaves nothing on any host that lives. faults.py says what is done; here it is judged."""

import concurrent.futures
import json
import os
import random
import re
import signal
import time

import faults
import harness
import pytest
from faults import AMID_CHAIN, END_OF_CHAIN, FAULTS, FIREWALL, OURS, play
from hosts import Hosts

pytestmark = harness.needs("libfabric")

SILENCE_SECONDS = 2
SETTINGS = {"TASUKI_HOST_SILENCE_SECONDS": SILENCE_SECONDS, "TASUKI_NET_CONNECT_SECONDS": 4}


@pytest.fixture(scope="session")
def traffic():
    return harness.compile_program(faults.HERE / "traffic.c")


def wrong_with(fault, outcome):
    """What is wrong with the end of our job; empty: nothing."""
    if outcome.seconds is None:
        return "it hangs"
    if outcome.left:
        return f"left behind: {outcome.left}"
    if not fault.says:
        return ""
    said = [line for line in outcome.said if not line.startswith(faults.OF_SSH)]
    if len(said) != 1:
        return f"{len(said)} lines, expected one"
    if not re.search(fault.says, said[0]):
        return f"expected {fault.says}"
    return "" if outcome.status not in (0, None) else f"exit status {outcome.status}"


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_the_job(make_hosts, traffic, name):
    hosts = make_hosts(2)
    outcome = play(hosts, OURS, FAULTS[name], traffic, environment=SETTINGS, seconds=60)
    assert wrong_with(FAULTS[name], outcome) == "", outcome


def test_a_firewall_that_comes_amid_a_job(make_hosts, traffic):
    """Connections that are there go on; the first one that is new ends the job. Of six ranks 0 and 3, three
    places apart, have not met in the barriers before."""
    hosts = make_hosts(2)
    words = [faults.MPIEXEC, "--host", "node1:3,node2:3", traffic, "quiet", 1]
    job = hosts[0].popen(words, environment=SETTINGS)
    assert job.stdout.readline() == "running\n"
    for index in (0, 1):
        hosts.firewall_new_connections(index)
    outcome = faults.watch(hosts, job, (0, 1), time.monotonic(), 60)
    said = job.communicate(timeout=300)[1]
    assert outcome.seconds is not None and outcome.left == [], (outcome, said)
    assert outcome.status == 1 and len(re.findall(r"rank \d on node\d .* cannot reach rank", said)) == 1, said


def test_a_stopped_job_goes_on(make_hosts, traffic):
    """Ctrl-Z and fg: nobody takes a host for dead that was told to stop."""
    hosts = make_hosts(2)
    job = faults.start(hosts, OURS, traffic, environment=SETTINGS)
    assert job.stdout.readline() == "running\n"
    job.send_signal(signal.SIGTSTP)
    time.sleep(SILENCE_SECONDS + 1.5)
    job.send_signal(signal.SIGCONT)
    os.kill(job.pid, signal.SIGCONT)  # nsenter stops with its command
    time.sleep(0.5)
    assert job.poll() is None, job.communicate()
    job.send_signal(signal.SIGINT)
    _, said = job.communicate(timeout=300)
    assert said.startswith("mpiexec: got signal 2") and len(said.splitlines()) == 1, said
    assert [host.leftovers() for host in hosts] == [[], []]


# ----- connections that fail while all ranks live ----------------------------------------------------------

TELLS = r"rank \d on node\d .* (has lost the connection to|cannot reach) rank \d on node\d "


def start_small(hosts, program, what, seconds, each=1, options=(), environment=SETTINGS):
    """A job that sends little (traffic.c), whose ranks have talked to one another."""
    words = [
        faults.MPIEXEC,
        *options,
        "--host",
        f"node1:{each},node2:{each}",
        program,
        "small",
        seconds,
        what,
    ]
    job = hosts[0].popen(words, environment=environment)
    assert job.stdout.readline() == "running\n", job.communicate(timeout=300)
    return job


def expect_an_end(hosts, job):
    """The job ends as it should, or with one sentence that names a pair; no program is blamed."""
    outcome = faults.watch(hosts, job, (0, 1), time.monotonic(), 60)
    if outcome.seconds is None:
        hosts.kill_started()
        job.kill()
    out, said = job.communicate(timeout=300)
    assert outcome.seconds is not None and outcome.left == [], (outcome, said)
    assert "certain" not in said, said
    if outcome.status == 0:
        assert out == "ended\n" and said == "", (out, said)
    else:
        assert len(re.findall(TELLS, said)) == 1, said
    return outcome


@pytest.mark.parametrize(
    "what, each",
    [(what, 1) for what in ("barrier", "send", "allreduce", "pingpong", "put", "atomic")]
    + [(what, 1) for what in ("computes", "sends", "tests", "leaves", "leaves-busy")]
    + [("barrier", 2), ("allreduce", 2)],
)
def test_connections_are_reset(make_hosts, traffic, what, each):
    """As firewalls and address translations do to idle ones: small messages that were lost are sent again.
    That does not take a sender that waits for somebody."""
    hosts = make_hosts(2)
    job = start_small(hosts, traffic, what, 1.5, each)
    time.sleep(0.5)
    hosts.reset_connections(1)
    outcome = expect_an_end(hosts, job)
    assert outcome.status == 0 or what in ("put", "atomic"), outcome


@pytest.mark.parametrize("what, each", [("barrier", 1), ("pingpong", 1), ("put", 1), ("allreduce", 2)])
@pytest.mark.parametrize("index", [0, 1])
def test_a_connection_is_dropped_one_way(make_hosts, traffic, what, each, index):
    """What its other end sends by it is lost for good, while new connections come about, and ssh lives."""
    hosts = make_hosts(2)
    job = start_small(hosts, traffic, what, 1.5, each)
    time.sleep(0.5)
    hosts.drop_connections(index)
    outcome = expect_an_end(hosts, job)
    assert outcome.status == 1, outcome


def test_a_network_that_heals(make_hosts, traffic):
    """The doctor does not blame the program meanwhile, and the job ends as it should."""
    hosts = make_hosts(2)
    settings = {"TASUKI_NET_CONNECT_SECONDS": 60}
    job = start_small(hosts, traffic, "pingpong", 2, options=["--stall", 2], environment=settings)
    hosts.drop_connections(1)
    time.sleep(5)
    hosts.open_network(1)
    out, said = job.communicate(timeout=300)
    assert job.returncode == 0 and out == "ended\n", (out, said)
    assert "[packets-on-the-way]" in said and "certain" not in said.replace("is not certain", ""), said
    assert re.search(r"rank \d has sent \d+ packets to rank \d, of which \d+ have come", said), said


@pytest.mark.parametrize("what", ["computing", "stopped"])
def test_a_rank_that_is_silent_is_not_lost(make_hosts, traffic, what):
    """Its system answers for it."""
    hosts = make_hosts(2)
    job = start_small(hosts, traffic, what, 8, environment={"TASUKI_NET_CONNECT_SECONDS": 2})
    if what == "stopped":
        time.sleep(8)
        pid = faults.pids_on(hosts[1], r"^\S*traffic\S* small")[0]
        hosts[1].run(["kill", "-CONT", pid])
    out, said = job.communicate(timeout=300)
    assert job.returncode == 0 and out == "ended\n" and "certain" not in said, (out, said)


@harness.only_long  # 200 faults take ten minutes
@pytest.mark.timeout(1500)
def test_many_random_faults(make_hosts, traffic):
    """Others each time: the seed is printed, and can be given by TASUKI_FAULTS_SEED."""
    make_hosts(2).close()  # skips where there are none
    seed = int(os.environ.get("TASUKI_FAULTS_SEED", random.randrange(1 << 30)))
    generator = random.Random(seed)
    plans = []
    for _ in range(int(os.environ.get("TASUKI_FAULTS_COUNT", 200))):
        fault = generator.choice([*FAULTS.values(), FIREWALL])
        starter = OURS if fault is FIREWALL else generator.choice([OURS, AMID_CHAIN, END_OF_CHAIN])
        plans.append((fault, generator.choice([0, 0.05, 0.5]) * generator.random(), starter))

    def play_one(plan):
        with Hosts(2 if plan[2] is OURS else 3) as hosts:
            return play(hosts, plan[2], plan[0], traffic, plan[1], seconds=60, environment=SETTINGS)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(play_one, plans))
    wrong = [
        (number, plan[0].name, plan[1], plan[2].name, trouble, outcome)
        for number, (plan, outcome) in enumerate(zip(plans, outcomes, strict=True))
        if (trouble := wrong_with(plan[0], outcome))
    ]
    longest = max(outcome.seconds or 60 for outcome in outcomes)
    print(json.dumps({"seed": seed, "faults": len(plans), "wrong": len(wrong), "longest_s": longest}))
    assert not wrong, f"seed {seed}: {wrong}"
